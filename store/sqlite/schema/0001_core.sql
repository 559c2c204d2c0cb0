-- Times are microseconds since 1970 UTC. An unknown start is the smallest
-- 64-bit integer, an open end the largest, so that ranges need no NULL.
-- "scope", "sid" and "tid" are random surrogates. External ids stand in
-- subjects, session_names and thread_names only, and in columns that erasure
-- empties: nothing that has to stay names anybody.

CREATE TABLE meta (
    one       INTEGER PRIMARY KEY CHECK (one = 1),
    key_check BLOB NOT NULL -- tells a wrong master key from a damaged file
) STRICT;

CREATE TABLE subjects (
    scope       INTEGER PRIMARY KEY,
    tenant      TEXT NOT NULL,
    kind        INTEGER NOT NULL,
    external_id TEXT NOT NULL,
    data_key    BLOB NOT NULL, -- wrapped with the master key
    UNIQUE (tenant, kind, external_id)
) STRICT;

CREATE TABLE session_names (
    sid         INTEGER PRIMARY KEY,
    scope       INTEGER NOT NULL,
    external_id TEXT NOT NULL,
    UNIQUE (scope, external_id)
) STRICT;

CREATE TABLE thread_names (
    tid         INTEGER PRIMARY KEY,
    scope       INTEGER NOT NULL,
    external_id TEXT NOT NULL,
    UNIQUE (scope, external_id)
) STRICT;

-- The scope's position. facts is the entry that last changed a fact, for the
-- cache; staged counts waiting candidates, so that Apply need not look.
CREATE TABLE heads (
    scope   INTEGER PRIMARY KEY,
    text    INTEGER NOT NULL DEFAULT 0,
    stats   INTEGER NOT NULL DEFAULT 0,
    audit   INTEGER NOT NULL DEFAULT 0,
    facts   INTEGER NOT NULL DEFAULT 0,
    staged  INTEGER NOT NULL DEFAULT 0,
    reset   INTEGER NOT NULL DEFAULT 0, -- Text positions up to here cannot be caught up with
    last_at INTEGER NOT NULL DEFAULT (-9223372036854775807 - 1),
    hash    BLOB
) STRICT;

-- The chain holds no id and no text: it stays when everything else is erased.
CREATE TABLE chain (
    scope   INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    action  TEXT NOT NULL,
    outcome INTEGER NOT NULL,
    codes   TEXT NOT NULL, -- JSON, or empty
    ruleset TEXT NOT NULL,
    at      INTEGER NOT NULL,
    digest  BLOB NOT NULL,
    prev    BLOB,
    hash    BLOB NOT NULL,
    PRIMARY KEY (scope, seq)
) STRICT, WITHOUT ROWID;

-- What an entry says in words, erasable: who asked, about what, and the
-- verdict. content makes a ref idempotent; it is NULL where refs may repeat.
CREATE TABLE trail (
    scope    INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    ref      TEXT NOT NULL,
    actor    TEXT NOT NULL,
    why      TEXT NOT NULL,
    content  BLOB,
    record   TEXT NOT NULL,
    replaced TEXT NOT NULL,
    tier     INTEGER NOT NULL,
    key      TEXT NOT NULL,
    label    INTEGER NOT NULL,
    effect   TEXT NOT NULL,
    findings TEXT NOT NULL, -- JSON, or empty
    at       INTEGER NOT NULL,
    PRIMARY KEY (scope, seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX trail_ref ON trail (scope, ref) WHERE content IS NOT NULL;

-- rowid order is the order of writing. added and removed are the Text
-- positions at which recall gained and lost the record, 0 for facts.
CREATE TABLE records (
    scope INTEGER NOT NULL, id TEXT NOT NULL, tier INTEGER NOT NULL, key TEXT NOT NULL,
    value BLOB, text TEXT NOT NULL, label INTEGER NOT NULL,
    origins BLOB NOT NULL, agreed BLOB, seen INTEGER NOT NULL,
    session TEXT NOT NULL, message TEXT NOT NULL, tool_call TEXT NOT NULL, speaker TEXT NOT NULL, position INTEGER NOT NULL,
    valid_from INTEGER NOT NULL, valid_to INTEGER NOT NULL, sys_from INTEGER NOT NULL, sys_to INTEGER NOT NULL,
    supersedes TEXT NOT NULL, superseded_by TEXT NOT NULL, fragment_of TEXT NOT NULL, elevates TEXT NOT NULL, closed TEXT NOT NULL,
    multi INTEGER NOT NULL, safety INTEGER NOT NULL,
    expires_at INTEGER NOT NULL, expired INTEGER NOT NULL, signature TEXT NOT NULL,
    size INTEGER NOT NULL, digest BLOB NOT NULL,
    seq INTEGER NOT NULL, closed_seq INTEGER NOT NULL, expired_seq INTEGER NOT NULL,
    added INTEGER NOT NULL, removed INTEGER NOT NULL,
    UNIQUE (scope, id)
) STRICT;

-- One open value a key, whatever the code above does.
CREATE UNIQUE INDEX records_open ON records (scope, tier, key)
    WHERE tier IN (1, 4) AND multi = 0 AND sys_to = 9223372036854775807 AND valid_to = 9223372036854775807;
CREATE INDEX records_history ON records (scope, tier, key, sys_from) WHERE key <> '';
CREATE INDEX records_believed ON records (scope, tier, key, valid_to)
    WHERE key <> '' AND sys_to = 9223372036854775807;
CREATE INDEX records_usage ON records (scope, valid_to, size, safety)
    WHERE tier = 1 AND sys_to = 9223372036854775807;
CREATE INDEX records_signature ON records (scope, signature)
    WHERE tier = 2 AND sys_to = 9223372036854775807;
CREATE INDEX records_added ON records (scope, added) WHERE added > 0;
CREATE INDEX records_removed ON records (scope, removed) WHERE removed > 0;
CREATE INDEX records_due ON records (expires_at) WHERE expires_at < 9223372036854775807 AND expired = 0;

CREATE TABLE evidence (
    scope INTEGER NOT NULL, record TEXT NOT NULL, seq INTEGER NOT NULL, n INTEGER NOT NULL,
    message TEXT NOT NULL, session TEXT NOT NULL, role INTEGER NOT NULL, label INTEGER NOT NULL,
    excerpt TEXT NOT NULL, said_at INTEGER NOT NULL, digest BLOB NOT NULL,
    UNIQUE (scope, record, seq, n)
) STRICT;

CREATE TABLE corroborations (
    scope INTEGER NOT NULL, seq INTEGER NOT NULL, record TEXT NOT NULL, origins BLOB NOT NULL,
    PRIMARY KEY (scope, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE held (
    scope INTEGER NOT NULL, seq INTEGER NOT NULL, state TEXT NOT NULL, settled_seq INTEGER NOT NULL,
    expires_at INTEGER NOT NULL, sealed BLOB,
    PRIMARY KEY (scope, seq)
) STRICT, WITHOUT ROWID;

-- A session's consolidation cursor is the end of its last stage.
CREATE TABLE stages (
    scope INTEGER NOT NULL, seq INTEGER NOT NULL, sid INTEGER NOT NULL,
    from_pos INTEGER NOT NULL, to_pos INTEGER NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (scope, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX stages_session ON stages (scope, sid, seq);

CREATE TABLE staged (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    scope INTEGER NOT NULL, sid INTEGER NOT NULL, candidate TEXT NOT NULL, content BLOB NOT NULL, sealed BLOB NOT NULL,
    UNIQUE (scope, candidate)
) STRICT;
CREATE INDEX staged_session ON staged (scope, sid, n);

CREATE TABLE sessions (
    sid INTEGER PRIMARY KEY REFERENCES session_names (sid),
    scope INTEGER NOT NULL, reads BLOB NOT NULL, ttl INTEGER NOT NULL, retain_none INTEGER NOT NULL,
    created_at INTEGER NOT NULL, ended_at INTEGER NOT NULL, last_at INTEGER NOT NULL,
    length INTEGER NOT NULL, consolidated INTEGER NOT NULL,
    due_at INTEGER NOT NULL, attempts INTEGER NOT NULL, last_code TEXT NOT NULL,
    worker TEXT NOT NULL, fence INTEGER NOT NULL, lease_until INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_due ON sessions (due_at) WHERE due_at < 9223372036854775807;
CREATE INDEX sessions_expire ON sessions (expires_at) WHERE expires_at < 9223372036854775807;

CREATE TABLE messages (
    scope INTEGER NOT NULL, sid INTEGER NOT NULL REFERENCES sessions (sid), seq INTEGER NOT NULL, id TEXT NOT NULL,
    role INTEGER NOT NULL, channel TEXT NOT NULL, speaker TEXT NOT NULL, text TEXT NOT NULL, said_at INTEGER NOT NULL,
    client_id TEXT NOT NULL, tool_calls BLOB NOT NULL, tool_call_id TEXT NOT NULL, retain_none INTEGER NOT NULL,
    label INTEGER NOT NULL, recorded_by TEXT NOT NULL, recorded_at INTEGER NOT NULL,
    UNIQUE (scope, sid, seq),
    UNIQUE (scope, id)
) STRICT;
CREATE UNIQUE INDEX messages_client ON messages (sid, client_id) WHERE client_id <> '';

CREATE TABLE proposals (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    scope INTEGER NOT NULL, sid INTEGER NOT NULL REFERENCES sessions (sid),
    candidate TEXT NOT NULL, content BLOB NOT NULL, sealed BLOB NOT NULL,
    UNIQUE (sid, candidate)
) STRICT;

CREATE TABLE receipts (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    scope INTEGER NOT NULL, sid INTEGER NOT NULL REFERENCES sessions (sid),
    at INTEGER NOT NULL, body BLOB NOT NULL
) STRICT;
CREATE INDEX receipts_session ON receipts (sid, n);

CREATE TABLE blobs (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    scope INTEGER NOT NULL, tid INTEGER NOT NULL REFERENCES thread_names (tid),
    id TEXT NOT NULL, parent TEXT NOT NULL, data BLOB NOT NULL, meta BLOB NOT NULL,
    created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
    UNIQUE (tid, id)
) STRICT;
CREATE INDEX blobs_newest ON blobs (tid, n);
CREATE INDEX blobs_expire ON blobs (expires_at) WHERE expires_at < 9223372036854775807;
