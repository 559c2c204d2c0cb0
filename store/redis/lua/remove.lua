local u, s, n = arg(), arg(), tonumber(arg())
if frozen(u) and call('EXISTS', key('t', s)) == 1 then return {'frozen'} end
local gone = 0
for i = 1, n do gone = gone + unshelve(s, arg()) end
if call('EXISTS', key('t', s)) == 0 then drop(u, s) end
return {'ok', gone}
