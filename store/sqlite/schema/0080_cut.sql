-- Audit retention. cut is the entry up to which the chain was cut, 0: it never
-- was; cut_at is when that was tried last.
ALTER TABLE heads ADD COLUMN cut INTEGER NOT NULL DEFAULT 0;
ALTER TABLE heads ADD COLUMN cut_at INTEGER NOT NULL DEFAULT 0;
CREATE INDEX heads_cut ON heads (cut_at, scope);

-- The sealed heads of chains: numbers and hashes, signed; they stay like the
-- chain. Where a later cut took the place of this one, only its digest is left.
CREATE TABLE cuts (
    scope INTEGER NOT NULL, seq INTEGER NOT NULL, upto INTEGER NOT NULL, digest BLOB NOT NULL, body BLOB, sig BLOB NOT NULL,
    PRIMARY KEY (scope, seq)
) STRICT, WITHOUT ROWID;
