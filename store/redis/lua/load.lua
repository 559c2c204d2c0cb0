local u, s = arg(), arg()
local r = row(s)
if not r or r[1] ~= u then return {'nobody'} end
local k = owner(u)
return {'ok', k[1], k[2], r}
