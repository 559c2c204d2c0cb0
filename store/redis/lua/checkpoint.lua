local version, print, fence, keep, body = arg(), arg(), arg(), tonumber(arg()), arg()
local all, n, last = key('k', s), tonumber(version), tonumber(t.ck)
if n <= last then
  local old = call('HGET', all, version)
  if old and string.sub(old, 1, #print) == print then
    if not dry then save() end
    return {'ok', t.v}
  end
end
if t.ea ~= '' then return {'conflict', 'the session has ended'} end
if fence ~= '0' and fence ~= t.hf then return {'conflict', 'another worker holds the session: the fence is stale'} end
if n ~= last + 1 then return {'conflict', 'the run stands elsewhere: read its newest checkpoint'} end
if dry then return {'ok', t.v} end
call('HSET', all, version, print .. body)
t.ck = version
save('ck')
local old = n - keep
while old >= 1 and call('HDEL', all, string.format('%.0f', old)) == 1 do old = old - 1 end
return {'ok', t.v}
