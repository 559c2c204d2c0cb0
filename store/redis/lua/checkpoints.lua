local u, s, below, limit = arg(), arg(), arg(), tonumber(arg())
local r = call('HMGET', key('s', s), 'u', 'ck')
if r[1] ~= u then return {'nobody'} end
local k, from = owner(u), tonumber(r[2])
if below ~= '0' then from = math.min(from, tonumber(below) - 1) end
local out = {'ok', k[1], k[2]}
while from >= 1 and #out < limit + 3 do
  local v = string.format('%.0f', from)
  local body = call('HGET', key('k', s), v)
  if not body then break end
  out[#out + 1] = {v, body}
  from = from - 1
end
return out
