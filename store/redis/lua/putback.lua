-- Keeps a session as an export tells it, with its log, receipts and proposals.
if call('EXISTS', key('s', s)) == 1 then return {'conflict', 'the session is there'} end
local began, gone = arg(), call('HGET', erased, u)
if gone and tonumber(began) <= tonumber(gone) then return {'erased'} end
local t = {u = u, T = arg(), n = arg(), ttl = arg(), rn = arg(), ca = arg(), ea = arg(), la = arg(), due = arg(),
  len = arg(), con = arg(), att = arg(), code = arg()}
local messages, clients, receipts, proposals = tonumber(arg()), tonumber(arg()), tonumber(arg()), tonumber(arg())
for i = 1, messages do
  if call('HEXISTS', key('m', u), ARGV[pos + 2 * i - 1]) == 1 then return {'conflict', 'the message id is taken'} end
end
-- Adds the next n arguments, many with each command.
local function add(command, to, n)
  for from = pos + 1, pos + n, 200 do call(command, to, unpack(ARGV, from, math.min(from + 199, pos + n))) end
  pos = pos + n
end
add('HSET', key('m', u), 2 * messages)
add('RPUSH', key('l', s), messages)
add('HSET', key('c', s), 2 * clients)
add('RPUSH', key('r', s), receipts)
add('HSET', key('p', s), 2 * proposals)
if receipts > 0 then
  call('SADD', key('ru', u), s)
  call('SADD', key('rt', t.T), s)
end
begin(s, t)
if proposals > 0 then call('HSET', key('s', s), 'pn', proposals) end
return {'ok'}
