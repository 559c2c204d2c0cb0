-- Ends one session that is past its time, or empties it when all of it is
-- consolidated. Replies how many messages went, and whether it will be met again.
local s, now = arg(), arg()
local at = call('ZSCORE', expiring, s)
if not at or tonumber(at) > tonumber(now) then return {0, 0} end -- it grew meanwhile
local t = load(s)
if not t then call('ZREM', expiring, s) return {0, 0} end
if frozen(t.u) then return {0, 1} end
if waits(s, t) then
  if t.due == '' and tonumber(t.att) > 0 then return {0, 1} end -- parked
  if t.ea == '' then t.ea = now end
  if t.due == '' or tonumber(t.due) > tonumber(now) then t.due = now end
  call('HSET', key('s', s), 'ea', t.ea, 'due', t.due)
  call('HINCRBY', key('s', s), 'v', 1)
  queue(s, t)
  return {0, 1}
end
if t.ea == '' then t.ea = now end
local gone = forget_log(s, t.u)
forget_receipts(s, t)
call('ZREM', expiring, s)
call('HSET', key('s', s), 'ea', t.ea)
call('HINCRBY', key('s', s), 'v', 1)
return {gone, 0}
