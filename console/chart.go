package console

import (
	"context"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// samples is how many readings the ring keeps: an hour at ten seconds.
const samples = 360

type sample struct {
	at      time.Time
	tally   memory.Tally
	backlog memory.Backlog
	open    int       // holds that wait for somebody
	since   time.Time // of the oldest of them
}

// ring holds the newest readings of each tenant whose operators looked.
type ring struct {
	mu    sync.Mutex
	kept  map[string][]sample
	holds map[string]*round
}

// round goes over a tenant's subjects, some at each reading, and finds those
// with open holds: no reading looks at all of them.
type round struct {
	mu    sync.Mutex // one reading at a time goes on
	from  tenet.Scope
	found []memory.OpenHolds // of this round so far
	last  []memory.OpenHolds // of the round before
	ended time.Time          // when that was over; zero: it is the first
}

// roundStep is how many subjects one reading looks at.
const roundStep = 20

// step goes on with the round, and returns what waits as far as it is known.
func (c *Console) step(ctx context.Context, tenant string) ([]memory.OpenHolds, time.Time) {
	c.ring.mu.Lock()
	r := c.ring.holds[tenant]
	if r == nil {
		if c.ring.holds == nil {
			c.ring.holds = map[string]*round{}
		}
		r = &round{}
		c.ring.holds[tenant] = r
	}
	c.ring.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	hs, next, err := c.mem.HoldsOf(ctx, tenant, r.from, roundStep)
	if err == nil {
		r.from, r.found = next, append(r.found, hs...)
		if next.IsZero() {
			r.last, r.found, r.ended = r.found, nil, c.cfg.Now()
		}
	}
	return r.known()
}

// known is what waits: by the last round, or so far by the first.
func (r *round) known() ([]memory.OpenHolds, time.Time) {
	if r.ended.IsZero() {
		return slices.Clone(r.found), r.ended
	}
	return slices.Clone(r.last), r.ended
}

// waiting is what the last reading of a tenant knew.
func (c *Console) waiting(tenant string) ([]memory.OpenHolds, time.Time) {
	c.ring.mu.Lock()
	r := c.ring.holds[tenant]
	c.ring.mu.Unlock()
	if r == nil {
		return nil, time.Time{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known()
}

// Watch goes on reading the numbers of the tenants whose operators looked at
// them, until the context ends. It is the caller's to run.
func (c *Console) Watch(ctx context.Context, every time.Duration) {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		c.ring.mu.Lock()
		tenants := slices.Collect(maps.Keys(c.ring.kept))
		c.ring.mu.Unlock()
		for _, tenant := range tenants {
			c.read(ctx, tenant)
		}
	}
}

func (c *Console) read(ctx context.Context, tenant string) []sample {
	b, err := c.mem.BacklogOf(ctx, tenant)
	s := sample{at: c.cfg.Now(), tally: c.mem.Tally(tenant), backlog: b}
	hs, _ := c.step(ctx, tenant)
	for _, h := range hs {
		if s.open += h.Open; s.since.IsZero() || h.Since.Before(s.since) {
			s.since = h.Since
		}
	}
	c.ring.mu.Lock()
	defer c.ring.mu.Unlock()
	kept := c.ring.kept[tenant]
	if n := len(kept); err != nil && n > 0 { // a store that is away has no empty queue
		s.backlog = kept[n-1].backlog
	}
	kept = append(kept, s)
	if n := len(kept); n > samples {
		kept = slices.Clone(kept[n-samples:])
	}
	if c.ring.kept == nil {
		c.ring.kept = map[string][]sample{}
	}
	c.ring.kept[tenant] = kept
	return slices.Clone(kept)
}

// chart is one line over time in a 600 by 120 box.
type chart struct{ Title, Unit, Points, Last, Most, From, To string }

func draw(title, unit string, ss []sample, of func(sample) float64) chart {
	most := 0.0
	for _, s := range ss {
		most = max(most, of(s))
	}
	var b strings.Builder
	for i, s := range ss {
		x, y := 600.0, 120.0
		if len(ss) > 1 {
			x = 600 * float64(i) / float64(len(ss)-1)
		}
		if most > 0 {
			y = 118 - 114*of(s)/most
		}
		b.WriteString(number(x) + "," + number(y) + " ")
	}
	return chart{title, unit, strings.TrimSpace(b.String()), number(of(ss[len(ss)-1])), number(most),
		ss[0].at.UTC().Format("15:04:05"), ss[len(ss)-1].at.UTC().Format("15:04:05Z")}
}

func number(f float64) string { return strconv.FormatFloat(math.Round(f*100)/100, 'f', -1, 64) }

// part is a share in percent; of nothing it is none.
func part(of, all float64) float64 {
	if all == 0 {
		return 0
	}
	return 100 * of / all
}

// age is how old the oldest open hold is, in hours.
func (s sample) age() float64 {
	if s.since.IsZero() {
		return 0
	}
	return s.at.Sub(s.since).Hours()
}

// kept are the verdicts that made or changed a record.
func kept(s sample) float64 {
	v := s.tally.Verdicts
	return float64(v[tenet.Stored] + v[tenet.Corroborated] + v[tenet.Superseded])
}

func outcome(o tenet.Outcome) func(sample) float64 {
	return func(s sample) float64 { return float64(s.tally.Verdicts[o]) }
}

// version is one record on a fact's two axes: across, when Tenet believed it;
// up, when it is true. Boxes are in a 600 by 240 picture. N is the box's number
// in the list, written where there is room for it.
type version struct {
	Record       tenet.Record
	X, Y, W, H   int
	Open         bool
	N            int
	TextX, TextY int
}

// timeline places records in the picture. Across it goes from when the first was
// believed, up from when the first was true; both end with the latest time that
// one names, or now.
func timeline(rs []tenet.Record, now time.Time) (vs []version, believed, valid, to time.Time) {
	believed, valid, to = now, now, now
	for _, r := range rs {
		for _, t := range []time.Time{r.Known.From, r.Valid.From, r.Known.To, r.Valid.To} {
			if t.After(to) {
				to = t
			}
		}
		if r.Known.From.Before(believed) {
			believed = r.Known.From
		}
		if !r.Valid.From.IsZero() && r.Valid.From.Before(valid) {
			valid = r.Valid.From
		}
	}
	place := func(t, open, from time.Time, size int) int {
		if t.IsZero() {
			t = open
		}
		if !to.After(from) || t.Before(from) {
			return 0
		}
		return int(float64(size) * float64(t.Sub(from)) / float64(to.Sub(from)))
	}
	for i, r := range rs {
		v := version{Record: r, X: place(r.Known.From, believed, believed, 600), Open: r.Known.Open()}
		v.W = max(3, place(r.Known.To, to, believed, 600)-v.X)
		v.Y = 240 - place(r.Valid.To, to, valid, 240)
		v.H = max(3, 240-place(r.Valid.From, valid, valid, 240)-v.Y)
		v.X, v.Y = min(v.X, 597), min(v.Y, 237)
		if v.TextX, v.TextY = v.X+v.W/2, v.Y+v.H/2+5; v.W >= 14 && v.H >= 14 {
			v.N = i + 1
		}
		vs = append(vs, v)
	}
	return vs, believed, valid, to
}
