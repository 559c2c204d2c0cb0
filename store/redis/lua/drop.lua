local u, s = arg(), arg()
if frozen(u) and call('EXISTS', key('t', s)) == 1 then return {'frozen'} end
return {'ok', drop(u, s)}
