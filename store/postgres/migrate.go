package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/sealing"
)

//go:embed schema/*.sql
var schema embed.FS

// versions are the numbered files of schema, in order. guard.sql is run after
// the last of them.
func versions() (names []string) {
	files, _ := schema.ReadDir("schema")
	for _, f := range files {
		if f.Name()[0] == '0' {
			names = append(names, f.Name())
		}
	}
	return names
}

// migrating is the advisory lock under which the schema changes ("TNET").
const migrating = 0x544e4554

// migrate checks the schema and the master key, and brings an older schema up
// to date. It is not goose: the version is read and written in the transaction
// that changes the tables, under the lock, which works through a proxy too.
func (db *DB) migrate(ctx context.Context, partitions int, v store.Vault) error {
	if err := db.apart(ctx, v); err != nil {
		return err
	}
	want := len(versions())
	have, k, err := db.version(ctx, db.pool)
	if err != nil {
		return err
	}
	if have != want {
		if err := db.upgrade(ctx, partitions, v); err != nil {
			return err
		}
		if _, k, err = db.version(ctx, db.pool); err != nil {
			return err
		}
	}
	if err := db.useKey(k); err != nil {
		return err
	}
	return db.findVault(ctx, k.vault, v)
}

type querier interface {
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
}

// version reads the schema's version and the check of its master key. It
// refuses what is newer, or another program's. The login itself may not look
// into the tables, so it asks as the application would.
func (db *DB) version(ctx context.Context, q querier) (have int, k keyRow, err error) {
	const op = "open"
	want := len(versions())
	var made, ours bool
	if err := q.QueryRow(ctx, `SELECT to_regnamespace('tenet') IS NOT NULL,
		EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace WHERE s.nspname = 'tenet' AND c.relname = 'meta')`).Scan(&made, &ours); err != nil {
		return 0, k, err
	}
	switch {
	case !made:
		return 0, k, nil
	case !ours:
		return 0, k, tenet.Errorf(tenet.Unavailable, op, "the database has a schema named tenet that is another program's")
	}
	// An older schema has no secret and no vault yet: then they are read as none.
	err = q.QueryRow(ctx, `SELECT version, key_check, decode(substr(to_jsonb(m) ->> 'secret', 3), 'hex'), decode(substr(to_jsonb(m) ->> 'vault', 3), 'hex')
		FROM tenet.meta m`).Scan(&have, &k.check, &k.kept, &k.vault)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, k, tenet.Errorf(tenet.Unavailable, op, "the schema tenet is damaged: it has no version")
	case err != nil:
		return 0, k, err
	case have > want:
		return 0, k, tenet.Errorf(tenet.Unavailable, op, "the database has schema %d and this version knows %d: upgrade Tenet", have, want)
	}
	return have, k, nil
}

func (db *DB) upgrade(ctx context.Context, partitions int, v store.Vault) error {
	const op = "open"
	tx, err := db.pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(migrating)); err != nil {
		return err
	}
	have, _, err := db.version(ctx, tx)
	if err != nil {
		return err
	}
	files := versions()
	if have == len(files) {
		return nil // another process was first
	}
	script := roles
	if have == 0 {
		var may bool
		if err := tx.QueryRow(ctx, `SELECT has_database_privilege(current_database(), 'CREATE')`).Scan(&may); err != nil {
			return err
		}
		if !may {
			return tenet.Errorf(tenet.Unavailable, op, "the database has no Tenet schema and the login may not make one: open it once as the database's owner")
		}
		if v != nil {
			if err := sealing.Unused(ctx, v); err != nil {
				return err
			}
		}
		script += fmt.Sprintf("CREATE SCHEMA tenet; CREATE EXTENSION IF NOT EXISTS btree_gist;\n"+
			"CREATE TABLE tenet.meta (one int PRIMARY KEY CHECK (one = 1), version int NOT NULL, partitions int NOT NULL, key_check bytea NOT NULL);\n"+
			"INSERT INTO tenet.meta VALUES (1, 0, %d, '\\x%x');\n", partitions, db.master().Check())
	} else if err := tx.QueryRow(ctx, `SELECT partitions FROM tenet.meta`).Scan(&partitions); err != nil {
		return err
	}
	hash := ""
	if partitions > 0 {
		hash = "PARTITION BY HASH (scope)"
	}
	for _, name := range append(files[have:], "guard.sql") {
		text, err := schema.ReadFile("schema/" + name)
		if err != nil {
			return err
		}
		if name == "guard.sql" {
			script += fmt.Sprintf(split, partitions, partitions) + apart
		}
		script += strings.ReplaceAll(string(text), "/*hash*/", hash)
	}
	script += fmt.Sprintf("UPDATE tenet.meta SET version = %d;\n", len(files))
	if have == 0 && v != nil {
		script += fmt.Sprintf("UPDATE tenet.meta SET vault = '\\x%x';\n", v.ID())
	}
	if _, err := tx.Conn().PgConn().Exec(ctx, script).ReadAll(); err != nil {
		var pe *pgconn.PgError
		if errors.As(err, &pe) && pe.Code == insufficientPrivilege {
			return tenet.Errorf(tenet.Unavailable, op, "the schema is version %d, this version needs %d, and the login may not change it: open it once as the schema's owner, with the right to create roles", have, len(files))
		}
		return err
	}
	return tx.Commit(ctx)
}

// roles makes the two roles, which belong to the whole server: another
// database may have made them, or be about to.
const roles = `
DO $$
DECLARE r text;
BEGIN
    FOREACH r IN ARRAY ARRAY['tenet_app', 'tenet_worker'] LOOP
        IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = r) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN NOINHERIT', r);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
            END;
        END IF;
        IF NOT pg_has_role(current_user, r, 'MEMBER') THEN
            EXECUTE format('GRANT %I TO CURRENT_USER', r);
        END IF;
    END LOOP;
END $$;
`

// split makes the parts of tables that are to be split and have none.
const split = `
DO $$
DECLARE t record;
BEGIN
    FOR t IN SELECT c.relname AS name FROM pg_class c WHERE c.relnamespace = 'tenet'::regnamespace AND c.relkind = 'p'
        AND NOT EXISTS (SELECT 1 FROM pg_inherits i WHERE i.inhparent = c.oid) LOOP
        FOR i IN 0 .. %d - 1 LOOP
            EXECUTE format('CREATE TABLE tenet.%%I PARTITION OF tenet.%%I FOR VALUES WITH (MODULUS %d, REMAINDER %%s)', t.name || '_p' || i, t.name, i);
        END LOOP;
    END LOOP;
END $$;
`

// apart forbids that two believed values of a single-valued key are true at
// one time. Before version 17 PostgreSQL has no exclusion constraint on a
// partitioned table, but a scope is in one part, so each part may have its own.
const apart = `
DO $$
DECLARE t record;
BEGIN
    FOR t IN SELECT c.oid::regclass AS name, c.relname || '_apart' AS guard FROM pg_class c WHERE c.relkind = 'r'
        AND (c.oid = 'tenet.records'::regclass OR EXISTS (SELECT 1 FROM pg_inherits i WHERE i.inhrelid = c.oid AND i.inhparent = 'tenet.records'::regclass))
        AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conrelid = c.oid AND k.conname = c.relname || '_apart') LOOP
        EXECUTE format('ALTER TABLE %s ADD CONSTRAINT %I
            EXCLUDE USING gist (scope WITH =, tier WITH =, key WITH =, int8range(valid_from, valid_to) WITH &&)
            WHERE (tier IN (1, 4) AND NOT multi AND sys_to = 9223372036854775807)', t.name, t.guard);
    END LOOP;
END $$;
`
