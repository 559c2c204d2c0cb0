package memory_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/store/sqlite"
)

// chatter is an invented chat whose words are as unevenly common as real ones.
func chatter(r *rand.Rand, n int) []string {
	words := make([]string, 4000)
	for i := range words {
		var b strings.Builder
		for range 2 + r.IntN(3) {
			b.WriteByte("bcdfghjklmnprstvw"[r.IntN(17)])
			b.WriteByte("aeiou"[r.IntN(5)])
		}
		words[i] = b.String()
	}
	small := strings.Fields("the a to and of I you it was in that is for on with my so we have at but they")
	zipf := rand.NewZipf(r, 1.1, 8, uint64(len(words)-1))
	out := make([]string, n)
	for i := range out {
		var b strings.Builder
		for j := range 8 + r.IntN(18) {
			if j > 0 {
				b.WriteByte(' ')
			}
			if r.IntN(2) == 0 {
				b.WriteString(small[r.IntN(len(small))])
			} else {
				b.WriteString(words[zipf.Uint64()])
			}
		}
		out[i] = b.String() + "."
	}
	return out
}

// fill brings n turns into Sarah's memory, in sessions of fifty.
func (e *engine) fill(t *testing.T, texts []string) {
	t.Helper()
	for i := 0; i < len(texts); i += 50 {
		s, err := e.Session(t.Context(), e.app, e.sarah, tenet.SessionID(fmt.Sprintf("s%d", i)))
		if err != nil {
			t.Fatal(err)
		}
		var ms []tenet.Message
		for j, text := range texts[i:min(i+50, len(texts))] {
			ms = append(ms, tenet.Message{Role: tenet.RoleUser, Speaker: []string{"Sarah", "Tom"}[j%2], Text: text})
		}
		if _, err := s.Append(t.Context(), ms...); err != nil {
			t.Fatal(err)
		}
		if err := s.EndLater(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(300 * time.Millisecond) // consolidation gives way to whoever spoke just now
	for more := true; more; {
		var err error
		if _, more, err = e.ConsolidateOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

type speed struct {
	n                  int
	p50, p99           time.Duration
	noop50, noop99     time.Duration // the ledger's position alone
	cold, build, bytes float64       // ms to the first answer; us and bytes an entry
}

func quantiles(l []time.Duration) (p50, p99 time.Duration) {
	slices.Sort(l)
	return l[len(l)/2], l[len(l)*99/100]
}

// TestRecallThroughTheEngineIsFast measures warm recall on the SQLite ledger,
// model-free, the sequence check included, with the check alone as a no-op in
// the same run; and the cold start. TENET_BENCH_RECALL=1, on a quiet machine
// (11 for the first two sizes, 111 for three); TENET_PLOT=FILE draws it.
func TestRecallThroughTheEngineIsFast(t *testing.T) {
	if os.Getenv("TENET_BENCH_RECALL") == "" {
		t.Skip("TENET_BENCH_RECALL is not set")
	}
	load, _ := os.ReadFile("/proc/loadavg")
	t.Logf("load %s", strings.TrimSpace(string(load)))
	var all []speed
	sizes := []int{1000, 6000, 20_000, 60_000, 200_000}
	if v := os.Getenv("TENET_BENCH_RECALL"); len(v) > 1 {
		sizes = sizes[:min(len(sizes), len(v))]
	}
	for _, n := range sizes {
		b := backend{"sqlite", func(t *testing.T) stores {
			db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "tenet.db"), sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { db.Close() })
			return stores{db, db}
		}}
		e := newEngine(t, b, nil)
		r := rand.New(rand.NewPCG(uint64(n), 1))
		texts := chatter(r, n+500)
		e.fill(t, texts[:n])
		s := e.measure(t, n, texts[n:])
		all = append(all, s)
		t.Logf("%7d entries: recall p50 %v p99 %v; no-op p50 %v p99 %v; cold %.0f ms, %.1f us and %.0f bytes an entry",
			s.n, s.p50, s.p99, s.noop50, s.noop99, s.cold, s.build, s.bytes)
		for _, limit := range []struct {
			n        int
			p50, p99 time.Duration
		}{{6000, 60 * time.Microsecond, 2 * time.Millisecond}, {60_000, 400 * time.Microsecond, 2 * time.Millisecond}} {
			if n == limit.n && (s.p50 > limit.p50 || s.p99 > limit.p99) {
				t.Errorf("%d entries: p50 %v p99 %v, the limits are %v and %v", n, s.p50, s.p99, limit.p50, limit.p99)
			}
		}
		if n >= 6000 && (s.bytes > 1024 || s.build > 20) { // below, the fixed part shows
			t.Errorf("%d entries: %.0f bytes and %.1f us an entry, the limits are 1024 and 20", n, s.bytes, s.build)
		}
	}
	if path := os.Getenv("TENET_PLOT"); path != "" {
		if err := os.WriteFile(path, []byte(growth(all)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (e *engine) measure(t *testing.T, n int, questions []string) speed {
	t.Helper()
	s := speed{n: n}
	heap := func() float64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	fresh, err := memory.Open(t.Context(), memory.Config{Ledger: e.ledger, Sessions: e.sessions, Gate: newGate(), Now: e.now})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(q string) {
		if _, err := fresh.Recall(t.Context(), e.app, q, memory.RecallOptions{}, e.sarah); err != nil {
			t.Fatal(err)
		}
	}
	before, started := heap(), time.Now()
	ask(questions[0])
	s.cold = float64(time.Since(started).Microseconds()) / 1000
	s.build = 1000 * s.cold / float64(n)
	for i := range questions { // a question of six words, not a whole turn
		questions[i] = strings.Join(strings.Fields(questions[i])[:6], " ")
	}
	for _, q := range questions[:20] { // before the log of late recalls fills, which is the process's
		ask(q)
	}
	s.bytes = (heap() - before) / float64(n)
	for range 3 {
		for _, q := range questions {
			ask(q)
		}
	}
	var recall, noop []time.Duration
	for range 6 {
		for _, q := range questions {
			started := time.Now()
			ask(q)
			recall = append(recall, time.Since(started))
			started = time.Now()
			if _, err := e.ledger.Head(t.Context(), e.sarah); err != nil {
				t.Fatal(err)
			}
			noop = append(noop, time.Since(started))
		}
	}
	s.p50, s.p99 = quantiles(recall)
	s.noop50, s.noop99 = quantiles(noop)
	runtime.KeepAlive(fresh)
	return s
}

// TestRecallBesideTheDatabasesOwnSearch measures warm recall among 6,000 turns
// on the PostgreSQL ledger by 1, 8 and 64 clients, in turns with the same turns
// searched by hand: a tsvector under a GIN index, one SELECT ranked by ts_rank_cd.
// The scope's position alone is the point select that recall adds to its search.
func TestRecallBesideTheDatabasesOwnSearch(t *testing.T) {
	dsn := os.Getenv("TENET_TEST_POSTGRES")
	if os.Getenv("TENET_BENCH_RECALL") == "" || dsn == "" {
		t.Skip("make bench-recall-postgres")
	}
	const n = 6000
	e := newEngine(t, backend{"postgres", func(t *testing.T) stores { return openPostgres(t, dsn) }}, nil)
	texts := chatter(rand.New(rand.NewPCG(n, 1)), n+500)
	e.fill(t, texts[:n])
	hand, err := pgxpool.New(t.Context(), dsn+"&pool_max_conns=8")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hand.Close)
	table := fmt.Sprintf("hand_%d", os.Getpid())
	t.Cleanup(func() { hand.Exec(context.Background(), "DROP TABLE "+table) })
	for _, q := range []string{
		"CREATE TABLE " + table + " (subject text, id bigint, body text, words tsvector GENERATED ALWAYS AS (to_tsvector('english', body)) STORED, PRIMARY KEY (subject, id))",
		"CREATE INDEX ON " + table + " USING gin (words)",
	} {
		if _, err := hand.Exec(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	rows := make([][]any, n)
	for i, text := range texts[:n] {
		rows[i] = []any{"sarah", int64(i), text}
	}
	if _, err := hand.CopyFrom(t.Context(), pgx.Identifier{table}, []string{"subject", "id", "body"}, pgx.CopyFromRows(rows)); err != nil {
		t.Fatal(err)
	}
	if _, err := hand.Exec(t.Context(), "VACUUM ANALYZE "+table); err != nil {
		t.Fatal(err)
	}
	questions := make([]string, 500)
	for i, text := range texts[n:] {
		questions[i] = strings.Join(strings.Fields(text)[:6], " ")
	}
	sides := []func(context.Context, string) error{
		func(ctx context.Context, q string) error {
			_, err := e.Recall(ctx, e.app, q, memory.RecallOptions{}, e.sarah)
			return err
		},
		func(ctx context.Context, q string) error {
			rs, err := hand.Query(ctx, "SELECT id, body, ts_rank_cd(words, q) AS score FROM "+table+
				", websearch_to_tsquery('english', $2) q WHERE subject = $1 AND words @@ q ORDER BY score DESC, id LIMIT 10", "sarah", strings.ReplaceAll(q, " ", " or "))
			if err != nil {
				return err
			}
			for rs.Next() {
			}
			return rs.Err()
		},
		func(ctx context.Context, _ string) error {
			_, err := e.ledger.Head(ctx, e.sarah)
			return err
		},
	}
	load, _ := os.ReadFile("/proc/loadavg")
	t.Logf("load %s", strings.TrimSpace(string(load)))
	for _, clients := range []int{1, 8, 64} {
		took := make([][3][]time.Duration, clients)
		var wg sync.WaitGroup
		for c := range clients {
			wg.Go(func() {
				for i := c; i < 3000; i += clients {
					for k, ask := range sides {
						began := time.Now()
						if err := ask(t.Context(), questions[i%len(questions)]); err != nil {
							t.Error(err)
							return
						}
						took[c][k] = append(took[c][k], time.Since(began))
					}
				}
			})
		}
		wg.Wait()
		var p50 [3]time.Duration
		for k := range sides {
			var all []time.Duration
			for c := range took {
				all = append(all, took[c][k]...)
			}
			if len(all) == 0 {
				t.FailNow()
			}
			p50[k], _ = quantiles(all)
		}
		ratio := float64(p50[0]) / float64(p50[1])
		t.Logf("%2d clients: recall p50 %v, by hand %v: %.2f; the position alone %v", clients, p50[0], p50[1], ratio, p50[2])
		if ratio > 1.5 {
			t.Errorf("more than 1.5 times the search by hand")
		}
	}
}

// growth draws latency over entries, both logarithmic.
func growth(all []speed) string {
	const w, h, left, top = 560, 320, 70, 40
	x := func(n float64) float64 { return left + (math.Log10(n)-3)/2.4*(w-left-20) }
	y := func(us float64) float64 { return top + (4-math.Log10(max(us, 1)))/4*(h-top-40) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11"><rect width="100%%" height="100%%" fill="white"/>`+"\n", w, h)
	fmt.Fprintf(&b, `<text x="%d" y="20" font-size="14">Recall on the SQLite ledger, one core: microseconds by entries</text>`+"\n", left)
	for e := range 5 {
		v := math.Pow10(e)
		fmt.Fprintf(&b, `<line x1="%d" x2="%d" y1="%.0f" y2="%.0f" stroke="#ddd"/><text x="%d" y="%.0f" text-anchor="end">%.0f us</text>`+"\n", left, w-20, y(v), y(v), left-6, y(v)+4, v)
	}
	for i, line := range []struct {
		name, colour string
		of           func(speed) time.Duration
	}{
		{"p50", "#08519c", func(s speed) time.Duration { return s.p50 }}, {"p99", "#de2d26", func(s speed) time.Duration { return s.p99 }},
		{"no-op p50 (the sequence check alone)", "#888", func(s speed) time.Duration { return s.noop50 }},
	} {
		var points []string
		for _, s := range all {
			us := float64(line.of(s).Nanoseconds()) / 1000
			points = append(points, fmt.Sprintf("%.0f,%.0f", x(float64(s.n)), y(us)))
			fmt.Fprintf(&b, `<text x="%.0f" y="%.0f" fill="%s" text-anchor="middle">%.0f</text>`+"\n", x(float64(s.n)), y(us)-6, line.colour, us)
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/><text x="%d" y="%d" fill="%s">%s</text>`+"\n",
			strings.Join(points, " "), line.colour, left+10+110*i, h-8, line.colour, line.name)
	}
	for _, s := range all {
		fmt.Fprintf(&b, `<text x="%.0f" y="%d" text-anchor="middle">%d</text>`+"\n", x(float64(s.n)), h-26, s.n)
	}
	b.WriteString("</svg>\n")
	return b.String()
}
