-- Named versions, the newest, a page below one, or a page by the bytes of ids:
-- those that are not over at now, when one is given.
local u, s, what, limit, now = arg(), arg(), arg(), tonumber(arg()), tonumber(arg())
local k = owner(u)
if not k[1] then return {'ok', '', ''} end
local out = {'ok', k[1], k[2]}
if what == 'named' then
  for _ = 1, limit do out[#out + 1] = version(s, arg()) end
  return out
end
-- A page of ids that begins behind the first n.
local from
if what == 'newest' then
  from = function(n) return call('ZREVRANGE', key('to', s), n, n + limit - 1) end
elseif what == 'after' then
  local at = call('ZSCORE', key('to', s), arg())
  if not at then return out end
  from = function(n) return call('ZREVRANGEBYSCORE', key('to', s), '(' .. at, '-inf', 'LIMIT', n, limit) end
elseif what == 'prefix' then
  local high, low = arg(), arg()
  from = function(n) return call('ZREVRANGEBYLEX', key('tl', s), high, low, 'LIMIT', n, limit) end
end
local n, left = 0, limit
while left > 0 do
  local ids = from(n)
  for _, id in ipairs(ids) do
    local v = version(s, id)
    if left > 0 and (not now or v[6] == '' or tonumber(v[6]) > now) then
      out[#out + 1] = v
      left = left - 1
    end
  end
  n = n + #ids
  if #ids < limit then break end
end
return out
