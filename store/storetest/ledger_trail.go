package storetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

func applyIsIdempotent(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	c := r.fact("city", "Berlin")
	d := r.judge(c)
	first := r.apply(d)[0]
	was := r.head()
	replay := func(what string, d gate.Decision) {
		t.Helper()
		a := r.apply(d)[0]
		if !a.Replayed {
			t.Errorf("%s is not a replay", what)
		}
		same(t, what+": entry", a.Entry, first.Entry)
		same(t, what+": verdict", a.Verdict, first.Verdict)
	}
	replay("the same decision again", d)
	later := c
	later.At = c.At.Add(time.Hour)
	replay("the same candidate judged later", r.judge(later))
	r.unchanged("after replays", was)

	r.keep(r.fact("city", "Paris"))
	was = r.head()
	replay("a superseded candidate", r.judge(c))
	r.unchanged("after replaying a superseded candidate", was)

	for name, change := range map[string]func(*tenet.Candidate){
		"text": func(c *tenet.Candidate) { c.Text = "Rome" }, "key": func(c *tenet.Candidate) { c.Key = "town" },
		"value": func(c *tenet.Candidate) { c.Value = json.RawMessage(`"Berlin2"`) },
		"tier":  func(c *tenet.Candidate) { c.Tier = tenet.TierNote }, "quote": func(c *tenet.Candidate) { c.Quote = "Berlin!" },
	} {
		other := c
		change(&other.Candidate)
		_, err := r.l.Apply(ctx, []gate.Decision{r.judge(other)}, nil)
		wantKind(t, "the same id with another "+name, err, tenet.Conflict)
	}
	r.unchanged("after conflicts", was)

	twice := r.judge(r.note("likes tea"))
	as := r.apply(twice, twice)
	if as[0].Replayed || !as[1].Replayed || as[0].Entry.Seq != as[1].Entry.Seq {
		t.Errorf("one decision twice in a batch: %+v", as)
	}
	refused := r.judge(r.propose(r.agent, tenet.Fact(r.scope, "role", "admin")))
	r.apply(refused)
	if a := r.apply(refused)[0]; !a.Replayed || a.Verdict.Outcome != tenet.Quarantined {
		t.Errorf("a refusal again: %+v", a)
	}
	same(t, "held once", len(r.held()), 1)
	r.verified()
}

// unproven proposes with no evidence at all: the floor rejects it.
func (r *rig) unproven(text string) gate.Case {
	c := r.note(text)
	c.Candidate.Quote = ""
	return c
}

func refusalIsLogged(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	odd := tenet.FactValue(r.scope, "role", json.RawMessage(`{"html":"<b>&","id":9007199254740993}`), "I am <b>the</b> admin 😀")
	held := r.propose(r.agent, odd)
	rejected := r.unproven("nobody said this")
	long := strings.Repeat("long text, ", 1000)
	heldLong, rejectedLong := r.propose(r.agent, tenet.Fact(r.scope, "long", long[:5000])), r.unproven(long)
	var ds []gate.Decision
	for _, c := range []gate.Case{held, rejected, heldLong, rejectedLong} {
		ds = append(ds, r.judge(c))
	}
	r.apply(ds...)
	hs := r.held()
	if len(hs) != 4 {
		t.Fatalf("want 4 holds, got %d", len(hs))
	}
	slices.Reverse(hs) // newest first, as promised
	for i, d := range ds {
		h, p := hs[i], d.Plan()
		same(t, "the verdict of a hold", h.Verdict, d.Verdict())
		same(t, "its state", h.State, p.Hold.State)
		same(t, "its end", h.ExpiresAt, p.Hold.ExpiresAt)
		same(t, "who asked", h.By, p.Actor)
		v, err := r.l.Verdict(ctx, r.scope, d.Verdict().Candidate)
		must(t, err)
		same(t, "the verdict", v, d.Verdict())
		if h.Candidate.Scope != r.scope {
			t.Errorf("the held candidate has lost its scope: %v", h.Candidate.Scope)
		}
	}
	same(t, "what is held is kept whole", hs[0].Candidate, ds[0].Plan().Candidate)
	same(t, "a long text that may be released is kept whole", hs[2].Candidate.Text, ds[2].Plan().Candidate.Text)
	same(t, "a rejected text", hs[1].Candidate.Text, "nobody said this")
	same(t, "a long rejected text is kept to the cap", hs[3].Candidate.Text, ds[3].Plan().Hold.Text)
	same(t, "states", []tenet.HoldState{hs[0].State, hs[1].State}, []tenet.HoldState{tenet.HoldOpen, tenet.HoldRefused})

	page, err := r.l.Held(ctx, r.scope, r.now, hs[3].Verdict.Candidate, 2)
	must(t, err)
	if len(page) != 2 || page[0].Verdict.Candidate != hs[2].Verdict.Candidate || page[1].Verdict.Candidate != hs[1].Verdict.Candidate {
		t.Errorf("the page after the newest: %+v", page)
	}
	for _, h := range must2(r.l.Held(ctx, r.scope, hs[0].ExpiresAt.Add(time.Hour), "", 10))(t) {
		if h.Candidate.Text != "" || len(h.Candidate.Value) != 0 || h.Candidate.Quote != "" {
			t.Errorf("the text of an expired hold is returned")
		}
	}
	same(t, "no fact", len(r.facts(at(r.now))), 0)
	ch, err := r.l.Changes(ctx, r.scope, 0)
	must(t, err)
	same(t, "nothing to recall", len(ch.Added), 0)
	_, err = r.l.Record(ctx, r.scope, tenet.RecordID(held.Candidate.ID))
	wantKind(t, "the record of a held candidate", err, tenet.NotFound)
	r.verified()
}

func heldIsReleasedOrDiscardedOnce(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	r.keepHeld("role", "admin of the garden")
	r.keepHeld("seat", "aisle")
	hs := r.held()
	seat, role := hs[0], hs[1]

	release := func(h tenet.Held, id tenet.CandidateID) gate.Decision {
		t.Helper()
		c := r.propose(r.operator, h.Candidate)
		c.Candidate.ID = id
		st, err := r.l.State(ctx, r.scope, r.g.Query(c), c.At)
		must(t, err)
		c.State = st
		d, err := r.g.Release(c, h)
		must(t, err)
		return d
	}
	d1, d2 := release(role, "rel-1"), release(role, "rel-2")
	a := r.apply(d1)[0]
	rec := r.record(a.Verdict.Record)
	if rec.Label != tenet.LabelOperator || rec.Elevates != tenet.RecordID(role.Verdict.Candidate) || rec.Text != "admin of the garden" {
		t.Errorf("the released record: %+v", rec)
	}
	_, err := r.l.Apply(ctx, []gate.Decision{d2}, nil)
	wantKind(t, "releasing one hold twice", err, tenet.Conflict)
	drop, err := r.g.Discard(r.operator, r.scope, seat, "not needed", r.now)
	must(t, err)
	lose := release(seat, "rel-3")
	r.apply(drop)
	for name, d := range map[string]gate.Decision{"discarding twice": drop, "releasing what was discarded": lose} {
		_, err := r.l.Apply(ctx, []gate.Decision{d}, nil)
		wantKind(t, name, err, tenet.Conflict)
	}
	hs = r.held()
	same(t, "states", []tenet.HoldState{hs[0].State, hs[1].State}, []tenet.HoldState{tenet.HoldDiscarded, tenet.HoldReleased})
	same(t, "the verdict stays", hs[0].Verdict, seat.Verdict)
	same(t, "facts", texts(r.facts(at(r.now.Add(time.Hour)))), []string{"admin of the garden"})
	r.verified()
}

// keepHeld puts an agent's fact on hold.
func (r *rig) keepHeld(key, text string) {
	r.Helper()
	if a := r.remember(r.propose(r.agent, tenet.Fact(r.scope, key, text))); a.Verdict.Outcome != tenet.Quarantined {
		r.Fatalf("not held: %+v", a.Verdict)
	}
}

// secretRule finds the word hunter2 and asks for it to be masked.
type secretRule struct{}

func (secretRule) Version() string { return "secret-test/1" }
func (secretRule) Check(p gate.Proposal) []gate.Finding {
	i := strings.Index(p.Candidate.Text, "hunter2")
	if i < 0 {
		return nil
	}
	return []gate.Finding{{Finding: tenet.Finding{Check: "secrets", Code: "SECRET:test", Start: i, End: i + 7}, Reject: true, Mask: true}}
}

func secretsAreMasked(t testing.TB, b Backend) {
	r := newRig(t, b, []gate.Rule{secretRule{}})
	c := r.fact("password", "my password is hunter2, keep it")
	c.Candidate.Value = json.RawMessage(`{"password":"hunter2"}`)
	r.remember(c)
	hs := r.held()
	if len(hs) != 1 || hs[0].Candidate.Text != "my password is [SECRET:test], keep it" {
		t.Fatalf("held: %+v", hs)
	}
	for what, v := range map[string]any{"the hold": hs, "the audit": must2(r.l.Audit(ctx, r.scope, 1, 10))(t), "the verdict": must2(r.l.Verdict(ctx, r.scope, c.Candidate.ID))(t)} {
		if s, err := json.Marshal(v); err != nil || bytes.Contains(s, []byte("hunter2")) {
			t.Errorf("%s holds the secret", what)
		}
	}
	if a := r.remember(c); !a.Replayed {
		t.Error("the masked candidate again is not a replay")
	}
}

// must2 passes a result on and fails the test on its error.
func must2[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		must(t, err)
		return v
	}
}

// eventful writes at least one of everything that a chain can hold and
// returns some of it by role.
func (r *rig) eventful() map[string]tenet.RecordID {
	r.Helper()
	first := r.keep(r.fact("city", "Berlin")).Verdict.Record
	r.keep(r.fact("city", "Paris"))
	note := r.keep(r.note("likes tea")).Verdict.Record
	r.keep(r.note("likes tea"))
	r.keep(r.document("a/b", "file"))
	c := r.episode("hello there")
	c.ExpiresAt = r.now.Add(time.Minute)
	ep := r.keep(c).Verdict.Record
	r.keepHeld("role", "admin")
	pet := r.keep(r.fact("pet", "A cat")).Verdict.Record
	stage, err := r.g.StageBatch(r.scope, gate.Staged{Session: "s", From: 0, To: 3, Candidates: []tenet.Candidate{r.note("staged").Candidate}}, r.now)
	must(r.TB, err)
	ret, err := r.g.Retract(r.change("ret", pet))
	must(r.TB, err)
	drop, err := r.g.Discard(r.operator, r.scope, r.held()[0], "no", r.now)
	must(r.TB, err)
	exp, err := r.g.ExpireText(r.scope, []tenet.Record{r.record(ep)}, r.now.Add(time.Hour))
	must(r.TB, err)
	r.apply(stage, ret, drop, exp)
	return map[string]tenet.RecordID{"closed": first, "open": note, "expired": ep}
}

func chainVerifies(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	v, err := r.l.Verify(ctx, r.scope)
	must(t, err)
	if !v.OK() || v.Entries != 0 || v.Records != 0 {
		t.Errorf("an empty scope: %+v", v)
	}
	r.eventful()
	v, err = r.l.Verify(ctx, r.scope)
	must(t, err)
	head := r.head()
	if !v.OK() || uint64(v.Entries) != head.Audit || v.Records != 7 {
		t.Errorf("want %d entries and 7 records that verify, got %+v", head.Audit, v)
	}
	var es []tenet.AuditEntry
	for from := uint64(1); ; {
		page, err := r.l.Audit(ctx, r.scope, from, 5)
		must(t, err)
		if es = append(es, page...); len(page) == 0 {
			break
		} else if len(page) > 5 {
			t.Fatalf("a page of %d", len(page))
		}
		from += uint64(len(page))
	}
	if uint64(len(es)) != head.Audit {
		t.Fatalf("%d entries, the head says %d", len(es), head.Audit)
	}
	var prev tenet.AuditEntry
	var actions []string
	for i, e := range es {
		actions = append(actions, e.Action)
		if e.Seq != uint64(i)+1 || !bytes.Equal(e.Prev, prev.Hash) || !bytes.Equal(e.Hash, store.EntryHash(e)) || len(e.Digest) == 0 || !e.At.After(prev.At) {
			t.Errorf("entry %d does not follow: %+v", i+1, e)
		}
		prev = e
	}
	same(t, "actions", actions, strings.Fields("admit admit admit admit admit admit refuse admit stage retract settle expire"))
	same(t, "the refusal", []string{es[6].Ref, es[6].Actor, es[6].Outcome.String()}, []string{"c0007", "agent:test", "quarantined"})
	same(t, "the settlement", []string{es[10].Ref, es[10].Actor, es[10].Why}, []string{"c0007", "operator:test", "no"})
}

func tamperedRowIsFound(t testing.TB, b Backend) {
	if b.Tamper == nil {
		t.Fatal("the backend claims a ledger and gives no way to tamper with it: set Backend.Tamper")
	}
	for _, d := range []Damage{RecordText, RecordLabel, RecordValid, RecordReopened, RecordDropped, RecordPlanted, EvidenceText, VerdictOutcome, EntryAltered, EntryDropped} {
		r := newRig(t, b, nil)
		ids := r.eventful()
		r.verified()
		w := Tampering{Damage: d, Scope: r.scope, Record: ids["open"], Candidate: "c0007", Seq: 3}
		if d == RecordReopened {
			w.Record = ids["closed"]
		}
		b.Tamper(t, r.l, w)
		v, err := r.l.Verify(ctx, r.scope)
		if err != nil {
			t.Errorf("%s: verify fails instead of finding: %v", d, err)
		} else if v.OK() || v.Bad == 0 {
			t.Errorf("%s was not found: %+v", d, v)
		}
	}
}

func timesRoundTrip(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	kathmandu := time.FixedZone("NPT", 5*3600+45*60)
	early := time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC)
	far := time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)
	for i, iv := range []tenet.Interval{
		{From: time.Date(2024, 7, 1, 3, 4, 5, 123456789, kathmandu)},
		{From: early, To: far},
		{From: time.Date(1969, 12, 31, 23, 59, 59, 999999000, time.UTC), To: time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)},
		{To: time.Date(2010, 1, 1, 0, 0, 0, 1000, kathmandu)},
	} {
		key := fmt.Sprint("k", i)
		c := from(r.fact(key, "x"), iv.From, iv.To)
		c.At = c.At.Add(987 * time.Nanosecond).In(kathmandu)
		c.ExpiresAt = c.At.AddDate(50, 0, 0)
		said := time.Date(2024, 7, 1, 3, 4, 5, 1, kathmandu)
		c.Candidate.Cites, c.Candidate.Quote = []tenet.MessageID{"m"}, ""
		c.Evidence = []tenet.Message{{ID: "m", Role: tenet.RoleUser, Label: tenet.LabelUserStated, RecordedBy: "app:test", Text: "x", SaidAt: said, RecordedAt: said}}
		a := r.keep(c)
		got := r.record(a.Verdict.Record)
		ev, err := r.l.Evidence(ctx, r.scope, got.ID)
		must(t, err)
		for what, p := range map[string][2]time.Time{
			"valid from": {got.Valid.From, iv.From}, "valid to": {got.Valid.To, iv.To}, "expires": {got.ExpiresAt, c.ExpiresAt},
			"known from": {got.Known.From, a.Entry.At}, "said": {ev[0].SaidAt, said}, "known to": {got.Known.To, time.Time{}},
		} {
			if want := tenet.Micros(p[1]); !p[0].Equal(want) || p[0].Location() != time.UTC {
				t.Errorf("%s %s: got %v, want %v", key, what, p[0], want)
			}
		}
	}
	for _, c := range []struct {
		at   time.Time
		want int
	}{{early, 2}, {far.Truncate(time.Microsecond).Add(-time.Microsecond), 2}, {day(1969, 12, 31), 2}, {time.Unix(0, -1000).In(kathmandu), 3}, {time.Unix(0, 0), 2}} {
		if got := r.facts(at(c.at)); len(got) != c.want {
			t.Errorf("at %v: %d facts, want %d", c.at, len(got), c.want)
		}
	}
}

func knownTimeIsStrictlyIncreasing(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	t0 := r.now
	var last time.Time
	for i, step := range []time.Duration{0, -time.Hour, 0, time.Microsecond, -365 * 24 * time.Hour, time.Hour, time.Hour} {
		var ds []gate.Decision
		for j := range 2 { // two in a batch, at the same instant
			c := r.fact(fmt.Sprintf("k%d", j), fmt.Sprint("v", i))
			c.At = t0.Add(step)
			c.Candidate.Valid.From = day(2020, 1, 1+i)
			ds = append(ds, r.judge(c))
		}
		for j, a := range r.apply(ds...) {
			if !a.Entry.At.After(last) || a.Entry.At.Before(t0.Add(step)) {
				t.Errorf("step %d: entry at %v, after %v, decided at %v", i, a.Entry.At, last, t0.Add(step))
			}
			if rec := r.record(a.Verdict.Record); !rec.Known.From.Equal(a.Entry.At) {
				t.Errorf("step %d, decision %d: known from %v, entry at %v", i, j, rec.Known.From, a.Entry.At)
			}
			last = a.Entry.At
		}
	}
	for _, key := range []string{"k0", "k1"} {
		for _, h := range r.history(tenet.TierFact, key) {
			if !h.Known.Open() && !h.Known.From.Before(h.Known.To) {
				t.Errorf("an empty known time: %+v", h.Known)
			}
		}
	}
}

func accessIsAnEntryOfTheTenant(t testing.TB, b Backend) {
	r := rigOn(t, b.Ledger(t), mustScope(t, "acme", tenet.WholeTenant()), nil)
	admin, err := tenet.NewPrincipal(tenet.Admin, "acme", "root")
	must(t, err)
	k := tenet.Key{ID: "k1", Tenant: "acme", Kind: tenet.Agent, Name: "bot", Subjects: []string{"user:sarah"}, Hash: bytes.Repeat([]byte{7}, 32), CreatedAt: r.now}
	until := k
	until.ExpiresAt = day(2030, 1, 2)
	for _, c := range []struct {
		key  tenet.Key
		what gate.KeyChange
		why  string
	}{
		{k, gate.KeyMade, "create agent"}, {until, gate.KeyExpiry, "expiry agent until 2030-01-02T00:00:00Z"},
		{k, gate.KeyExpiry, "expiry agent until it is revoked"}, {k, gate.KeyRotated, "rotate agent"}, {until, gate.KeyRevoked, "revoke agent"},
	} {
		d, err := r.g.Access(admin, c.key, c.what, r.now)
		must(t, err)
		e := r.apply(d)[0].Entry
		if e.Action != "access" || e.Actor != "admin:root" || e.Ref != "k1" || e.Why != c.why || e.Outcome != 0 {
			t.Errorf("the entry: %+v", e)
		}
	}
	same(t, "the entries", len(must2(r.l.Audit(ctx, r.scope, 1, 10))(t)), 5)
	same(t, "facts", len(r.facts(at(r.now))), 0)
	same(t, "the text position", r.head().Text, uint64(0))
	r.verified()

	other, err := tenet.NewPrincipal(tenet.Admin, "globex", "root")
	must(t, err)
	_, err = r.g.Access(other, k, gate.KeyMade, r.now)
	wantKind(t, "an admin of another tenant", err, tenet.Denied)
	_, err = r.g.Access(r.agent, k, gate.KeyMade, r.now)
	wantKind(t, "an agent", err, tenet.Denied)
}

func deniedIsAnEntryOnly(t testing.TB, b Backend) {
	r := rigOn(t, b.Ledger(t), mustScope(t, "acme", tenet.WholeTenant()), nil)
	for range 2 { // every attempt is an entry of its own
		d, err := r.g.Denied(r.agent, "facts", "another tenant", r.now)
		must(t, err)
		if a := r.apply(d)[0]; a.Replayed || a.Verdict.Outcome != 0 {
			t.Errorf("applied: %+v", a)
		}
	}
	es := must2(r.l.Audit(ctx, r.scope, 1, 10))(t)
	if len(es) != 2 || es[1].Action != "deny" || es[1].Actor != "agent:test" || es[1].Ref != "facts" || es[1].Why != "another tenant" {
		t.Errorf("the entries: %+v", es)
	}
	same(t, "facts", len(r.facts(at(r.now))), 0)
	same(t, "held", len(r.held()), 0)
	same(t, "the text position", r.head().Text, uint64(0))
	r.verified()
}
