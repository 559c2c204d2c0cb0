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
    FOREACH t IN ARRAY ARRAY['heads', 'chain', 'sessions', 'proposals', 'records', 'blobs', 'vectors', 'held', 'staged'] LOOP
        EXECUTE format('DROP POLICY IF EXISTS worker ON tenet.%I', t);
        EXECUTE format('CREATE POLICY worker ON tenet.%I TO tenet_worker USING (true)', t);
    END LOOP;
END $$;
GRANT SELECT ON tenet.heads, tenet.chain TO tenet_worker;
GRANT SELECT (tenant, scope, sid, created_at, ended_at, length, consolidated, due_at, attempts, worker, fence, lease_until, expires_at),
    UPDATE (lease_until) ON tenet.sessions TO tenet_worker; -- the right to update is what FOR UPDATE asks for
GRANT SELECT (tenant, scope, sid) ON tenet.proposals TO tenet_worker;
GRANT SELECT (tenant, scope, id, expires_at, expired, added, removed, placed) ON tenet.records TO tenet_worker;
GRANT SELECT (tenant, scope, expires_at) ON tenet.blobs TO tenet_worker;
GRANT SELECT (tenant, scope, seq, expires_at, kept, state) ON tenet.held TO tenet_worker;
GRANT SELECT (tenant, scope, sid) ON tenet.staged TO tenet_worker;
GRANT SELECT (tenant, scope, record, space) ON tenet.vectors TO tenet_worker;
