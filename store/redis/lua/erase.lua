-- Removes some of a subject's sessions and threads, spent ids too, and, when
-- none are left, the subject with its data key. Replies how many sessions went,
-- and whether there is more. That it was erased stays, so that no copy of what
-- was said before is put back.
local u, some, at = arg(), tonumber(arg()), arg()
if frozen(u) then return {'frozen'} end
call('HSET', erased, u, at)
local gone = 0
for _, s in ipairs(call('SRANDMEMBER', key('x', u), some)) do
  local t = load(s)
  if t then
    forget_receipts(s, t)
    call('SREM', key('w', t.T), s)
  end
  call('DEL', key('s', s), key('l', s), key('c', s), key('p', s), key('k', s), key('e', s))
  for _, z in ipairs({due, held, expiring}) do call('ZREM', z, s) end
  call('SREM', key('x', u), s)
  gone = gone + 1
end
for _, s in ipairs(call('HRANDFIELD', key('y', u), some)) do drop(u, s) end
local more = call('SCARD', key('x', u)) + call('HLEN', key('y', u))
if more == 0 then
  for _, o in ipairs(call('ZRANGE', key('ou', u), 0, -1)) do call('DEL', key('o', o)) end
  call('DEL', key('ou', u), key('u', u), key('m', u), key('x', u), key('y', u), key('ru', u))
end
return {gone, more}
