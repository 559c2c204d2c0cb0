-- What erasure leaves. None of it holds an id of a subject, or a word: random
-- surrogates, numbers and keyed digests.

-- Text positions begin after base: a subject that was erased and comes back
-- must not reach a position that somebody's cache stands at.
ALTER TABLE tenet.heads ADD COLUMN base bigint NOT NULL DEFAULT 0;
ALTER TABLE tenet.subjects ADD COLUMN erased_at bigint NOT NULL DEFAULT 0; -- the last erasure of a namesake; 0: none

-- What an erasure left of older entries: the digest of the rows that stay.
CREATE TABLE tenet.erased (
    scope  bigint NOT NULL,
    by_seq bigint NOT NULL,
    seq    bigint NOT NULL,
    did    bigint NOT NULL,
    digest bytea NOT NULL,
    tenant text COLLATE "C" NOT NULL DEFAULT current_setting('tenet.tenant', true),
    PRIMARY KEY (scope, by_seq, seq)
) /*hash*/;

-- Subjects that went whole, and their statements: digests under the master
-- key. There is no tenant to go by: who can't make the digest finds nothing.
CREATE TABLE tenet.gone (
    mark bytea PRIMARY KEY,
    at   bigint NOT NULL,
    text bigint NOT NULL
);
GRANT SELECT, INSERT, UPDATE ON tenet.gone TO tenet_app;

-- owner is a digest of the tenant, and what is looked for.
CREATE TABLE tenet.erasures (
    id     text COLLATE "C" PRIMARY KEY,
    owner  bytea NOT NULL,
    what   text COLLATE "C" NOT NULL,
    scope  bigint NOT NULL,
    seq    bigint NOT NULL,
    at     bigint NOT NULL,
    state  text COLLATE "C" NOT NULL,
    counts text COLLATE "C" NOT NULL
);
CREATE INDEX erasures_owner ON tenet.erasures (owner, at);
GRANT SELECT, INSERT, UPDATE ON tenet.erasures TO tenet_app;

-- Where a person spoke, or was read, outside of their own scope.
CREATE TABLE tenet.elsewhere (
    author bytea NOT NULL,
    scope  bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL DEFAULT current_setting('tenet.tenant', true),
    PRIMARY KEY (author, scope)
);
CREATE INDEX elsewhere_scope ON tenet.elsewhere (scope);
