package policy

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// candidates300 are candidates of about 300 bytes made of the corpora's texts:
// shorter ones are joined, longer ones left out.
func candidates300(t testing.TB) []string {
	var out []string
	var b strings.Builder
	for _, file := range []string{"benign_memory", "attack_direct", "attack_memory", "attack_indirect", "memshield_bench", "benign_general"} {
		for _, r := range readRows(t, filepath.Join(dataDir(t), "gate", file+".jsonl")) {
			if len(r.Text) > 320 {
				continue
			}
			if b.Len()+len(r.Text) > 330 {
				out = append(out, b.String())
				b.Reset()
			}
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(r.Text)
		}
	}
	return out
}

// noop is a gate's rule that finds nothing, to measure what the gate itself costs.
type noop struct{}

func (noop) Version() string                    { return "noop" }
func (noop) Check(gate.Proposal) []gate.Finding { return nil }

func percentile(ds []time.Duration, p int) time.Duration {
	return ds[min(len(ds)-1, len(ds)*p/100)]
}

// judgeAll judges each text once and returns the sorted times.
func judgeAll(tb testing.TB, g *gate.Gate, texts []string) []time.Duration {
	scope, _ := tenet.NewScope("acme", tenet.User("sarah"))
	app, _ := tenet.NewPrincipal(tenet.App, "acme", "app")
	at := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	ds := make([]time.Duration, 0, len(texts))
	for _, text := range texts {
		c := tenet.Fact(scope, "memo", text).Quoting(text)
		c.ID = "c"
		best := time.Duration(1 << 62)
		for range 5 { // the best of five: the machine is shared
			start := time.Now()
			if _, err := g.Judge(gate.Case{By: app, Candidate: c, At: at}); err != nil {
				tb.Fatal(err)
			}
			best = min(best, time.Since(start))
		}
		ds = append(ds, best)
	}
	slices.Sort(ds)
	return ds
}

// TestCostPerCandidate prints what a judgement costs beside a gate without
// rules, in one run on one core. The floors hold for the difference, with
// room for a busy machine.
func TestCostPerCandidate(t *testing.T) {
	texts := candidates300(t)
	judgeAll(t, gate.New(Default()), texts) // compiles what is compiled when first needed
	with, bare := judgeAll(t, gate.New(Default()), texts), judgeAll(t, gate.New([]gate.Rule{noop{}}), texts)
	p50, p99 := percentile(with, 50)-percentile(bare, 50), percentile(with, 99)-percentile(bare, 99)
	t.Logf("n %d: with policy p50 %v p99 %v; no-op p50 %v p99 %v; policy alone p50 %v p99 %v max %v",
		len(texts), percentile(with, 50), percentile(with, 99), percentile(bare, 50), percentile(bare, 99), p50, p99, with[len(with)-1])
	if p50 > 4*50*time.Microsecond || p99 > 4*500*time.Microsecond {
		t.Error("four times over the floors of 50 us and 500 us")
	}
}

// TestHostileInputsAreBounded: nothing of candidate size takes long.
func TestHostileInputsAreBounded(t *testing.T) {
	p := builtin()
	inputs := slices.Clone(hostile)
	for _, unit := range costly(t) {
		inputs = append(inputs, strings.Repeat(unit, (2<<10)/len(unit)+1)[:2<<10])
	}
	for i, s := range append(inputs, strings.Repeat("1.2.3.4 12-34-56 ", 120), strings.Repeat("-----begin private key password: ", 64), strings.Repeat("to=be:or ", 230)) {
		start := time.Now()
		p.Check(proposal("memo", s))
		if d := time.Since(start); d > 500*time.Millisecond {
			t.Errorf("input %d of %d bytes: %v", i, len(s), d)
		}
	}
}

func BenchmarkCheck300Bytes(b *testing.B) {
	texts := candidates300(b)
	p := builtin()
	prs := make([]gate.Proposal, len(texts))
	for i, s := range texts {
		prs[i] = proposal("memo", s)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		p.Check(prs[i%len(prs)])
		i++
	}
}

// long is a text of n bytes, made of the corpora or of what costs most.
func long(tb testing.TB, kind string, n int) string {
	unit := map[string]string{"words": "hello there friend ", "one run": "a", "keywords": "key= ", "keywords in a run": "key=eyjeyj", "tokens": "s.eyJhbGciOiJIUzI1NiIsInR5cCI6Ikp ", "signs": "secret: \"'= "}[kind]
	if unit == "" {
		unit = strings.Join(candidates300(tb), "\n") + "\n"
	}
	return strings.ToValidUTF8(strings.Repeat(unit, n/len(unit)+1)[:n], "")
}

var longKinds = []string{"corpora", "words", "one run", "keywords", "keywords in a run", "tokens", "signs"}

// TestScreeningIsLinear: a text is searched for secrets, and a message of 256
// KiB for wishes, in about the time that its four quarters take by themselves:
// were the time to grow with the square, it would be four times that. The
// quarters take long enough to be measured: secrets are looked for in more text
// and wishes more often until they do. The benchmark below is of 1 MiB.
func TestScreeningIsLinear(t *testing.T) {
	const enough = 80 * time.Millisecond
	Redact("compile what is compiled when first needed: key=x")
	for _, kind := range longKinds {
		took := func(n, times int, screen func(string)) (quarters, whole time.Duration) {
			text := long(t, kind, n)
			measured := func(parts int) time.Duration {
				start := time.Now()
				for range times {
					for i := range parts {
						screen(text[len(text)*i/parts : len(text)*(i+1)/parts])
					}
				}
				return time.Since(start)
			}
			quarters, whole = 1<<62, 1<<62
			for range 3 { // in turn, so that what else runs meets both
				quarters, whole = min(quarters, measured(4)), min(whole, measured(1))
			}
			return quarters, whole
		}
		linear := func(what string, n, times int, quarters, whole time.Duration) {
			t.Logf("%-18s %s %5d KiB %d times: quarters %v, whole %v: %.2f", kind, what, n>>10, times, quarters, whole, float64(whole)/float64(quarters))
			if whole > 2*quarters {
				t.Errorf("%s: %s in %d KiB take %v, in its quarters %v", kind, what, n>>10, whole, quarters)
			}
		}
		n := 256 << 10
		if kind == "corpora" {
			n = 2 << 20 // so that every quarter holds all of them: some cost more than others
		}
		quarters, whole := took(n, 1, func(s string) { Redact(s) })
		for quarters < enough && n < 8<<20 {
			n *= 2
			quarters, whole = took(n, 1, func(s string) { Redact(s) })
		}
		linear("secrets", n, 1, quarters, whole)
		times := 1
		quarters, whole = took(wishReach, times, func(s string) { Retention(s) })
		for quarters < enough {
			times *= 2
			quarters, whole = took(wishReach, times, func(s string) { Retention(s) })
		}
		linear("wishes", wishReach, times, quarters, whole)
	}
}

func BenchmarkScreen1MiB(b *testing.B) {
	for _, kind := range longKinds {
		text := long(b, kind, 1<<20)
		b.Run(kind, func(b *testing.B) {
			for b.Loop() {
				Redact(text)
				Retention(text)
			}
		})
	}
}
