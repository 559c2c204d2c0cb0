local name, n = arg(), tonumber(arg())
for i = 1, n do
  local replace, id, parent, print, data, meta, made, till = arg(), arg(), arg(), arg(), arg(), arg(), arg(), arg()
  if replace == '1' then unshelve(s, id) end
  if call('HEXISTS', key('t', s), id) == 0 then shelve(u, s, id, {parent, print, data, meta, made, till}) end -- the first stays
end
call('HSETNX', key('y', u), s, name)
record()
return {'ok'}
