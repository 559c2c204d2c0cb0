-- Keeps a session as an export tells it, with its log, receipts and proposals.
if call('EXISTS', key('s', s)) == 1 then return {'conflict', 'the session is there'} end
local began, gone = arg(), call('HGET', erased, u)
if gone and tonumber(began) <= tonumber(gone) then return {'erased'} end
local t = {u = u, T = arg(), n = arg(), ttl = arg(), rn = arg(), ca = arg(), ea = arg(), la = arg(), due = arg(),
  len = arg(), con = arg(), att = arg(), code = arg()}
local messages, receipts, proposals = tonumber(arg()), tonumber(arg()), tonumber(arg())
for i = 0, messages - 1 do
  if call('HEXISTS', key('m', u), ARGV[pos + 4 * i + 1]) == 1 then return {'conflict', 'the message id is taken'} end
end
for i = 1, messages do
  local id, entry, client, print = arg(), arg(), arg(), arg()
  local p = string.format('%.0f', i)
  call('RPUSH', key('l', s), entry)
  call('HSET', key('m', u), id, s .. ' ' .. p)
  if client ~= '' then call('HSET', key('c', s), client, p .. ' ' .. print) end
end
for _ = 1, receipts do call('RPUSH', key('r', s), arg()) end
if receipts > 0 then
  call('SADD', key('ru', u), s)
  call('SADD', key('rt', t.T), s)
end
for i = 1, proposals do call('HSET', key('p', s), arg(), string.format('%012d', i) .. arg()) end
begin(s, t)
if proposals > 0 then call('HSET', key('s', s), 'pn', proposals) end
return {'ok'}
