local u = arg()
local k = key('u', u)
if call('HSETNX', k, 'i', arg()) == 1 then call('HSET', k, 'k', arg(), 'n', arg(), 'T', arg()) end
local r = call('HMGET', k, 'k', 'i')
return {'ok', r[1], r[2]}
