local holder, now, till = arg(), arg(), arg()
if t.ea ~= '' then return {'conflict', 'the session has ended'} end
local runs = t.hu ~= '' and tonumber(t.hu) > tonumber(now)
if runs and t.hh ~= holder then return {'conflict', 'another worker holds the session'} end
-- Also the same holder's, once it ran out: others may have worked meanwhile.
if not runs then t.hf = string.format('%.0f', tonumber(t.hf) + 1) end
local out = {'ok', t.v, t.hf}
if dry then return out end
t.hh, t.hu = holder, till
save('hh', 'hf', 'hu')
return out
