package recall_test

import (
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/tenet-memory/tenet/recall"
)

// TestTune prints the tables of docs/tuning.md: what each part of the ranking is
// worth on every set, and the choice of weights by leave-one-conversation-out.
// It takes minutes: TENET_TUNE=1 go test -run TestTune -v ./recall
func TestTune(t *testing.T) {
	if os.Getenv("TENET_TUNE") == "" {
		t.Skip("TENET_TUNE is not set")
	}
	locomo := loadSet(t, "locomo")
	sets := []*dataset{locomo, locomo.sessions()}
	for _, name := range []string{"beam_100K_user", "lme_pool", "memdaily_zh", "xquad_en"} {
		sets = append(sets, loadSet(t, name))
	}
	row := func(name string, change func(*recall.Params), diversity recall.Diversity) {
		p := recall.DefaultParams()
		change(&p)
		var cells []float64
		for i, s := range sets {
			by, _ := s.measure(t, p, diversity)
			f := by[""]
			switch i {
			case 1:
				cells = append(cells, 100*f.hit1/f.n, 100*f.r10/f.n)
			case 5:
				cells = append(cells, 100*f.hit1/f.n)
			default:
				cells = append(cells, 100*f.r5/f.n, 100*f.r10/f.n)
			}
		}
		t.Logf("| %-28s | %5.1f / %5.1f | %5.1f / %5.1f | %5.1f / %5.1f | %5.1f / %5.1f | %5.1f / %5.1f | %5.1f |", append([]any{name}, anys(cells)...)...)
	}
	row("default", func(*recall.Params) {}, recall.Plain)
	row("collapse", func(*recall.Params) {}, recall.Collapse)
	row("spread", func(*recall.Params) {}, recall.Spread)
	row("collapse from .6", func(p *recall.Params) { p.NearDuplicate = 0.6 }, recall.Collapse)
	for _, c := range changes() {
		row(c.name, c.change, recall.Plain)
	}

	// Leave one conversation out, over the changes one at a time.
	tenants := slices.Sorted(maps.Keys(locomo.docs))
	scores := map[string]map[string]*figures{}
	for _, c := range append(changes(), change{"default", func(*recall.Params) {}}) {
		p := recall.DefaultParams()
		c.change(&p)
		scores[c.name] = map[string]*figures{}
		for _, tenant := range tenants {
			by, _ := locomo.only(tenant).measure(t, p, recall.Plain)
			scores[c.name][tenant] = by[""]
		}
	}
	var held figures
	for _, out := range tenants {
		best, top := "", 0.0
		for _, name := range slices.Sorted(maps.Keys(scores)) {
			var sum figures
			for _, tenant := range tenants {
				if f := scores[name][tenant]; tenant != out {
					sum.n, sum.r5, sum.r10 = sum.n+f.n, sum.r5+f.r5, sum.r10+f.r10
				}
			}
			if v := (sum.r5 + sum.r10) / sum.n; v > top {
				best, top = name, v
			}
		}
		f := scores[best][out]
		held.n, held.r5, held.r10 = held.n+f.n, held.r5+f.r5, held.r10+f.r10
		t.Logf("without %s: %s; there R@5 %.4f R@10 %.4f", out, best, f.r5/f.n, f.r10/f.n)
	}
	t.Logf("held out: R@5 %.4f R@10 %.4f n %.0f", held.r5/held.n, held.r10/held.n, held.n)
}

type change struct {
	name   string
	change func(*recall.Params)
}

func changes() []change {
	return []change{
		{"no window", func(p *recall.Params) { p.WindowWeight = 0 }},
		{"window 0.5", func(p *recall.Params) { p.WindowWeight = 0.5 }},
		{"window 1.5", func(p *recall.Params) { p.WindowWeight = 1.5 }},
		{"window 2", func(p *recall.Params) { p.WindowWeight = 2 }},
		{"window even, 1/2 each", func(p *recall.Params) { p.Before, p.After = []int{32, 32}, []int{32, 32} }},
		{"window one each side", func(p *recall.Params) { p.Before, p.After = p.Before[:1], p.After[:1] }},
		{"window three each side", func(p *recall.Params) { p.Before, p.After = []int{45, 38, 20}, []int{16, 6, 4} }},
		{"window b .75", func(p *recall.Params) { p.WindowB = 0.75 }},
		{"no session", func(p *recall.Params) { p.SessionWeight = 0 }},
		{"session 0.5", func(p *recall.Params) { p.SessionWeight = 0.5 }},
		{"session 1.4", func(p *recall.Params) { p.SessionWeight = 1.4 }},
		{"session b .8", func(p *recall.Params) { p.SessionB = 0.8 }},
		{"no passages", func(p *recall.Params) { p.PassageShare = 0 }},
		{"passages 0.85", func(p *recall.Params) { p.PassageShare = 0.85 }},
		{"no nearness", func(p *recall.Params) { p.NearWeight = 0 }},
		{"nearness 1", func(p *recall.Params) { p.NearWeight = 1 }},
		{"no speaker boost", func(p *recall.Params) { p.SpeakerBoost = 0 }},
		{"speaker boost 0.2", func(p *recall.Params) { p.SpeakerBoost = 0.2 }},
		{"speaker boost 0.45", func(p *recall.Params) { p.SpeakerBoost = 0.45 }},
		{"speaker field off", func(p *recall.Params) { p.SpeakerWeight = 0 }},
		{"no kin", func(p *recall.Params) { p.KinWeight = 0 }},
		{"kin 0.3", func(p *recall.Params) { p.KinWeight = 0.3 }},
		{"question words at 1", func(p *recall.Params) { p.AboutWeight = 1 }},
		{"question words at 0.25", func(p *recall.Params) { p.AboutWeight = 0.25 }},
		{"no standing", func(p *recall.Params) { p.StandingBoost = 0 }},
		{"standing 0.6", func(p *recall.Params) { p.StandingBoost = 0.6 }},
		{"no preference", func(p *recall.Params) { p.PreferenceBoost = 0 }},
		{"preference 0.6", func(p *recall.Params) { p.PreferenceBoost = 0.6 }},
		{"no time", func(p *recall.Params) { p.TimeBoost = 0 }},
		{"k1 0.9", func(p *recall.Params) { p.K1 = 0.9 }},
		{"k1 1.6", func(p *recall.Params) { p.K1 = 1.6 }},
		{"b 0.25", func(p *recall.Params) { p.B = 0.25 }},
		{"b 0.6", func(p *recall.Params) { p.B = 0.6 }},
		{"b 0.75", func(p *recall.Params) { p.B = 0.75 }},
	}
}

// only is the part of a set that one tenant has.
func (s *dataset) only(tenant string) *dataset {
	out := &dataset{docs: map[string][]setDoc{tenant: s.docs[tenant]}}
	for _, q := range s.queries {
		if q.Tenant == tenant {
			out.queries = append(out.queries, q)
		}
	}
	return out
}

func anys(x []float64) []any {
	out := make([]any, len(x))
	for i := range x {
		out[i] = x[i]
	}
	return out
}
