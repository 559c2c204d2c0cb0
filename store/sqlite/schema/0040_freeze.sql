-- The entry that placed the legal hold that stands; 0: none.
ALTER TABLE heads ADD COLUMN frozen INTEGER NOT NULL DEFAULT 0;
CREATE INDEX heads_frozen ON heads (scope) WHERE frozen > 0;
