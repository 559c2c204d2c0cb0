-- The entry that placed the legal hold that stands; 0: none.
ALTER TABLE tenet.heads ADD COLUMN frozen bigint NOT NULL DEFAULT 0;
CREATE INDEX heads_frozen ON tenet.heads (scope) WHERE frozen > 0;
