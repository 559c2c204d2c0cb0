local u, s, after, limit = arg(), arg(), tonumber(arg()), tonumber(arg())
local r = call('HMGET', key('s', s), 'u', 'len')
if r[1] ~= u then return {'nobody'} end
local k, len = owner(u), tonumber(r[2])
if after < 0 then after = math.max(0, len + after) end
local out = {}
if after < len and limit > 0 then out = call('LRANGE', key('l', s), after, math.min(len, after + limit) - 1) end
return {'ok', k[1], k[2], after, out}
