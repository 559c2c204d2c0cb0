local name, attempt, state, print, outcome, now = arg(), arg(), arg(), arg(), arg(), arg()
local all = key('e', s)
local old = call('HGET', all, name)
if not old then return {'absent', 'effect'} end
local e = cmsgpack.unpack(old)
if e[4] ~= attempt then return {'conflict', 'another attempt has been made since'} end
if e[3] == 'completed' or e[3] == 'failed' then
  if e[3] ~= state or e[6] ~= print then return {'conflict', 'the effect has another outcome already'} end
  if not dry then save() end
  return {'ok', t.v, e}
end
-- A late outcome of an attempt in doubt is welcome: now it is known.
e[3], e[6], e[7], e[11] = state, print, outcome, now
if dry then return {'ok', t.v, e} end
call('HSET', all, name, cmsgpack.pack(e))
save()
return {'ok', t.v, e}
