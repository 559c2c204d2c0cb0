-- A sealed database: the id of the vault that its data keys are in; NULL: it is
-- not sealed. Then data_key is empty, external_id is a keyed digest and name
-- the sealed name.
ALTER TABLE meta ADD COLUMN vault BLOB;
ALTER TABLE subjects ADD COLUMN name TEXT NOT NULL DEFAULT '';

-- Erased subjects whose data keys are still to be destroyed.
CREATE TABLE shreds (
    scope INTEGER PRIMARY KEY
) STRICT;
