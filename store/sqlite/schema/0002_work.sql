-- Running work in a session, API keys, and calls that happen once.

-- holder is a keyed digest: who holds is compared, never read.
CREATE TABLE holds (
    sid INTEGER PRIMARY KEY REFERENCES sessions (sid),
    scope INTEGER NOT NULL, holder BLOB NOT NULL, fence INTEGER NOT NULL, until INTEGER NOT NULL
) STRICT;

CREATE TABLE checkpoints (
    scope INTEGER NOT NULL, sid INTEGER NOT NULL REFERENCES sessions (sid), version INTEGER NOT NULL,
    step INTEGER NOT NULL, position INTEGER NOT NULL, at INTEGER NOT NULL, content BLOB NOT NULL, sealed BLOB NOT NULL,
    UNIQUE (sid, version)
) STRICT;

CREATE TABLE effects (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    scope INTEGER NOT NULL, sid INTEGER NOT NULL REFERENCES sessions (sid), key TEXT NOT NULL,
    step INTEGER NOT NULL, state TEXT NOT NULL, attempt INTEGER NOT NULL, payload BLOB NOT NULL, outcome BLOB,
    claimed_by TEXT NOT NULL, claimed_at INTEGER NOT NULL, lease_until INTEGER NOT NULL, settled_at INTEGER NOT NULL,
    UNIQUE (sid, key)
) STRICT;

CREATE TABLE keys (
    id TEXT PRIMARY KEY, tenant TEXT NOT NULL, kind INTEGER NOT NULL, name TEXT NOT NULL,
    subjects BLOB NOT NULL, owns BLOB NOT NULL, hash BLOB NOT NULL UNIQUE,
    created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, revoked_at INTEGER NOT NULL
) STRICT;
CREATE INDEX keys_tenant ON keys (tenant, id);

-- id is a keyed digest of tenant, caller, route and key; the answer is sealed
-- under its subject's key, so that erasing the subject takes it along.
CREATE TABLE once (
    id BLOB PRIMARY KEY, scope INTEGER NOT NULL, fingerprint BLOB NOT NULL, answer BLOB NOT NULL, expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX once_expire ON once (expires_at);
CREATE INDEX once_scope ON once (scope);
