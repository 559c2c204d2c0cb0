-- Tombstones, and refused candidates whose text has run out.

-- tombs counts the scope's tombstones, so that Apply need not look.
ALTER TABLE heads ADD COLUMN tombs INTEGER NOT NULL DEFAULT 0;

-- statement is a keyed digest: no id, no word.
CREATE TABLE tombstones (
    scope INTEGER NOT NULL, statement BLOB NOT NULL, seq INTEGER NOT NULL,
    kind INTEGER NOT NULL, label INTEGER NOT NULL, at INTEGER NOT NULL, digest BLOB NOT NULL,
    PRIMARY KEY (scope, statement, seq, kind)
) STRICT, WITHOUT ROWID;

ALTER TABLE held ADD COLUMN aged_seq INTEGER NOT NULL DEFAULT 0; -- the entry that dropped the text
CREATE INDEX held_due ON held (expires_at) WHERE sealed IS NOT NULL;
