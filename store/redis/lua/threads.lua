-- A subject's threads with their sealed names, and when the newest version of
-- each was kept that is not over.
local u, now = arg(), arg()
local k = owner(u)
if not k[1] then return {'ok', '', ''} end
local out, all = {'ok', k[1], k[2]}, call('HGETALL', key('y', u))
for i = 1, #all, 2 do
  local s = all[i]
  for _, id in ipairs(call('ZREVRANGE', key('to', s), 0, -1)) do
    local v = version(s, id)
    if v[6] == '' or tonumber(v[6]) > tonumber(now) then
      out[#out + 1] = {s, all[i + 1], v[5]}
      break
    end
  end
end
return out
