-- One version (id), the newest, or a page below one.
local u, s, id, after, limit = arg(), arg(), arg(), arg(), tonumber(arg())
local k = owner(u)
if not k[1] then return {'ok', '', ''} end
local out, ids = {'ok', k[1], k[2]}, {}
if id ~= '' then
  ids = {id}
elseif after == '' then
  if limit > 0 then ids = call('ZREVRANGE', key('to', s), 0, limit - 1) end
else
  local n = call('ZSCORE', key('to', s), after)
  if n and limit > 0 then ids = call('ZREVRANGEBYSCORE', key('to', s), '(' .. n, '-inf', 'LIMIT', 0, limit) end
end
for _, v in ipairs(ids) do
  local b = call('HGET', key('t', s), v)
  if b then
    local e = cmsgpack.unpack(b)
    out[#out + 1] = {v, e[2], e[4], e[5], e[6], e[7]}
  end
end
return out
