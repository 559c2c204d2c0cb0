local nonce, when, n = arg(), arg(), tonumber(arg())
if t.ea ~= '' then return {'conflict', 'the session has ended'} end
local log, clients, ids = key('l', s), key('c', s), key('m', u)
local out, new = {'ok', t.v}, {}
local len, last = tonumber(t.len), t.la
local said, seen = {}, {} -- in this call
for i = 1, n do
  local id, client, print, at, body = arg(), arg(), arg(), arg(), arg()
  local kept = client ~= '' and (said[client] or call('HGET', clients, client))
  if kept then
    local seq = string.match(kept, '^(%d+) ')
    if string.sub(kept, #seq + 2) ~= print then return {'conflict', 'the client id was used for another message'} end
    local body = new[tonumber(seq)]
    out[i + 2] = {seq, body and body.body or call('LINDEX', log, tonumber(seq) - 1)}
  else
    local at_ = call('HGET', ids, id)
    local again = false
    if at_ then -- the same call, sent twice by a client that lost the reply
      local of, seq = string.match(at_, '^(%S+) (%d+)$')
      if of == s then
        local m = call('LINDEX', log, tonumber(seq) - 1)
        if m and string.sub(m, 3 + #id, 2 + #id + #nonce) == nonce then again = true; out[i + 2] = tonumber(seq) end
      end
    end
    if not again then
      if at_ or seen[id] then return {'conflict', 'the message id is taken'} end
      len = len + 1
      seen[id] = true
      local entry = string.char(math.floor(#id / 256), #id % 256) .. id .. nonce .. body
      new[len] = {id = id, client = client, print = print, body = entry}
      if client ~= '' then said[client] = string.format('%.0f', len) .. ' ' .. print end
      if last == '' or (at ~= '' and tonumber(at) > tonumber(last)) then last = at end
      out[i + 2] = len
    end
  end
end
if dry then return out end
local first = tonumber(t.len) + 1
if len < first and when == '' then save() return out end
for i = first, len do
  local m, p = new[i], string.format('%.0f', i)
  call('RPUSH', log, m.body)
  call('HSET', ids, m.id, s .. ' ' .. p)
  if m.client ~= '' then call('HSET', clients, m.client, p .. ' ' .. m.print) end
end
t.len, t.la = string.format('%.0f', len), last
if when ~= '' then t.due = when end
save('len', 'la', 'due')
expire(s, t)
queue(s, t)
return out
