package memory_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

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
