-- The session that has been due longest in this shard.
local now = arg()
reap(now)
return call('ZRANGEBYSCORE', due, '-inf', now, 'WITHSCORES', 'LIMIT', 0, 1)
