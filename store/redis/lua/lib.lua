-- Before every script. KEYS[1] is the tag of one shard, and all keys that a
-- script touches begin with it, so they lie in one slot. Replies begin with a
-- word: ok, or why nothing was written.
local pos = 0
local function arg() pos = pos + 1; return ARGV[pos] end
local call = redis.call
local function key(kind, id) return KEYS[1] .. ':' .. kind .. ':' .. id end
local due, held, expiring, versions = KEYS[1] .. ':due', KEYS[1] .. ':held', KEYS[1] .. ':exp', KEYS[1] .. ':bx'
local erased = KEYS[1] .. ':gone' -- when which subject was, by its token

-- What is kept of a session, in the order in which it is sent.
local fields = {'u', 'T', 'n', 'ttl', 'rn', 'ca', 'ea', 'la', 'len', 'con', 'due', 'att', 'code', 'w', 'f', 'lu', 'hh', 'hf', 'hu', 'ck', 'v'}

local function row(s)
  local r = call('HMGET', key('s', s), unpack(fields))
  if not r[1] then return nil end
  for i = 1, #fields do r[i] = r[i] or '' end
  return r
end

local function load(s)
  local r = row(s)
  if not r then return nil end
  local t = {}
  for i, f in ipairs(fields) do t[f] = r[i] end
  return t
end

-- The subject's wrapped data key, with which what follows was sealed.
local function owner(u) return call('HMGET', key('u', u), 'k', 'i') end

-- Whether the subject is under a legal hold.
local function frozen(u) return call('HEXISTS', key('u', u), 'z') == 1 end

local function waits(s, t)
  return tonumber(t.len) > tonumber(t.con) or call('EXISTS', key('p', s)) == 1
end

-- Puts a session where its state says: leased, due or neither. It is the last
-- step of every script that changes that state, so the queue is never another
-- write than the change itself.
local function queue(s, t)
  if t.w ~= '' then
    call('ZADD', held, t.lu, s)
    call('ZREM', due, s)
  else
    call('ZREM', held, s)
    if t.due ~= '' then call('ZADD', due, t.due, s) else call('ZREM', due, s) end
  end
  if waits(s, t) then call('SADD', key('w', t.T), s) else call('SREM', key('w', t.T), s) end
end

-- Gives back what was leased for too long.
local function reap(now)
  for _, s in ipairs(call('ZRANGEBYSCORE', held, '-inf', now, 'LIMIT', 0, 100)) do
    call('ZREM', held, s)
    local at = call('HGET', key('s', s), 'due')
    if at and at ~= '' then call('ZADD', due, at, s) end
  end
end

-- When the log may go: its last entry and the time to live, in microseconds.
local function expire(s, t)
  if t.ttl ~= '0' and t.la ~= '' then
    call('ZADD', expiring, string.format('%.0f', tonumber(t.la) + math.floor(tonumber(t.ttl) / 1000)), s)
  end
end

-- Makes a session's row, and puts it into its places.
local function begin(s, t)
  t.w, t.f, t.lu, t.hh, t.hf, t.hu, t.ck, t.v = '', '0', '', '', '0', '', '0', '0'
  local a = {}
  for _, f in ipairs(fields) do a[#a + 1] = f; a[#a + 1] = t[f] end
  call('HSET', key('s', s), unpack(a))
  call('SADD', key('x', t.u), s)
  expire(s, t)
  queue(s, t)
end

-- Removes a session's log with everything that finds its messages.
local function forget_log(s, u)
  local log, gone = key('l', s), 0
  for _, m in ipairs(call('LRANGE', log, 0, -1)) do
    local n = string.byte(m, 1) * 256 + string.byte(m, 2)
    call('HDEL', key('m', u), string.sub(m, 3, 2 + n))
    gone = gone + 1
  end
  call('DEL', log, key('c', s))
  return gone
end

local function forget_receipts(s, t)
  call('DEL', key('r', s))
  call('SREM', key('ru', t.u), s)
  call('SREM', key('rt', t.T), s)
end

-- Versions of a thread are kept three times over: by id with what they hold (n,
-- parent, print, data, meta, made, expires), in the order in which they came,
-- and by the bytes of their ids.
local function shelve(u, s, id, rest)
  local newest = call('ZREVRANGE', key('to', s), 0, 0, 'WITHSCORES')
  local n = tonumber(newest[2] or '0') + 1
  table.insert(rest, 1, string.format('%.0f', n))
  call('HSET', key('t', s), id, cmsgpack.pack(rest))
  call('ZADD', key('to', s), n, id)
  call('ZADD', key('tl', s), 0, id)
  if rest[7] ~= '' and not frozen(u) then call('ZADD', versions, rest[7], s .. id) else call('ZREM', versions, s .. id) end
end

local function unshelve(s, id)
  call('ZREM', key('to', s), id)
  call('ZREM', key('tl', s), id)
  call('ZREM', versions, s .. id)
  return call('HDEL', key('t', s), id)
end

local function version(s, id)
  local b = call('HGET', key('t', s), id)
  if not b then return nil end
  local e = cmsgpack.unpack(b)
  return {id, e[2], e[4], e[5], e[6], e[7]}
end

local function drop(u, s)
  local ids = call('ZRANGE', key('to', s), 0, -1)
  for _, id in ipairs(ids) do call('ZREM', versions, s .. id) end
  call('DEL', key('t', s), key('to', s), key('tl', s))
  call('HDEL', key('y', u), s)
  return #ids
end
