-- What a scope keeps: believed records with their texts, but for the ended rest
-- of what was replaced, and the bytes of all texts. It moves with the rows, in
-- their transaction.
ALTER TABLE tenet.heads ADD COLUMN records bigint NOT NULL DEFAULT 0;
ALTER TABLE tenet.heads ADD COLUMN bytes bigint NOT NULL DEFAULT 0;
-- The owner fills them in for every tenant; guard.sql forces row security again.
ALTER TABLE tenet.heads NO FORCE ROW LEVEL SECURITY;
ALTER TABLE tenet.records NO FORCE ROW LEVEL SECURITY;
UPDATE tenet.heads h SET records = k.records, bytes = k.bytes
    FROM (SELECT scope, count(*) FILTER (WHERE sys_to = 9223372036854775807 AND NOT expired AND (fragment_of = '' OR valid_to = 9223372036854775807)) AS records, sum(size)::bigint AS bytes
        FROM tenet.records GROUP BY scope) k
    WHERE k.scope = h.scope;
