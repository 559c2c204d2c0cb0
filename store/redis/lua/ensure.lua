local r = row(s)
if r then return {'ok', r} end
begin(s, {u = u, T = arg(), n = arg(), ttl = arg(), rn = arg(), ca = arg(), ea = arg(), la = arg(), due = arg(),
  len = '0', con = '0', att = '0', code = ''})
return {'ok', row(s)}
