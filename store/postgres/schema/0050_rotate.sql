-- What digests are made with, sealed under the master key; NULL before the first
-- rotation: the master key itself.
ALTER TABLE tenet.meta ADD COLUMN secret bytea;
