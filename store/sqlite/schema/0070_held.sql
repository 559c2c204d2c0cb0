-- What waits for a review is counted, and the oldest found, without a walk.
CREATE INDEX held_open ON held (expires_at) WHERE state = 'open' AND sealed IS NOT NULL;
