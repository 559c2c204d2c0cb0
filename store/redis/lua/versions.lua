-- Named versions, the newest, a page below one, or a page by the bytes of ids.
local u, s, what, limit = arg(), arg(), arg(), tonumber(arg())
local k = owner(u)
if not k[1] then return {'ok', '', ''} end
local out, ids = {'ok', k[1], k[2]}, {}
if what == 'named' then
  for i = 1, limit do ids[i] = arg() end
elseif limit < 1 then
  return out
elseif what == 'newest' then
  ids = call('ZREVRANGE', key('to', s), 0, limit - 1)
elseif what == 'after' then
  local n = call('ZSCORE', key('to', s), arg())
  if n then ids = call('ZREVRANGEBYSCORE', key('to', s), '(' .. n, '-inf', 'LIMIT', 0, limit) end
elseif what == 'prefix' then
  local high, low = arg(), arg()
  ids = call('ZREVRANGEBYLEX', key('tl', s), high, low, 'LIMIT', 0, limit)
end
for _, id in ipairs(ids) do out[#out + 1] = version(s, id) end
return out
