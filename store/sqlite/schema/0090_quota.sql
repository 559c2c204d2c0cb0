-- What a scope keeps: believed records with their texts, but for the ended rest
-- of what was replaced, and the bytes of all texts. It moves with the rows, in
-- their transaction.
ALTER TABLE heads ADD COLUMN records INTEGER NOT NULL DEFAULT 0;
ALTER TABLE heads ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
UPDATE heads SET
    records = (SELECT count(*) FROM records r WHERE r.scope = heads.scope AND r.sys_to = 9223372036854775807 AND r.expired = 0
        AND (r.fragment_of = '' OR r.valid_to = 9223372036854775807)),
    bytes = (SELECT ifnull(sum(r.size), 0) FROM records r WHERE r.scope = heads.scope);
