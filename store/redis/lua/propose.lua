local when, id, content, body = arg(), arg(), arg(), arg()
if t.ea ~= '' then return {'conflict', 'the session has ended'} end
local old = call('HGET', key('p', s), id)
if old then
  if string.sub(old, 13, 12 + #content) ~= content then return {'conflict', 'the id was used with other content'} end
  if not dry then save() end
  return {'ok', t.v}
end
if dry then return {'ok', t.v} end
local n = call('HINCRBY', key('s', s), 'pn', 1)
call('HSET', key('p', s), id, string.format('%012d', n) .. content .. body)
if when ~= '' then t.due = when end
save('due')
queue(s, t)
return {'ok', t.v}
