local u, s = arg(), arg()
return {'ok', drop(u, s)}
