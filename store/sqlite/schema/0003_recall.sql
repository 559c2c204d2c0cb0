-- What recall has beside the texts: places in dense spaces, and what outcomes
-- and sweeps said about records.

ALTER TABLE heads ADD COLUMN dense INTEGER NOT NULL DEFAULT 0; -- moves with every vector
ALTER TABLE heads ADD COLUMN sleep INTEGER NOT NULL DEFAULT 0; -- moves with what is dormant
ALTER TABLE heads ADD COLUMN swept_at INTEGER NOT NULL DEFAULT 0;

-- placed is the space in which the record was placed last, so that what has no
-- place yet is found without a look at all that has.
ALTER TABLE records ADD COLUMN placed INTEGER NOT NULL DEFAULT 0;
CREATE INDEX records_placed ON records (placed, scope) WHERE added > 0 AND removed = 0;

CREATE TABLE spaces (
    space INTEGER PRIMARY KEY,
    name  TEXT NOT NULL UNIQUE
) STRICT;

-- Derived from texts, and as telling: a row goes when its record's text does.
CREATE TABLE vectors (
    scope INTEGER NOT NULL, record TEXT NOT NULL, space INTEGER NOT NULL,
    position INTEGER NOT NULL, numbers BLOB NOT NULL,
    PRIMARY KEY (scope, record, space)
) STRICT, WITHOUT ROWID;
CREATE INDEX vectors_position ON vectors (scope, space, position);

-- Reported outcomes, one row for each record that was credited.
CREATE TABLE outcomes (
    scope INTEGER NOT NULL, seq INTEGER NOT NULL, record TEXT NOT NULL, success INTEGER NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (scope, seq, record)
) STRICT, WITHOUT ROWID;
CREATE INDEX outcomes_record ON outcomes (scope, record);

-- What sweeps and pins decided; a record's last row is how it stands.
CREATE TABLE retention (
    scope INTEGER NOT NULL, seq INTEGER NOT NULL, record TEXT NOT NULL,
    dormant INTEGER NOT NULL, pinned INTEGER NOT NULL, low_since INTEGER NOT NULL, served_at INTEGER NOT NULL,
    PRIMARY KEY (scope, seq, record)
) STRICT, WITHOUT ROWID;
CREATE INDEX retention_record ON retention (scope, record, seq);

CREATE INDEX receipts_scope ON receipts (scope, at);
