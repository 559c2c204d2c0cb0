-- After write.lua, for a session that must exist.
local t = load(s)
if not t or t.u ~= u then return {'nobody'} end
if want ~= '' and want ~= t.v then return {'moved'} end

-- Writes back the named fields, and that something was written.
local function save(...)
  local a = {}
  for _, f in ipairs({...}) do a[#a + 1] = f; a[#a + 1] = t[f] end
  if #a > 0 then call('HSET', key('s', s), unpack(a)) end
  call('HINCRBY', key('s', s), 'v', 1)
  record()
end
