-- The same with all that is kept of each.
local u, n = arg(), tonumber(arg())
local k = owner(u)
if not k[1] then return {'nobody'} end
local out = {'ok', k[1], k[2]}
for i = 1, n do out[i + 3] = row(arg()) or {} end
return out
