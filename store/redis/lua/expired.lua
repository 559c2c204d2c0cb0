-- Removes versions of threads whose own time has passed.
local now, width = arg(), tonumber(arg())
local all = call('ZRANGEBYSCORE', versions, '-inf', now, 'LIMIT', 0, 100)
for _, m in ipairs(all) do
  local s, id = string.sub(m, 1, width), string.sub(m, width + 1)
  unshelve(s, id)
end
return #all
