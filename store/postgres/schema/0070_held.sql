-- What waits for a review is counted, and the oldest found, without a walk.
CREATE INDEX held_open ON tenet.held (expires_at) WHERE state = 'open' AND kept;
