-- The session of one subject that has been due longest and did not fail.
local u, now = arg(), arg()
reap(now)
local all = call('ZINTER', 2, due, key('x', u), 'WEIGHTS', 1, 0, 'WITHSCORES')
for i = 1, #all, 2 do
  if tonumber(all[i + 1]) > tonumber(now) then break end
  if call('HGET', key('s', all[i]), 'att') == '0' then return {'ok', all[i]} end
end
return {'ok'}
