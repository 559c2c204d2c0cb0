if call('HSETNX', KEYS[1], 'version', ARGV[1]) == 1 then call('HSET', KEYS[1], 'shards', ARGV[2], 'check', ARGV[3]) end
return call('HMGET', KEYS[1], 'version', 'shards', 'check')
