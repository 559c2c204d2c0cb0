-- Audit retention. cut is the entry up to which the chain was cut, 0: it never
-- was; cut_at is when that was tried last.
ALTER TABLE tenet.heads ADD COLUMN cut bigint NOT NULL DEFAULT 0;
ALTER TABLE tenet.heads ADD COLUMN cut_at bigint NOT NULL DEFAULT 0;
CREATE INDEX heads_cut ON tenet.heads (cut_at, scope);

-- The sealed heads of chains: numbers and hashes, signed; they stay like the
-- chain. Where a later cut took the place of this one, only its digest is left.
CREATE TABLE tenet.cuts (
    scope  bigint NOT NULL,
    seq    bigint NOT NULL,
    upto   bigint NOT NULL,
    digest bytea NOT NULL,
    body   bytea,
    sig    bytea NOT NULL,
    tenant text COLLATE "C" NOT NULL DEFAULT current_setting('tenet.tenant', true),
    PRIMARY KEY (scope, seq)
) /*hash*/;
