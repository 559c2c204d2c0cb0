local u, s = arg(), arg()
if call('HGET', key('s', s), 'u') ~= u then return {'nobody'} end
local k, all = owner(u), call('HGETALL', key('e', s))
local out = {'ok', k[1], k[2]}
for i = 1, #all, 2 do out[#out + 1] = {all[i], cmsgpack.unpack(all[i + 1])} end
return out
