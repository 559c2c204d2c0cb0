package console

import (
	"strconv"
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
		draw("Recalls", "since start", ss, func(s sample) float64 { return float64(s.tally.Recalls) }),
		draw("Recalls that served something", "since start", ss, func(s sample) float64 { return float64(s.tally.Served) }),
	}
	for _, o := range []tenet.Outcome{tenet.Stored, tenet.Corroborated, tenet.Superseded, tenet.Quarantined, tenet.Rejected} {
		charts = append(charts, draw("Verdicts: "+o.String(), "since start", ss, outcome(o)))
	}
	return charts, nil
}

type listed[T any] struct {
	Subject string
	Items   []T
	Next    string
}

func (c *Console) subjects(v *visit) (any, error) {
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
	return struct {
		Subject, Key string
		Versions     []version
		Left         int
	}{scope.Subject().String(), v.FormValue("key"), timeline(rs, c.cfg.Now()), total - len(rs)}, nil
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

func (c *Console) quarantine(v *visit) (any, error) {
	o, scope, err := c.operator(v)
	if err != nil {
		return nil, err
	}
	hs, err := o.Held(v.Context(), tenet.CandidateID(v.FormValue("after")), perPage)
	out := listed[tenet.Held]{Subject: scope.Subject().String(), Items: hs}
	if len(hs) == perPage {
		out.Next = string(hs[perPage-1].Verdict.Candidate)
	}
	return out, err
}

func (c *Console) release(v *visit) (any, error) {
	o, scope, err := c.operator(v)
	if err != nil {
		return nil, err
	}
	if _, err = o.Release(v.Context(), tenet.CandidateID(v.PostFormValue("id"))); err != nil {
		return nil, err
	}
	return moved("/console/quarantine?" + string(query("subject", scope.Subject().String()))), nil
}

func (c *Console) reject(v *visit) (any, error) {
	o, scope, err := c.operator(v)
	if err != nil {
		return nil, err
	}
	if err = o.Discard(v.Context(), tenet.CandidateID(v.PostFormValue("id")), v.PostFormValue("why")); err != nil {
		return nil, err
	}
	return moved("/console/quarantine?" + string(query("subject", scope.Subject().String()))), nil
}

func (c *Console) audit(v *visit) (any, error) {
	o, scope, err := c.operator(v)
	if err != nil {
		return nil, err
	}
	from := uint64(1)
	if s := v.FormValue("from"); s != "" {
		if from, err = strconv.ParseUint(s, 10, 64); err != nil {
			return nil, tenet.Errorf(tenet.Invalid, "audit", "from is not an entry's number")
		}
	}
	es, err := o.Audit(v.Context(), from, perPage)
	if err != nil {
		return nil, err
	}
	out := struct {
		listed[tenet.AuditEntry]
		Verified string
		At       time.Time
	}{listed: listed[tenet.AuditEntry]{Subject: scope.Subject().String(), Items: es}, At: c.cfg.Now()}
	if len(es) == perPage {
		out.Next = strconv.FormatUint(es[perPage-1].Seq+1, 10)
	}
	if v.FormValue("verify") != "" {
		r, err := o.Verify(v.Context())
		if err != nil {
			return nil, err
		}
		out.Verified = "The chain holds."
		if !r.OK() {
			out.Verified = "The chain does not hold, from entry " + strconv.FormatUint(r.Bad, 10) + "."
		}
	}
	return out, nil
}
