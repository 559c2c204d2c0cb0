local u, s = arg(), arg()
local r = call('HMGET', key('s', s), 'u', 'n')
if r[1] ~= u then return {'nobody'} end
local k = owner(u)
return {'ok', k[1], k[2], r[2], call('LRANGE', key('r', s), 0, -1)}
