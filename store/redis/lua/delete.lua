-- The hash stays as a spent id. The fence moves, so that a worker that
-- consolidates it now can't acknowledge.
local at = arg()
if frozen(u) then return {'frozen'} end
if dry then return {'ok', t.v} end
forget_log(s, u)
forget_receipts(s, t)
call('DEL', key('p', s), key('k', s), key('e', s))
if t.ea == '' then t.ea = at end
t.con, t.due, t.w, t.lu, t.f = t.len, '', '', '', string.format('%.0f', tonumber(t.f) + 1)
t.hh, t.hf, t.hu, t.ck = '', '0', '', '0'
save('ea', 'con', 'due', 'w', 'lu', 'f', 'hh', 'hf', 'hu', 'ck')
queue(s, t)
return {'ok', t.v}
