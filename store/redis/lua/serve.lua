local nonce, at, body = arg(), arg(), arg()
if call('HGET', key('s', s), 'rl') == nonce then return {'ok'} end
call('RPUSH', key('r', s), at .. ' ' .. body)
call('SADD', key('ru', u), s)
call('SADD', key('rt', t.T), s)
call('HSET', key('s', s), 'rl', nonce)
-- The log may be gone already: what is served late goes with the next sweep.
if t.ea ~= '' then expire(s, t) end
return {'ok'}
