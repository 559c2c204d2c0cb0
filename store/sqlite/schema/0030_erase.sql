-- What erasure leaves. None of it holds an id of a subject, or a word: random
-- surrogates, numbers and keyed digests.

-- Text positions begin after base: a subject that was erased and comes back
-- must not reach a position that somebody's cache stands at.
ALTER TABLE heads ADD COLUMN base INTEGER NOT NULL DEFAULT 0;
ALTER TABLE subjects ADD COLUMN erased_at INTEGER NOT NULL DEFAULT 0; -- the last erasure of a namesake; 0: none

-- What an erasure left of older entries: the digest of the rows that stay.
CREATE TABLE erased (
    scope INTEGER NOT NULL, by_seq INTEGER NOT NULL, seq INTEGER NOT NULL, did INTEGER NOT NULL, digest BLOB NOT NULL,
    PRIMARY KEY (scope, by_seq, seq)
) STRICT, WITHOUT ROWID;

-- Subjects that went whole, and their statements: digests under the master key.
CREATE TABLE gone (
    mark BLOB PRIMARY KEY, at INTEGER NOT NULL, text INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- owner is a digest of the tenant.
CREATE TABLE erasures (
    id TEXT PRIMARY KEY, owner BLOB NOT NULL, what TEXT NOT NULL, scope INTEGER NOT NULL, seq INTEGER NOT NULL,
    at INTEGER NOT NULL, state TEXT NOT NULL, counts TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX erasures_owner ON erasures (owner, at);

-- Where a person spoke, or was read, outside of their own scope.
CREATE TABLE elsewhere (
    author BLOB NOT NULL, scope INTEGER NOT NULL,
    PRIMARY KEY (author, scope)
) STRICT, WITHOUT ROWID;
CREATE INDEX elsewhere_scope ON elsewhere (scope);
