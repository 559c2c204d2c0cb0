local at = arg()
if t.ea == '' then
  t.ea, t.due = at, at
  save('ea', 'due')
  queue(s, t)
end
return {'ok'}
