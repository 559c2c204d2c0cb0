-- The label of the record, by which the search among vectors keeps the lanes of
-- trust apart. 0: not looked up yet; that search does it before it makes an index.
ALTER TABLE tenet.vectors ADD COLUMN label smallint NOT NULL DEFAULT 0;
