local u, s = arg(), arg()
local ids = call('ZRANGE', key('to', s), 0, -1)
for _, id in ipairs(ids) do call('ZREM', versions, s .. id) end
call('DEL', key('t', s), key('to', s))
call('SREM', key('y', u), s)
return {'ok', #ids}
