local fence, cursor, code, again, park, n = arg(), arg(), arg(), arg(), arg(), tonumber(arg())
if t.w == '' or t.f ~= fence then return {'conflict', 'the lease is over'} end
if tonumber(cursor) < tonumber(t.con) or tonumber(cursor) > tonumber(t.len) then
  return {'invalid', 'the cursor runs backwards or past the end'}
end
for i = 1, n do call('HDEL', key('p', s), arg()) end
t.con, t.w, t.lu, t.code = cursor, '', '', code
if code == '' then t.att = '0' else t.att = string.format('%.0f', tonumber(t.att) + 1) end
if park == '1' then t.due = '' elseif again ~= '' then t.due = again elseif not waits(s, t) then t.due = '' end
save('con', 'w', 'lu', 'code', 'att', 'due')
queue(s, t)
return {'ok'}
