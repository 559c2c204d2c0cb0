local name, payload, now, till, by, step, retry, fence = arg(), arg(), arg(), arg(), arg(), arg(), arg(), arg()
local all = key('e', s)
local old = call('HGET', all, name)
-- n, step, state, attempt, payload, print of the outcome, outcome, by, at, until, settled
local e = old and cmsgpack.unpack(old)
if e then
  local state = e[3]
  if state == 'claimed' and tonumber(e[10]) <= tonumber(now) then state = 'in_doubt' end
  if e[5] ~= payload then return {'effect'} end
  if state == 'claimed' then return {'conflict', 'the effect is under way'} end
  if state == 'completed' or retry ~= '1' then return {'ok', '0', e} end
end
if t.ea ~= '' then return {'conflict', 'the session has ended'} end
if fence ~= '0' and fence ~= t.hf then return {'conflict', 'another worker holds the session: the fence is stale'} end
if e then
  e[3], e[4], e[6], e[7], e[8], e[9], e[10], e[11] = 'claimed', string.format('%.0f', tonumber(e[4]) + 1), '', '', by, now, till, ''
else
  e = {string.format('%.0f', call('HINCRBY', key('s', s), 'en', 1)), step, 'claimed', '1', payload, '', '', by, now, till, ''}
end
call('HSET', all, name, cmsgpack.pack(e))
save()
return {'ok', '1', e}
