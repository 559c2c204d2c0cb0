local r = row(s)
if r then return {'ok', r} end
local t = {u = u, T = arg(), n = arg(), ttl = arg(), rn = arg(), ca = arg(), ea = arg(), la = arg(), due = arg(),
  len = '0', con = '0', att = '0', code = '', w = '', f = '0', lu = '', hh = '', hf = '0', hu = '', ck = '0', v = '0'}
local a = {}
for _, f in ipairs(fields) do a[#a + 1] = f; a[#a + 1] = t[f] end
call('HSET', key('s', s), unpack(a))
call('SADD', key('x', u), s)
expire(s, t)
queue(s, t)
return {'ok', row(s)}
