-- A sealed database: the id of the vault that its data keys are in; NULL: it is
-- not sealed. Then data_key is empty, external_id is a keyed digest and name
-- the sealed name.
ALTER TABLE tenet.meta ADD COLUMN vault bytea;
ALTER TABLE tenet.subjects ADD COLUMN name text NOT NULL DEFAULT '';

-- Erased subjects whose data keys are still to be destroyed.
CREATE TABLE tenet.shreds (
    scope bigint PRIMARY KEY
);
GRANT SELECT, INSERT, DELETE ON tenet.shreds TO tenet_app, tenet_worker;
