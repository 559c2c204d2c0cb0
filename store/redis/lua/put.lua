local name, id, parent, print, data, meta, made, till, strict = arg(), arg(), arg(), arg(), arg(), arg(), arg(), arg(), arg()
local old = call('HGET', key('t', s), id)
if old then
  if cmsgpack.unpack(old)[3] ~= print then return {'conflict', 'the id was used with other bytes'} end
  record()
  return {'ok'}
end
if strict == '1' and (call('ZREVRANGE', key('to', s), 0, 0)[1] or '') ~= parent then
  return {'conflict', 'the parent is not the newest version'}
end
shelve(u, s, id, {parent, print, data, meta, made, till})
call('HSETNX', key('y', u), s, name)
record()
return {'ok'}
