package console

import (
	"slices"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// perPage bounds every list.
const perPage = 50

func (c *Console) overview(v *visit) (any, error) {
	ss := c.read(v.Context(), v.by.Tenant())
	charts := []chart{
		draw("Sessions waiting to be consolidated", "sessions", ss, func(s sample) float64 { return float64(s.backlog.Due + s.backlog.Waiting) }),
		draw("Oldest due session", "seconds", ss, func(s sample) float64 { return s.backlog.Age.Seconds() }),
		draw("Held for review", "open", ss, func(s sample) float64 { return float64(s.open) }),
		draw("Oldest of them", "hours", ss, sample.age),
		draw("Sessions given up", "sessions", ss, func(s sample) float64 { return float64(s.backlog.Dead) }),
		draw("Recalls", "since start", ss, func(s sample) float64 { return float64(s.tally.Recalls) }),
		draw("Recalls that served something", "since start", ss, func(s sample) float64 { return float64(s.tally.Served) }),
		draw("Hit rate", "% of recalls", ss, func(s sample) float64 { return part(float64(s.tally.Served), float64(s.tally.Recalls)) }),
		draw("Supersession rate", "% of what was kept", ss, func(s sample) float64 { return part(float64(s.tally.Verdicts[tenet.Superseded]), kept(s)) }),
	}
	for _, p := range []struct {
		name string
		of   func(memory.Tokens) int
	}{
		{"facts", func(n memory.Tokens) int { return n.Facts }}, {"recalled", func(n memory.Tokens) int { return n.Recalled }},
		{"not consolidated yet", func(n memory.Tokens) int { return n.Pending }}, {"messages", func(n memory.Tokens) int { return n.Messages }},
	} {
		charts = append(charts, draw("Tokens of a context: "+p.name, "on average", ss, func(s sample) float64 {
			return float64(p.of(s.tally.Tokens)) / max(1, float64(s.tally.Windows))
		}))
	}
	for _, o := range []tenet.Outcome{tenet.Stored, tenet.Corroborated, tenet.Superseded, tenet.Quarantined, tenet.Rejected} {
		charts = append(charts, draw("Verdicts: "+o.String(), "since start", ss, outcome(o)))
	}
	out := struct {
		Charts  []chart
		Waiting []waiting // subjects with open holds, the longest held first
		More    int
		Ended   time.Time
		Uses    []use // of what the tenant may keep; of nobody who is narrowed
	}{Charts: charts}
	if !v.by.Narrowed() {
		u, err := c.mem.Use(v.Context(), v.by.Tenant())
		if err != nil {
			return nil, err
		}
		shares := u.Shares()
		for _, l := range []struct {
			name       string
			kept, most int64
		}{{"records", u.Stored.Records, u.Quota.Records}, {"bytes", u.Stored.Bytes, u.Quota.Bytes}, {"subjects", u.Stored.Subjects, u.Quota.Subjects}} {
			out.Uses = append(out.Uses, use{l.name, l.kept, l.most, int(100 * shares[l.name])})
		}
	}
	hs, ended := c.waiting(v.by.Tenant())
	slices.SortStableFunc(hs, func(a, b memory.OpenHolds) int { return a.Since.Compare(b.Since) })
	for _, h := range hs {
		switch {
		case !v.by.MayReach(h.Scope):
		case len(out.Waiting) == perPage:
			out.More++
		default:
			out.Waiting = append(out.Waiting, waiting{h.Scope.Subject().String(), h.Open, h.Since})
		}
	}
	out.Ended = ended
	return out, nil
}

// use is what the tenant keeps of one limit of its quota; 0 of Most is no bound.
type use struct {
	Limit      string
	Kept, Most int64
	Percent    int
}

// waiting is a subject with open holds.
type waiting struct {
	Subject string
	Open    int
	Since   time.Time
}

type listed[T any] struct {
	Subject string
	Items   []T
	Next    string
}

func (c *Console) subjects(v *visit) (any, error) {
	if v.by.Narrowed() { // the list is the whole tenant's; one of theirs can be named
		var out listed[string]
		if s, one := v.by.Only(); one {
			out.Items = []string{s.String()}
		}
		return out, nil
	}
	whole, err := tenet.NewScope(v.by.Tenant(), tenet.WholeTenant())
	if err != nil {
		return nil, err
	}
	o, err := c.mem.Operator(v.by, whole)
	if err != nil {
		return nil, err
	}
	var after tenet.Scope
	if a := v.FormValue("after"); a != "" {
		s, err := tenet.ParseSubject(a)
		if err == nil {
			after, err = tenet.NewScope(v.by.Tenant(), s)
		}
		if err != nil {
			return nil, err
		}
	}
	ss, err := o.Scopes(v.Context(), after, perPage)
	out := listed[string]{}
	for _, s := range ss {
		out.Items = append(out.Items, s.Subject().String())
	}
	if len(ss) == perPage {
		out.Next = out.Items[perPage-1]
	}
	return out, err
}

func (c *Console) subject(v *visit) (any, error) {
	_, scope, err := c.operator(v)
	if err != nil {
		return nil, err
	}
	fs, err := c.mem.Facts(v.Context(), v.by, tenet.AsOf{}, scope) // at most 200 by the persistent limit
	return listed[memory.Fact]{Subject: scope.Subject().String(), Items: fs}, err
}

func (c *Console) fact(v *visit) (any, error) {
	o, scope, err := c.operator(v)
	if err != nil {
		return nil, err
	}
	rs, err := o.History(v.Context(), tenet.TierFact, v.FormValue("key"))
	if err != nil {
		return nil, err
	}
	total := len(rs)
	if len(rs) > perPage {
		rs = rs[len(rs)-perPage:]
	}
	vs, believed, valid, to := timeline(rs, c.cfg.Now())
	date := func(t time.Time) string { return t.UTC().Format(time.DateOnly) }
	return struct {
		Subject, Key, Believed, Valid, To string
		Versions                          []version
		Left                              int
	}{scope.Subject().String(), v.FormValue("key"), date(believed), date(valid), date(to), vs, total - len(rs)}, nil
}

// erase counts first; only the form of that answer, sent with the subject
// typed again, erases.
func (c *Console) erase(v *visit) (any, error) {
	_, scope, err := c.operator(v)
	if err != nil {
		return nil, err
	}
	of, err := memory.Selected("subject", "")
	if err != nil {
		return nil, err
	}
	name := scope.Subject().String()
	sure := v.PostFormValue("sure") != ""
	if sure && v.PostFormValue("sure") != name {
		return nil, tenet.Errorf(tenet.Invalid, "erase", "what was typed is not the subject: nothing was erased")
	}
	e, err := c.mem.Erase(v.Context(), v.by, scope, memory.Erasing{Of: of, Why: v.PostFormValue("why"), DryRun: !sure})
	return struct {
		Subject, Why string
		Erasure      memory.Erasure
	}{name, v.PostFormValue("why"), e}, err
}
