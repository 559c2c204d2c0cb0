local u, n = arg(), tonumber(arg())
local k = owner(u)
if not k[1] then return {'ok', '', ''} end
local out = {'ok', k[1], k[2]}
for i = 1, n do
  local at = call('HGET', key('m', u), arg())
  if at then
    local s, seq = string.match(at, '^(%S+) (%d+)$')
    local m = call('LINDEX', key('l', s), tonumber(seq) - 1)
    if m then out[#out + 1] = {s, call('HGET', key('s', s), 'n'), seq, m} end
  end
end
return out
