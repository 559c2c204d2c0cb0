-- Before every script that writes in a scope: whose it is, the caller's
-- idempotency key, and whether to try only.
local u, kid, s = arg(), arg(), arg()
local dry, want = arg() == '1', arg()
local once = {key = arg(), now = arg(), print = arg(), answer = arg(), until_ = arg(), keep = arg()}

local mine = owner(u)
if not mine[1] then return {'nobody'} end
if mine[2] ~= kid then return {'key', mine[1], mine[2]} end
if once.key ~= '' then
  local o = call('HMGET', key('o', once.key), 'p', 'a', 'x')
  if o[1] and tonumber(o[3]) > tonumber(once.now) then
    if o[1] ~= once.print then return {'payload'} end
    return {'once', o[2]}
  end
end

local function record()
  if once.key == '' then return end
  call('HSET', key('o', once.key), 'p', once.print, 'a', once.answer, 'x', once.until_)
  call('PEXPIRE', key('o', once.key), once.keep)
  call('ZADD', key('ou', u), once.until_, once.key)
  call('ZREMRANGEBYSCORE', key('ou', u), '-inf', once.now)
end
