local s, only, worker, now, till, sound = arg(), arg(), arg(), arg(), arg(), arg()
local t = load(s)
if not t then -- its row was evicted: nobody can take it, and it must not stand before others
  call('ZREM', due, s)
  call('ZREM', held, s)
  return {'nobody'}
end
if only ~= '' and t.u ~= only then return {'nobody'} end
reap(now)
if only ~= '' then
  if t.w ~= '' and tonumber(t.lu) > tonumber(now) and t.w ~= worker then return {'held'} end
else
  local at = call('ZSCORE', due, s)
  if not at or tonumber(at) > tonumber(now) or (sound == '1' and t.att ~= '0') then return {'held'} end
end
t.f, t.w, t.lu = string.format('%.0f', tonumber(t.f) + 1), worker, till
call('HSET', key('s', s), 'f', t.f, 'w', t.w, 'lu', t.lu)
call('HINCRBY', key('s', s), 'v', 1)
queue(s, t)
local k = call('HMGET', key('u', t.u), 'k', 'i', 'n')
return {'ok', k[1], k[2], k[3], row(s), call('HGETALL', key('p', s))}
