-- A session with its receipts and proposals, and how many messages its log holds.
local u, s = arg(), arg()
local r = row(s)
if not r or r[1] ~= u then return {'nobody'} end
local k = owner(u)
return {'ok', k[1], k[2], r, call('LLEN', key('l', s)), call('LRANGE', key('r', s), 0, -1), call('HGETALL', key('p', s))}
