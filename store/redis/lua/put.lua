-- Versions of a thread: n, parent, print, data, meta, made, expires.
local id, parent, print, data, meta, made, till, strict = arg(), arg(), arg(), arg(), arg(), arg(), arg(), arg()
local all, order = key('t', s), key('to', s)
local old = call('HGET', all, id)
if old then
  if cmsgpack.unpack(old)[3] ~= print then return {'conflict', 'the id was used with other bytes'} end
  record()
  return {'ok'}
end
local newest = call('ZREVRANGE', order, 0, 0, 'WITHSCORES')
if strict == '1' and (newest[1] or '') ~= parent then return {'conflict', 'the parent is not the newest version'} end
local n = tonumber(newest[2] or '0') + 1
call('HSET', all, id, cmsgpack.pack({string.format('%.0f', n), parent, print, data, meta, made, till}))
call('ZADD', order, n, id)
if till ~= '' then call('ZADD', versions, till, s .. id) end
call('SADD', key('y', u), s)
record()
return {'ok'}
