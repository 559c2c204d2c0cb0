-- The sealed names of a subject's sessions, in the order asked for; empty: gone.
local u, n = arg(), tonumber(arg())
local k = owner(u)
if not k[1] then return {'nobody'} end
local out = {'ok', k[1], k[2]}
for i = 1, n do out[i + 3] = call('HGET', key('s', arg()), 'n') or '' end
return out
