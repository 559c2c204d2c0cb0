-- Run after the tables of each version: who may do what. Every statement of
-- the program runs as one of two roles that own nothing, set for its
-- transaction only.

-- tenet_app sees the rows of the tenant that its transaction is set to, and
-- none without a setting. tenet_worker sees every tenant's rows of what has no
-- content: whose turn it is, and the chain.
DO $$
DECLARE t regclass;
BEGIN
    FOR t IN SELECT c.oid FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant'
        WHERE c.relnamespace = 'tenet'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition LOOP
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('DROP POLICY IF EXISTS tenant ON %s', t);
        EXECUTE format($p$CREATE POLICY tenant ON %s TO tenet_app
            USING (tenant = (SELECT current_setting('tenet.tenant', true)))
            WITH CHECK (tenant = (SELECT current_setting('tenet.tenant', true)))$p$, t);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO tenet_app', t);
    END LOOP;
END $$;

-- Whoever knows a key's hash holds the key.
DROP POLICY IF EXISTS bearer ON tenet.keys;
CREATE POLICY bearer ON tenet.keys FOR SELECT TO tenet_app
    USING (encode(hash, 'hex') = (SELECT current_setting('tenet.key_hash', true)));

DROP POLICY IF EXISTS bearer ON tenet.once;
CREATE POLICY bearer ON tenet.once FOR SELECT TO tenet_app
    USING (encode(id, 'hex') = (SELECT current_setting('tenet.key_hash', true)));

-- Nobody but the owner alters or removes what was decided.
REVOKE UPDATE, DELETE, TRUNCATE ON tenet.chain FROM tenet_app;
REVOKE DELETE, TRUNCATE ON tenet.heads FROM tenet_app;
GRANT SELECT ON tenet.meta TO PUBLIC; -- the version, and a digest that tells a wrong master key
GRANT SELECT, INSERT ON tenet.spaces TO tenet_app;
GRANT SELECT ON tenet.spaces TO tenet_worker;
GRANT USAGE ON SEQUENCE tenet.ordinal TO tenet_app;
GRANT USAGE ON SCHEMA tenet TO PUBLIC; -- names can be looked up; nothing can be read

DO $$
DECLARE t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['heads', 'chain', 'cuts', 'sessions', 'proposals', 'records', 'blobs', 'vectors', 'held', 'staged'] LOOP
        EXECUTE format('DROP POLICY IF EXISTS worker ON tenet.%I', t);
        EXECUTE format('CREATE POLICY worker ON tenet.%I TO tenet_worker USING (true)', t);
    END LOOP;
END $$;
GRANT SELECT ON tenet.heads, tenet.chain, tenet.cuts TO tenet_worker;
GRANT SELECT (tenant, scope, sid, created_at, ended_at, length, consolidated, due_at, attempts, worker, fence, lease_until, expires_at),
    UPDATE (lease_until) ON tenet.sessions TO tenet_worker; -- the right to update is what FOR UPDATE asks for
GRANT SELECT (tenant, scope, sid) ON tenet.proposals TO tenet_worker;
GRANT SELECT (tenant, scope, id, expires_at, expired, added, removed, placed) ON tenet.records TO tenet_worker;
GRANT SELECT (tenant, scope, expires_at) ON tenet.blobs TO tenet_worker;
GRANT SELECT (tenant, scope, seq, expires_at, kept, state) ON tenet.held TO tenet_worker;
GRANT SELECT (tenant, scope, sid) ON tenet.staged TO tenet_worker;
GRANT SELECT (tenant, scope, record, space) ON tenet.vectors TO tenet_worker;

-- The sealed heads of chains are added and read, as entries are.
REVOKE UPDATE, DELETE, TRUNCATE ON tenet.cuts FROM tenet_app;

-- What removes entries of a chain. It runs as the schema's owner, since the
-- application has no right to, and takes nobody's word: a cut of the chain must be
-- its last entry, no legal hold may stand, and an entry goes only when it is of
-- before the cut, a month old by the server's clock, and named by no row.
DO $$
DECLARE t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['heads', 'chain', 'cuts', 'trail', 'records', 'evidence', 'corroborations', 'held', 'tombstones', 'stages', 'outcomes', 'retention', 'erased'] LOOP
        EXECUTE format('DROP POLICY IF EXISTS cut ON tenet.%I', t);
        EXECUTE format('CREATE POLICY cut ON tenet.%I TO CURRENT_USER USING (tenant = (SELECT current_setting(''tenet.tenant'', true)))', t);
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION tenet.cut(of bigint, gone bigint[]) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    mine text := current_setting('tenet.tenant', true);
    head tenet.cuts;
    n bigint;
BEGIN
    SELECT c.* INTO head FROM tenet.cuts c WHERE c.scope = of AND c.tenant = mine ORDER BY c.seq DESC LIMIT 1;
    IF NOT FOUND OR NOT EXISTS (SELECT 1 FROM tenet.heads h JOIN tenet.chain e ON e.scope = h.scope AND e.seq = h.audit
            WHERE h.scope = of AND h.tenant = mine AND h.frozen = 0 AND h.cut = head.upto AND h.audit = head.seq AND h.hash = e.hash AND e.action = 'cut') THEN
        RAISE EXCEPTION 'no cut of this chain was recorded, or a legal hold stands' USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF coalesce(cardinality(gone), 0) = 0 OR EXISTS (SELECT 1 FROM tenet.chain e WHERE e.scope = of AND e.seq = ANY (gone)
            AND (e.tenant <> mine OR e.seq > head.upto OR e.action IN ('erase', 'import') OR e.at > extract(epoch FROM now() - interval '30 days') * 1000000))
        OR EXISTS (SELECT 1 FROM tenet.trail t WHERE t.scope = of AND t.seq = ANY (gone))
        OR EXISTS (SELECT 1 FROM tenet.records t WHERE t.scope = of AND (t.seq = ANY (gone) OR t.closed_seq = ANY (gone) OR t.expired_seq = ANY (gone)))
        OR EXISTS (SELECT 1 FROM tenet.held t WHERE t.scope = of AND (t.seq = ANY (gone) OR t.settled_seq = ANY (gone) OR t.aged_seq = ANY (gone)))
        OR EXISTS (SELECT 1 FROM tenet.evidence t WHERE t.scope = of AND t.seq = ANY (gone))
        OR EXISTS (SELECT 1 FROM tenet.corroborations t WHERE t.scope = of AND t.seq = ANY (gone))
        OR EXISTS (SELECT 1 FROM tenet.tombstones t WHERE t.scope = of AND t.seq = ANY (gone))
        OR EXISTS (SELECT 1 FROM tenet.stages t WHERE t.scope = of AND t.seq = ANY (gone))
        OR EXISTS (SELECT 1 FROM tenet.outcomes t WHERE t.scope = of AND t.seq = ANY (gone))
        OR EXISTS (SELECT 1 FROM tenet.retention t WHERE t.scope = of AND t.seq = ANY (gone))
        OR EXISTS (SELECT 1 FROM tenet.erased t WHERE t.scope = of AND t.by_seq = ANY (gone)) THEN
        RAISE EXCEPTION 'an entry is needed, or not old enough to go' USING ERRCODE = 'insufficient_privilege';
    END IF;
    UPDATE tenet.cuts SET upto = 0, body = NULL, sig = '' WHERE scope = of AND tenant = mine AND seq < head.seq;
    DELETE FROM tenet.cuts WHERE scope = of AND tenant = mine AND seq = ANY (gone);
    DELETE FROM tenet.chain WHERE scope = of AND tenant = mine AND seq = ANY (gone);
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN n;
END $$;
REVOKE ALL ON FUNCTION tenet.cut(bigint, bigint[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tenet.cut(bigint, bigint[]) TO tenet_app;
