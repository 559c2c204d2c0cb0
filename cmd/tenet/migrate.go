package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/schollz/progressbar/v3"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store/postgres"
	"github.com/tenet-memory/tenet/store/sqlite"
)

// migrateCmd copies a SQLite file into an empty PostgreSQL database, subject by
// subject, each in one transaction: begun again after a failure it goes on.
// Nothing is opened on the way - sealed values stay sealed, so both have the
// same master key. At the end every row is compared, and every chain verified on
// both sides.
type migrateCmd struct {
	From       string `required:"" placeholder:"DSN" help:"What to copy: a file, sqlite://..."`
	To         string `required:"" placeholder:"DSN" help:"Where to: postgres://..."`
	Partitions int    `help:"Split the tables by subject into so many parts when they are made."`
}

// migrated is what a copy came to.
type migrated struct {
	Subjects int            `json:"subjects"`
	Skipped  int            `json:"there_already"`
	Rows     map[string]int `json:"rows"`
	Differ   []string       `json:"differ"`
	Verified int            `json:"chains_verified"`
}

func (c migrateCmd) Run(a *app) error {
	const op = "migrate-store"
	from, err := parseDSN(c.From)
	if err != nil {
		return err
	}
	to, err := parseDSN(c.To)
	if err != nil {
		return err
	}
	if from.scheme != "sqlite" || to.scheme != "postgres" {
		return tenet.Errorf(tenet.Invalid, "usage", "it copies from a file (sqlite://...) to postgres://...")
	}
	if a.set.vault.path != "" {
		return tenet.Errorf(tenet.Invalid, op, "it copies what is not sealed to what is not sealed: export each tenant and import it where a vault is")
	}
	if err := a.unwrapKeys(); err != nil {
		return err
	}
	src, err := sqlite.Open(a.ctx, from.path, sqlite.Options{MasterKey: a.set.masterKey})
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := postgres.Open(a.ctx, to.path, postgres.Options{MasterKey: src.Master(), Partitions: c.Partitions})
	if err != nil {
		return err
	}
	defer dst.Close()
	if kept := src.Kept(); kept != nil {
		if err := dst.Adopt(a.ctx, kept); err != nil {
			return err
		}
	}
	m := &migration{app: a, src: src, dst: dst, out: migrated{Rows: map[string]int{}, Differ: []string{}}}
	if err := m.run(); err != nil {
		return err
	}
	err = a.print(m.out, func() {
		a.printf("%d subjects (%d were there already), %d chains verified on both sides\n", m.out.Subjects, m.out.Skipped, m.out.Verified)
		if len(a.set.masterKey) == 0 {
			a.printf("set master_key to the 64 digits of %s.key for whoever opens the copy\n", from.path)
		}
	})
	if err == nil && len(m.out.Differ) > 0 {
		err = tenet.Errorf(tenet.Conflict, op, "the two differ in %d places (%s first): stop what writes to the file, empty the target and begin again", len(m.out.Differ), m.out.Differ[0])
	}
	return err
}

type migration struct {
	*app
	src    *sqlite.DB
	dst    *postgres.DB
	tables []postgres.Table
	out    migrated
	keyed  []string // tenants of keys: not all have a subject
	last   int64    // highest place in the order of writing
}

// page is how many subjects are looked up at a time.
const page = 100

func (m *migration) run() (err error) {
	if m.tables, err = m.dst.Tables(m.ctx); err != nil {
		return err
	}
	var scopes []int64
	tenants := map[int64]string{}
	for after := int64(math.MinInt64); ; {
		some, theirs, err := m.src.Surrogates(m.ctx, after, page)
		if err != nil {
			return err
		}
		for _, s := range some {
			tenants[s] = theirs[s]
		}
		scopes = append(scopes, some...)
		if len(some) < page {
			break
		}
		after = some[len(some)-1]
	}
	m.out.Subjects = len(scopes)
	bar := progressbar.NewOptions(2*len(scopes)+1, progressbar.OptionSetWriter(m.err), progressbar.OptionSetDescription("copying"),
		progressbar.OptionSetVisibility(!m.json && terminal(m.err)), progressbar.OptionClearOnFinish())
	defer bar.Finish()
	if err := m.copy("", nil); err != nil {
		return err
	}
	for _, s := range scopes {
		there, err := m.dst.Holds(m.ctx, s, tenants[s])
		if err != nil {
			return err
		}
		if there {
			m.out.Skipped++
		} else if err := m.copy(tenants[s], &s); err != nil {
			return err
		}
		bar.Add(1)
	}
	bar.Describe("comparing")
	if err := m.compare("", nil); err != nil {
		return err
	}
	for _, s := range scopes {
		if err := m.compare(tenants[s], &s); err != nil {
			return err
		}
		bar.Add(1)
	}
	if err := m.dst.Resume(m.ctx, m.last); err != nil {
		return err
	}
	return m.verify(tenants)
}

// copy brings what belongs to one subject, or to none, in one transaction.
func (m *migration) copy(tenant string, scope *int64) error {
	if scope == nil {
		return m.copyShared()
	}
	return m.dst.Fill(m.ctx, tenant, func(put func(postgres.Table, []any) error) error {
		for _, t := range m.tables {
			if !t.Scoped {
				continue
			}
			if err := m.src.Rows(m.ctx, t.Name, t.Columns, scope, func(values []any) error { return put(t, values) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// copyShared brings what is no subject's: keys by tenant, names of vector
// spaces, and the marks of what is gone.
func (m *migration) copyShared() error {
	for _, t := range m.tables {
		if t.Scoped {
			continue
		}
		at := -1
		for i, c := range t.Columns {
			if c == "tenant" {
				at = i
			}
		}
		if err := m.src.Rows(m.ctx, t.Name, t.Columns, nil, func(values []any) error {
			tenant := ""
			if at >= 0 {
				tenant, _ = values[at].(string)
				if t.Name == "keys" {
					m.keyed = append(m.keyed, tenant)
				}
			}
			return m.dst.Fill(m.ctx, tenant, func(put func(postgres.Table, []any) error) error { return put(t, values) })
		}); err != nil {
			return err
		}
	}
	return nil
}

// sum is a digest of rows in any order, with how many there are.
type sum struct {
	rows  int
	total [4]uint64
}

func (s *sum) add(values []any) {
	h := sha256.New()
	for _, v := range values {
		var b []byte
		kind := byte('-')
		switch v := v.(type) {
		case int64:
			kind, b = 'n', strconv.AppendInt(nil, v, 10)
		case string:
			kind, b = 't', []byte(v)
		case []byte:
			kind, b = 'b', v
		case nil:
		default:
			kind, b = '?', fmt.Append(nil, v)
		}
		h.Write(binary.BigEndian.AppendUint64([]byte{kind}, uint64(len(b))))
		h.Write(b)
	}
	d := h.Sum(nil)
	s.rows++
	for i := range s.total {
		s.total[i] += binary.BigEndian.Uint64(d[8*i:])
	}
}

// compare notes the tables whose rows are not the same on both sides.
func (m *migration) compare(tenant string, scope *int64) error {
	for _, t := range m.tables {
		if t.Scoped != (scope != nil) || t.Name == "keys" { // keys are the tenants'; their copy is compared below
			continue
		}
		var here, there sum
		order := -1
		for i, c := range t.Columns {
			if c == "n" || t.Name == "spaces" && c == "space" {
				order = i
			}
		}
		if err := m.src.Rows(m.ctx, t.Name, t.Columns, scope, func(values []any) error {
			if order >= 0 {
				n, _ := values[order].(int64)
				m.last = max(m.last, n)
			}
			here.add(values)
			return nil
		}); err != nil {
			return err
		}
		if err := m.dst.Rows(m.ctx, t, tenant, scope, func(values []any) error { there.add(values); return nil }); err != nil {
			return err
		}
		m.out.Rows[t.Name] += there.rows
		if here != there {
			m.out.Differ = append(m.out.Differ, fmt.Sprintf("%s: %d rows, copied %d", t.Name, here.rows, there.rows))
		}
	}
	return nil
}

// digest is the sum of keys.
func digest(keys []tenet.Key) (out sum) {
	for _, k := range keys {
		b, _ := json.Marshal(k) // strings and times
		out.add([]any{b, k.Hash})
	}
	return out
}

// verify recomputes every chain on both sides, and finds every key again.
func (m *migration) verify(tenants map[int64]string) error {
	seen := map[string]bool{}
	all := slices.Concat(slices.Collect(maps.Values(tenants)), m.keyed)
	for _, tenant := range all {
		if tenant == "" || seen[tenant] {
			continue
		}
		seen[tenant] = true
		here, err := m.src.KeysOf(m.ctx, tenant, "", math.MaxInt32)
		if err != nil {
			return err
		}
		there, err := m.dst.KeysOf(m.ctx, tenant, "", math.MaxInt32)
		if err != nil {
			return err
		}
		m.out.Rows["keys"] += len(there)
		// Their rows, not their number: one that was revoked after an earlier try
		// copied it would be valid in the target.
		if digest(here) != digest(there) {
			m.out.Differ = append(m.out.Differ, fmt.Sprintf("keys: %d rows, copied %d", len(here), len(there)))
		}
		var after tenet.Scope
		for {
			scopes, err := m.src.Scopes(m.ctx, tenant, after, page)
			if err != nil {
				return err
			}
			for _, s := range scopes {
				a, err := m.src.Verify(m.ctx, s)
				if err != nil {
					return err
				}
				b, err := m.dst.Verify(m.ctx, s)
				if err != nil {
					return err
				}
				if a != b || !b.OK() {
					m.out.Differ = append(m.out.Differ, "a chain")
				} else {
					m.out.Verified++
				}
			}
			if len(scopes) < page {
				break
			}
			after = scopes[len(scopes)-1]
		}
	}
	return nil
}
