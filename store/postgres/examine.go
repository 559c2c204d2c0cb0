package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenet-memory/tenet"
)

// Health is what a server and its schema look like to a login.
type Health struct {
	Version     string
	Recent      bool // 15 or later
	Login       string
	Superuser   bool
	Owner       bool          // may change the schema
	Member      bool          // of both roles
	Durable     bool          // fsync, full_page_writes and synchronous_commit are on
	Skew        time.Duration // of the server's clock against this one
	Connections int           // that the server takes
	InRecovery  bool          // a standby: takes no writes

	Made, Ours       bool // the schema is there, and is Tenet's
	Schema, Want     int  // its version, and the one this program knows
	Partitions       int
	Unguarded        []string // tables with a tenant and without forced row-level security
	Leaks            bool     // the application's role reads rows without a tenant
	AlterableAudit   bool     // it may change or delete entries of the chain
	VectorInstalled  string   // version of the extension, empty: none
	VectorObtainable string
	VectorOld        bool // installed, and older than what Tenet can use
	Searched         int  // scopes whose vectors are searched in the database
	Broken           int  // indexes of vectors that a cut-off try left
}

// Examine looks at the database and changes nothing.
func Examine(ctx context.Context, dsn string) (Health, error) {
	const op = "examine"
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return Health{}, tenet.Errorf(tenet.Invalid, op, "the DSN does not parse")
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec // through a proxy, too
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return Health{}, failure(op, err)
	}
	defer c.Close(context.WithoutCancel(ctx))
	h, err := examine(ctx, c)
	return h, failure(op, err)
}

func examine(ctx context.Context, c *pgx.Conn) (Health, error) {
	h := Health{Want: len(versions())}
	var number int
	var fsync, pages, commit string
	err := c.QueryRow(ctx, `SELECT current_setting('server_version'), current_setting('server_version_num')::int, current_user::text,
		(SELECT rolsuper FROM pg_roles WHERE rolname = current_user), current_setting('fsync'), current_setting('full_page_writes'),
		current_setting('synchronous_commit'), current_setting('max_connections')::int, pg_is_in_recovery(), to_regnamespace('tenet') IS NOT NULL,
		EXISTS (SELECT 1 FROM pg_class k JOIN pg_namespace s ON s.oid = k.relnamespace WHERE s.nspname = 'tenet' AND k.relname = 'meta'),
		coalesce((SELECT extversion FROM pg_extension WHERE extname = 'vector'), ''),
		coalesce((SELECT default_version FROM pg_available_extensions WHERE name = 'vector'), ''),
		coalesce((SELECT bool_and(pg_has_role(current_user, oid, 'MEMBER')) AND count(*) = 2 FROM pg_roles WHERE rolname IN ('tenet_app', 'tenet_worker')), false)`,
	).Scan(&h.Version, &number, &h.Login, &h.Superuser, &fsync, &pages, &commit, &h.Connections, &h.InRecovery, &h.Made, &h.Ours,
		&h.VectorInstalled, &h.VectorObtainable, &h.Member)
	if err != nil {
		return h, err
	}
	h.Recent = number >= 150000
	h.VectorOld = h.VectorInstalled != "" && older(h.VectorInstalled)
	h.Durable = fsync == "on" && pages == "on" && commit != "off"
	began := time.Now()
	var there time.Time
	if err := c.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&there); err != nil {
		return h, err
	}
	trip := time.Since(began)
	if h.Skew = there.Sub(began.Add(trip / 2)); h.Skew.Abs() <= trip {
		h.Skew = 0
	}
	if !h.Ours {
		return h, nil
	}
	if err := c.QueryRow(ctx, `SELECT version, partitions, pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = 'tenet.meta'::regclass), 'MEMBER'),
		has_table_privilege('tenet_app', 'tenet.chain', 'UPDATE') OR has_table_privilege('tenet_app', 'tenet.chain', 'DELETE') FROM tenet.meta`,
	).Scan(&h.Schema, &h.Partitions, &h.Owner, &h.AlterableAudit); err != nil {
		return h, err
	}
	if err := c.QueryRow(ctx, `SELECT count(DISTINCT (string_to_array(k.relname, '_'))[2]) FILTER (WHERE x.indisvalid), count(*) FILTER (WHERE NOT x.indisvalid)
		FROM pg_class k JOIN pg_index x ON x.indexrelid = k.oid JOIN pg_am a ON a.oid = k.relam
		WHERE k.relnamespace = 'tenet'::regnamespace AND a.amname = 'hnsw' AND k.relname LIKE 'near\_%'`).Scan(&h.Searched, &h.Broken); err != nil {
		return h, err
	}
	rows, err := c.Query(ctx, `SELECT k.relname::text FROM pg_class k JOIN pg_attribute a ON a.attrelid = k.oid AND a.attname = 'tenant' AND NOT a.attisdropped
		WHERE k.relnamespace = 'tenet'::regnamespace AND k.relkind IN ('r', 'p') AND NOT k.relispartition AND NOT (k.relrowsecurity AND k.relforcerowsecurity) ORDER BY 1`)
	if err != nil {
		return h, err
	}
	if h.Unguarded, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil || !h.Member {
		return h, err
	}
	tx, err := c.Begin(ctx)
	if err != nil {
		return h, err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	if _, err := tx.Exec(ctx, `SET LOCAL ROLE tenet_app`); err != nil {
		return h, err
	}
	err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM tenet.subjects) OR EXISTS (SELECT 1 FROM tenet.records) OR EXISTS (SELECT 1 FROM tenet.messages)`).Scan(&h.Leaks)
	return h, err
}
