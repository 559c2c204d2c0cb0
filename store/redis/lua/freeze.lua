-- Places a legal hold on a subject, or lifts it. Versions of its threads leave
-- the order in which they run out, and come back to it.
local u, on = arg(), arg() == '1'
local k = key('u', u)
if call('EXISTS', k) == 0 then return {'nobody'} end
if on then call('HSET', k, 'z', '1') else call('HDEL', k, 'z') end
for _, s in ipairs(call('HKEYS', key('y', u))) do
  local all = call('HGETALL', key('t', s))
  for i = 1, #all, 2 do
    local till = cmsgpack.unpack(all[i + 1])[7]
    if on then call('ZREM', versions, s .. all[i])
    elseif till ~= '' then call('ZADD', versions, till, s .. all[i]) end
  end
end
return {'ok'}
