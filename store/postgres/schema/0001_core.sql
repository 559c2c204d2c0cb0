-- Times are microseconds since 1970 UTC. An unknown start is the smallest
-- 64-bit integer, an open end the largest, so that ranges need no NULL.
-- "scope", "sid" and "tid" are random surrogates; scope comes first in every
-- key, so that tables can be split by its hash. External ids stand in subjects,
-- session_names and thread_names only, and in columns that erasure empties.
-- The tenant column is what row-level security goes by; its default is the
-- transaction's setting, and no statement of the program names it.
-- /*hash*/ becomes PARTITION BY HASH (scope) when that was asked for.

CREATE SEQUENCE tenet.ordinal; -- the order of writing, for rows of one scope

CREATE TABLE tenet.subjects (
    scope       bigint PRIMARY KEY,
    tenant      text COLLATE "C" NOT NULL DEFAULT current_setting('tenet.tenant', true) CHECK (tenant <> ''),
    kind        smallint NOT NULL,
    external_id text COLLATE "C" NOT NULL,
    data_key    bytea NOT NULL, -- wrapped with the master key
    UNIQUE (tenant, kind, external_id)
);

CREATE TABLE tenet.session_names (
    scope       bigint NOT NULL,
    sid         bigint NOT NULL,
    external_id text COLLATE "C" NOT NULL,
    tenant      text COLLATE "C" NOT NULL DEFAULT current_setting('tenet.tenant', true),
    PRIMARY KEY (scope, sid),
    UNIQUE (scope, external_id)
) /*hash*/;

CREATE TABLE tenet.thread_names (
    scope       bigint NOT NULL,
    tid         bigint NOT NULL,
    external_id text COLLATE "C" NOT NULL,
    tenant      text COLLATE "C" NOT NULL DEFAULT current_setting('tenet.tenant', true),
    PRIMARY KEY (scope, tid),
    UNIQUE (scope, external_id)
) /*hash*/;

-- The scope's position, and what every write of it locks first.
CREATE TABLE tenet.heads (
    scope    bigint PRIMARY KEY,
    text     bigint NOT NULL DEFAULT 0,
    stats    bigint NOT NULL DEFAULT 0,
    audit    bigint NOT NULL DEFAULT 0,
    facts    bigint NOT NULL DEFAULT 0, -- the entry that last changed a fact, for the cache
    staged   bigint NOT NULL DEFAULT 0, -- how many candidates wait
    tombs    bigint NOT NULL DEFAULT 0, -- how many tombstones there are
    reset    bigint NOT NULL DEFAULT 0, -- Text positions up to here cannot be caught up with
    dense    bigint NOT NULL DEFAULT 0, -- moves with every vector
    sleep    bigint NOT NULL DEFAULT 0, -- moves with what is dormant
    swept_at bigint NOT NULL DEFAULT 0,
    last_at  bigint NOT NULL DEFAULT (-9223372036854775808),
    hash     bytea,
    tenant   text COLLATE "C" NOT NULL DEFAULT current_setting('tenet.tenant', true)
) /*hash*/;
CREATE INDEX heads_swept ON tenet.heads (swept_at, scope) WHERE text > 0;

-- The chain holds no id of a subject and no text: it stays when everything
-- else is erased. The application may add to it and read it, nothing more.
CREATE TABLE tenet.chain (
    scope   bigint NOT NULL,
    seq     bigint NOT NULL,
    action  text COLLATE "C" NOT NULL,
    outcome smallint NOT NULL,
    codes   text COLLATE "C" NOT NULL, -- JSON, or empty
    ruleset text COLLATE "C" NOT NULL,
    at      bigint NOT NULL,
    digest  bytea NOT NULL,
    prev    bytea,
    hash    bytea NOT NULL,
    tenant  text COLLATE "C" NOT NULL DEFAULT current_setting('tenet.tenant', true),
    PRIMARY KEY (scope, seq)
) /*hash*/;

-- What an entry says in words, erasable: who asked, about what, and the
-- verdict. content makes a ref idempotent; it is NULL where refs may repeat.
CREATE TABLE tenet.trail (
    scope    bigint NOT NULL,
    seq      bigint NOT NULL,
    ref      text COLLATE "C" NOT NULL,
    actor    text COLLATE "C" NOT NULL,
    why      text COLLATE "C" NOT NULL,
    content  bytea,
    record   text COLLATE "C" NOT NULL,
    replaced text COLLATE "C" NOT NULL,
    tier     smallint NOT NULL,
    key      text COLLATE "C" NOT NULL,
    label    smallint NOT NULL,
    effect   text COLLATE "C" NOT NULL,
    findings text COLLATE "C" NOT NULL, -- JSON, or empty
    at       bigint NOT NULL,
    tenant   text COLLATE "C" NOT NULL DEFAULT current_setting('tenet.tenant', true),
    PRIMARY KEY (scope, seq)
) /*hash*/;
CREATE UNIQUE INDEX trail_ref ON tenet.trail (scope, ref) WHERE content IS NOT NULL;

-- added and removed are the Text positions at which recall gained and lost the
-- record, 0 for facts. valid_from and valid_to are when it is true, sys_from
-- and sys_to when it was believed.
CREATE TABLE tenet.records (
    scope         bigint NOT NULL,
    id            text COLLATE "C" NOT NULL,
    tier          smallint NOT NULL,
    key           text COLLATE "C" NOT NULL,
    value         bytea,
    text          text COLLATE "C" NOT NULL,
    label         smallint NOT NULL,
    origins       bytea NOT NULL,
    agreed        bytea,
    seen          bigint NOT NULL,
    session       text COLLATE "C" NOT NULL,
    message       text COLLATE "C" NOT NULL,
    tool_call     text COLLATE "C" NOT NULL,
    speaker       text COLLATE "C" NOT NULL,
    position      bigint NOT NULL,
    valid_from    bigint NOT NULL,
    valid_to      bigint NOT NULL,
    sys_from      bigint NOT NULL,
    sys_to        bigint NOT NULL,
    supersedes    text COLLATE "C" NOT NULL,
    superseded_by text COLLATE "C" NOT NULL,
    fragment_of   text COLLATE "C" NOT NULL,
    elevates      text COLLATE "C" NOT NULL,
    closed        text COLLATE "C" NOT NULL,
    multi         boolean NOT NULL,
    safety        boolean NOT NULL,
    expires_at    bigint NOT NULL,
    expired       boolean NOT NULL,
    signature     text COLLATE "C" NOT NULL,
    size          bigint NOT NULL,
    digest        bytea NOT NULL,
    seq           bigint NOT NULL,
    closed_seq    bigint NOT NULL,
    expired_seq   bigint NOT NULL,
    added         bigint NOT NULL,
    removed       bigint NOT NULL,
    placed        bigint NOT NULL DEFAULT 0, -- the space in which it was placed last
    n             bigint NOT NULL DEFAULT nextval('tenet.ordinal'),
    tenant        text COLLATE "C" NOT NULL DEFAULT current_setting('tenet.tenant', true),
    PRIMARY KEY (scope, id)
) /*hash*/;

-- One open value a key, whatever the program does. That the values of a key
-- never overlap in valid time either is the constraint records_apart, made
-- where the migration makes the partitions.
CREATE UNIQUE INDEX records_open ON tenet.records (scope, tier, key)
    WHERE tier IN (1, 4) AND NOT multi AND sys_to = 9223372036854775807 AND valid_to = 9223372036854775807;
CREATE INDEX records_history ON tenet.records (scope, tier, key, sys_from) WHERE key <> '';
CREATE INDEX records_believed ON tenet.records (scope, tier, key, valid_to)
    WHERE key <> '' AND sys_to = 9223372036854775807;
CREATE INDEX records_usage ON tenet.records (scope, valid_to) INCLUDE (size, safety)
    WHERE tier = 1 AND sys_to = 9223372036854775807;
CREATE INDEX records_signature ON tenet.records (scope, hashtextextended(signature, 0))
    WHERE tier = 2 AND sys_to = 9223372036854775807;
CREATE INDEX records_added ON tenet.records (scope, added) WHERE added > 0;
CREATE INDEX records_removed ON tenet.records (scope, removed) WHERE removed > 0;
CREATE INDEX records_due ON tenet.records (expires_at) WHERE expires_at < 9223372036854775807 AND NOT expired;
CREATE INDEX records_placed ON tenet.records (placed, scope) WHERE added > 0 AND removed = 0;

CREATE TABLE tenet.evidence (
    scope   bigint NOT NULL,
    record  text COLLATE "C" NOT NULL,
    seq     bigint NOT NULL,
    n       bigint NOT NULL,
    message text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    role    smallint NOT NULL,
    label   smallint NOT NULL,
    excerpt text COLLATE "C" NOT NULL,
    said_at bigint NOT NULL,
    digest  bytea NOT NULL,
    tenant  text COLLATE "C" NOT NULL DEFAULT current_setting('tenet.tenant', true),
    PRIMARY KEY (scope, record, seq, n)
) /*hash*/;

CREATE TABLE tenet.corroborations (
    scope   bigint NOT NULL,
    seq     bigint NOT NULL,
    record  text COLLATE "C" NOT NULL,
    origins bytea NOT NULL,
    tenant  text COLLATE "C" NOT NULL DEFAULT current_setting('tenet.tenant', true),
    PRIMARY KEY (scope, seq)
) /*hash*/;

CREATE TABLE tenet.held (
    scope       bigint NOT NULL,
    seq         bigint NOT NULL,
    state       text COLLATE "C" NOT NULL,
    settled_seq bigint NOT NULL,
    expires_at  bigint NOT NULL,
    sealed      bytea,
    aged_seq    bigint NOT NULL DEFAULT 0, -- the entry that dropped the text
    kept        boolean NOT NULL GENERATED ALWAYS AS (sealed IS NOT NULL) STORED, -- what the worker may know of it
    tenant      text COLLATE "C" NOT NULL DEFAULT current_setting('tenet.tenant', true),
    PRIMARY KEY (scope, seq)
) /*hash*/;

CREATE INDEX held_due ON tenet.held (expires_at) WHERE kept;

-- statement is a keyed digest: no id, no word.
CREATE TABLE tenet.tombstones (
    scope     bigint NOT NULL,
    statement bytea NOT NULL,
    seq       bigint NOT NULL,
    kind      smallint NOT NULL,
    label     smallint NOT NULL,
    at        bigint NOT NULL,
    digest    bytea NOT NULL,
    tenant    text COLLATE "C" NOT NULL DEFAULT current_setting('tenet.tenant', true),
    PRIMARY KEY (scope, statement, seq, kind)
) /*hash*/;

-- A session's consolidation cursor is the end of its last stage.
CREATE TABLE tenet.stages (
    scope    bigint NOT NULL,
    seq      bigint NOT NULL,
    sid      bigint NOT NULL,
    from_pos bigint NOT NULL,
    to_pos   bigint NOT NULL,
    count    bigint NOT NULL,
    tenant   text COLLATE "C" NOT NULL DEFAULT current_setting('tenet.tenant', true),
    PRIMARY KEY (scope, seq)
) /*hash*/;
CREATE INDEX stages_session ON tenet.stages (scope, sid, seq);

CREATE TABLE tenet.staged (
    scope     bigint NOT NULL,
    candidate text COLLATE "C" NOT NULL,
    sid       bigint NOT NULL,
    content   bytea NOT NULL,
    sealed    bytea NOT NULL,
    n         bigint NOT NULL DEFAULT nextval('tenet.ordinal'),
    tenant    text COLLATE "C" NOT NULL DEFAULT current_setting('tenet.tenant', true),
    PRIMARY KEY (scope, candidate)
) /*hash*/;
CREATE INDEX staged_session ON tenet.staged (scope, sid, n);

CREATE TABLE tenet.sessions (
    scope        bigint NOT NULL,
    sid          bigint NOT NULL,
    reads        bytea NOT NULL, -- sealed: they are external ids
    ttl          bigint NOT NULL,
    retain_none  boolean NOT NULL,
    created_at   bigint NOT NULL,
    ended_at     bigint NOT NULL,
    last_at      bigint NOT NULL,
    length       bigint NOT NULL,
    consolidated bigint NOT NULL,
    due_at       bigint NOT NULL,
    attempts     bigint NOT NULL,
    last_code    text COLLATE "C" NOT NULL,
    worker       text COLLATE "C" NOT NULL,
    fence        bigint NOT NULL,
    lease_until  bigint NOT NULL,
    expires_at   bigint NOT NULL,
    tenant       text COLLATE "C" NOT NULL DEFAULT current_setting('tenet.tenant', true),
    PRIMARY KEY (scope, sid)
) /*hash*/;
CREATE INDEX sessions_due ON tenet.sessions (due_at, created_at, sid) WHERE due_at < 9223372036854775807;
CREATE INDEX sessions_expire ON tenet.sessions (expires_at) WHERE expires_at < 9223372036854775807;

CREATE TABLE tenet.messages (
    scope        bigint NOT NULL,
    sid          bigint NOT NULL,
    seq          bigint NOT NULL,
    id           text COLLATE "C" NOT NULL,
    role         smallint NOT NULL,
    channel      text COLLATE "C" NOT NULL,
    speaker      text COLLATE "C" NOT NULL,
    text         text COLLATE "C" NOT NULL,
    said_at      bigint NOT NULL,
    client_id    text COLLATE "C" NOT NULL,
    tool_calls   bytea NOT NULL,
    tool_call_id text COLLATE "C" NOT NULL,
    retain_none  boolean NOT NULL,
    label        smallint NOT NULL,
    recorded_by  text COLLATE "C" NOT NULL,
    recorded_at  bigint NOT NULL,
    tenant       text COLLATE "C" NOT NULL DEFAULT current_setting('tenet.tenant', true),
    PRIMARY KEY (scope, sid, seq),
    UNIQUE (scope, id)
) /*hash*/;
CREATE UNIQUE INDEX messages_client ON tenet.messages (scope, sid, client_id) WHERE client_id <> '';

CREATE TABLE tenet.proposals (
    scope     bigint NOT NULL,
    sid       bigint NOT NULL,
    candidate text COLLATE "C" NOT NULL,
    content   bytea NOT NULL,
    sealed    bytea NOT NULL,
    n         bigint NOT NULL DEFAULT nextval('tenet.ordinal'),
    tenant    text COLLATE "C" NOT NULL DEFAULT current_setting('tenet.tenant', true),
    PRIMARY KEY (scope, sid, candidate)
) /*hash*/;

CREATE TABLE tenet.receipts (
    scope  bigint NOT NULL,
    sid    bigint NOT NULL,
    n      bigint NOT NULL DEFAULT nextval('tenet.ordinal'),
    at     bigint NOT NULL,
    body   bytea NOT NULL,
    tenant text COLLATE "C" NOT NULL DEFAULT current_setting('tenet.tenant', true),
    PRIMARY KEY (scope, sid, n)
) /*hash*/;
CREATE INDEX receipts_scope ON tenet.receipts (scope, at);

CREATE TABLE tenet.blobs (
    scope      bigint NOT NULL,
    tid        bigint NOT NULL,
    id         text COLLATE "C" NOT NULL,
    parent     text COLLATE "C" NOT NULL,
    data       bytea NOT NULL,
    meta       bytea NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    n          bigint NOT NULL DEFAULT nextval('tenet.ordinal'),
    tenant     text COLLATE "C" NOT NULL DEFAULT current_setting('tenet.tenant', true),
    PRIMARY KEY (scope, tid, id)
) /*hash*/;
CREATE INDEX blobs_newest ON tenet.blobs (scope, tid, n);
CREATE INDEX blobs_expire ON tenet.blobs (expires_at) WHERE expires_at < 9223372036854775807;

-- holder is a keyed digest: who holds is compared, never read.
CREATE TABLE tenet.holds (
    scope  bigint NOT NULL,
    sid    bigint NOT NULL,
    holder bytea NOT NULL,
    fence  bigint NOT NULL,
    until  bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL DEFAULT current_setting('tenet.tenant', true),
    PRIMARY KEY (scope, sid)
) /*hash*/;

CREATE TABLE tenet.checkpoints (
    scope    bigint NOT NULL,
    sid      bigint NOT NULL,
    version  bigint NOT NULL,
    step     bigint NOT NULL,
    position bigint NOT NULL,
    at       bigint NOT NULL,
    content  bytea NOT NULL,
    sealed   bytea NOT NULL,
    tenant   text COLLATE "C" NOT NULL DEFAULT current_setting('tenet.tenant', true),
    PRIMARY KEY (scope, sid, version)
) /*hash*/;

CREATE TABLE tenet.effects (
    scope       bigint NOT NULL,
    sid         bigint NOT NULL,
    key         text COLLATE "C" NOT NULL,
    step        bigint NOT NULL,
    state       text COLLATE "C" NOT NULL,
    attempt     bigint NOT NULL,
    payload     bytea NOT NULL,
    outcome     bytea,
    claimed_by  text COLLATE "C" NOT NULL,
    claimed_at  bigint NOT NULL,
    lease_until bigint NOT NULL,
    settled_at  bigint NOT NULL,
    n           bigint NOT NULL DEFAULT nextval('tenet.ordinal'),
    tenant      text COLLATE "C" NOT NULL DEFAULT current_setting('tenet.tenant', true),
    PRIMARY KEY (scope, sid, key)
) /*hash*/;

-- Found by its hash before anybody knows whose it is.
CREATE TABLE tenet.keys (
    id         text COLLATE "C" PRIMARY KEY,
    tenant     text COLLATE "C" NOT NULL,
    kind       smallint NOT NULL,
    name       text COLLATE "C" NOT NULL,
    subjects   bytea NOT NULL,
    owns       bytea NOT NULL,
    hash       bytea NOT NULL UNIQUE,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    revoked_at bigint NOT NULL
);
CREATE INDEX keys_tenant ON tenet.keys (tenant, id);

-- id is a keyed digest of tenant, caller, route and key; the answer is sealed
-- under its subject's key, so that erasing the subject takes it along.
CREATE TABLE tenet.once (
    id          bytea PRIMARY KEY,
    scope       bigint NOT NULL,
    fingerprint bytea NOT NULL,
    answer      bytea NOT NULL,
    expires_at  bigint NOT NULL,
    tenant      text COLLATE "C" NOT NULL DEFAULT current_setting('tenet.tenant', true)
);
CREATE INDEX once_expire ON tenet.once (tenant, expires_at);
CREATE INDEX once_scope ON tenet.once (scope);

CREATE TABLE tenet.spaces (
    space bigint PRIMARY KEY DEFAULT nextval('tenet.ordinal'),
    name  text COLLATE "C" NOT NULL UNIQUE
);

-- Derived from texts, and as telling: a row goes when its record's text does.
CREATE TABLE tenet.vectors (
    scope    bigint NOT NULL,
    record   text COLLATE "C" NOT NULL,
    space    bigint NOT NULL,
    position bigint NOT NULL,
    numbers  bytea NOT NULL,
    tenant   text COLLATE "C" NOT NULL DEFAULT current_setting('tenet.tenant', true),
    PRIMARY KEY (scope, record, space)
) /*hash*/;
CREATE INDEX vectors_position ON tenet.vectors (scope, space, position);

-- Reported outcomes, one row for each record that was credited.
CREATE TABLE tenet.outcomes (
    scope   bigint NOT NULL,
    seq     bigint NOT NULL,
    record  text COLLATE "C" NOT NULL,
    success boolean NOT NULL,
    at      bigint NOT NULL,
    tenant  text COLLATE "C" NOT NULL DEFAULT current_setting('tenet.tenant', true),
    PRIMARY KEY (scope, seq, record)
) /*hash*/;
CREATE INDEX outcomes_record ON tenet.outcomes (scope, record);

-- What sweeps and pins decided; a record's last row is how it stands.
CREATE TABLE tenet.retention (
    scope     bigint NOT NULL,
    seq       bigint NOT NULL,
    record    text COLLATE "C" NOT NULL,
    dormant   boolean NOT NULL,
    pinned    boolean NOT NULL,
    low_since bigint NOT NULL,
    served_at bigint NOT NULL,
    tenant    text COLLATE "C" NOT NULL DEFAULT current_setting('tenet.tenant', true),
    PRIMARY KEY (scope, seq, record)
) /*hash*/;
CREATE INDEX retention_record ON tenet.retention (scope, record, seq);
