package eval

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// Depth is where rankings are cut.
const Depth = 100

// Run is what a set's queries got, with what was lost on the way in.
type Run struct {
	Set      string
	Rankings []Ranking
	// Refused counts documents by reason code. A refused document is a miss.
	Refused map[tenet.Code]int
	Kept    int
	Merged  int // documents that corroborated an equal one; their ids stay findable
	Leaks   int // hits of another tenant's documents; must be 0
	// Degraded counts the queries that an embedder was set for and did not answer.
	Degraded int
	Import   time.Duration
	Latency  []time.Duration // one per query, in the order asked
}

// Ranking is one query's hits, best first.
type Ranking struct {
	ID   string   `json:"id"`
	Hits []string `json:"hits"`
}

// Progress is told how far a run has come.
type Progress func(stage string, done, total int)

// Retrieve imports a set into an empty engine and asks its queries.
//
// The mapping, the same for every set: a document's tenant becomes a user of
// one tenant, so that all stand in one store. A document with a session becomes
// a message of it, recorded by an app key: of the assistant when its role says
// so, otherwise of the user, with a role that is a name as the speaker; the
// session is ended, which makes each message an episode. A document without a
// session is a session of its own. Published time is valid time.
func Retrieve(ctx context.Context, mem *memory.Memory, s Set, report Progress) (Run, error) {
	if report == nil {
		report = func(string, int, int) {}
	}
	app, err := tenet.NewPrincipal(tenet.App, "eval", "harness")
	if err != nil {
		return Run{}, err
	}
	r := &run{
		Run: Run{Set: s.Name, Refused: map[tenet.Code]int{}},
		mem: mem, app: app, docs: map[string]place{}, byRecord: map[tenet.RecordID][]string{},
	}
	started := time.Now()
	if err := r.load(ctx, s.Docs, report); err != nil {
		return Run{}, err
	}
	for { // dense places, when the engine has an embedder
		n, err := mem.EmbedOnce(ctx)
		if err != nil {
			return Run{}, err
		}
		if n == 0 {
			break
		}
	}
	r.Import = time.Since(started)
	for i, q := range s.Queries {
		if err := r.ask(ctx, q); err != nil {
			return Run{}, err
		}
		report("asking", i+1, len(s.Queries))
	}
	return r.Run, nil
}

type run struct {
	Run
	mem      *memory.Memory
	app      tenet.Principal
	docs     map[string]place            // doc id -> where it went
	byMsg    map[tenet.MessageID]string  // of the session being loaded
	byRecord map[tenet.RecordID][]string // record -> documents it stands for
}

// place is whose document it is.
type place struct{ tenant string }

func userScope(tenantOf string) (tenet.Scope, error) {
	if tenantOf == "" {
		tenantOf = "all"
	}
	return tenet.NewScope("eval", tenet.User(tenantOf))
}

func (r *run) load(ctx context.Context, docs []Doc, report Progress) error {
	var all []said
	for start := 0; start < len(docs); {
		end := start + 1
		for end < len(docs) && docs[start].Session != "" && docs[end].Session == docs[start].Session && docs[end].Tenant == docs[start].Tenant {
			end++
		}
		scope, err := userScope(docs[start].Tenant)
		if err != nil {
			return err
		}
		said, err := r.conversation(ctx, scope, docs[start:end])
		if err != nil {
			return err
		}
		all = append(all, said)
		for _, d := range docs[start:end] {
			r.docs[d.ID] = place{d.Tenant}
		}
		start = end
		report("importing", start, len(docs))
	}
	// All is said before any of it is consolidated: consolidation gives way to
	// whoever is in conversation.
	for i, c := range all {
		rep, err := r.mem.Consolidate(ctx, r.app, c.scope, c.session)
		if err != nil {
			return err
		}
		if err := r.book(ctx, c.scope, c.kept, rep); err != nil {
			return err
		}
		report("consolidating", i+1, len(all))
	}
	return nil
}

// said is one conversation as it was appended.
type said struct {
	scope   tenet.Scope
	session tenet.SessionID
	kept    []tenet.Message
}

// took books a verdict.
func (r *run) took(v tenet.Verdict, doc string) {
	if !v.Outcome.Kept() {
		code := tenet.Code("NONE")
		if len(v.Codes) > 0 {
			code = v.Codes[0]
		}
		r.Refused[code]++
		return
	}
	r.Kept++
	if v.Outcome == tenet.Corroborated {
		r.Merged++
	}
	r.byRecord[v.Record] = append(r.byRecord[v.Record], doc)
}

func (r *run) conversation(ctx context.Context, scope tenet.Scope, docs []Doc) (said, error) {
	id := docs[0].Session
	if id == "" {
		id = "document " + docs[0].ID
	}
	s, err := r.mem.Session(ctx, r.app, scope, tenet.SessionID(id))
	if err != nil {
		return said{}, err
	}
	ms := make([]tenet.Message, 0, len(docs))
	for _, d := range docs {
		m := tenet.Message{Role: tenet.RoleUser, Text: d.Text, SaidAt: parseTime(d.Time), ClientID: d.ID}
		switch role := strings.ToLower(d.Role); role {
		case "assistant":
			m.Role = tenet.RoleAssistant
		case "user", "":
		default:
			m.Speaker = d.Role
		}
		ms = append(ms, m)
	}
	kept, err := s.Append(ctx, ms...)
	if err != nil {
		return said{}, err
	}
	return said{scope, tenet.SessionID(id), kept}, s.EndLater(ctx)
}

// book finds which document each of a consolidation's records stands for.
func (r *run) book(ctx context.Context, scope tenet.Scope, kept []tenet.Message, rep memory.Report) error {
	r.byMsg = make(map[tenet.MessageID]string, len(kept))
	for _, m := range kept {
		r.byMsg[m.ID] = m.ClientID
	}
	op, err := tenet.NewPrincipal(tenet.Operator, scope.Tenant(), "harness")
	if err != nil {
		return err
	}
	review, err := r.mem.Operator(op, scope)
	if err != nil {
		return err
	}
	judged := map[string]bool{}
	var refused []tenet.Verdict
	defer func() { // a text that its speaker wanted kept nowhere never gets to the gate
		for _, m := range kept {
			switch {
			case judged[m.ClientID]:
			case m.RetainNone:
				r.Refused[tenet.CodeRetainNone]++
			default:
				r.Refused["NOT_PROPOSED"]++
			}
		}
	}()
	for _, v := range rep.Verdicts {
		if v.Tier != tenet.TierEpisode && (!v.Tier.Semantic() || !v.Outcome.Kept()) {
			continue // an extracted fact is not recalled
		}
		if !v.Outcome.Kept() {
			refused = append(refused, v)
			continue
		}
		rec, _, err := review.Record(ctx, v.Record)
		if err != nil {
			return err
		}
		doc := r.byMsg[rec.Message]
		if v.Tier != tenet.TierEpisode { // a note that was extracted from a document stands for it
			r.byRecord[v.Record] = append(r.byRecord[v.Record], doc)
			continue
		}
		judged[doc] = true
		r.took(v, doc)
	}
	for i, m := range kept { // a refusal names no message: they stand for those that are left
		if len(refused) > 0 && !judged[m.ClientID] && !m.RetainNone {
			r.took(refused[0], kept[i].ClientID)
			judged[m.ClientID], refused = true, refused[1:]
		}
	}
	return nil
}

func (r *run) ask(ctx context.Context, q Query) error {
	scope, err := userScope(q.Tenant)
	if err != nil {
		return err
	}
	started := time.Now()
	found, err := r.mem.Recall(ctx, r.app, q.Text, memory.RecallOptions{K: Depth}, scope)
	r.Latency = append(r.Latency, time.Since(started))
	if err != nil && tenet.KindOf(err) != tenet.Invalid { // an empty or overlong question finds nothing
		return err
	}
	if found.Degraded != "" {
		r.Degraded++
	}
	ranking := Ranking{ID: q.ID, Hits: []string{}}
	for _, h := range found.Hits {
		for _, id := range append([]string{string(h.ID)}, h.Similar...) {
			for _, doc := range r.byRecord[tenet.RecordID(id)] {
				if r.docs[doc].tenant != q.Tenant {
					r.Leaks++
				}
				if !slices.Contains(ranking.Hits, doc) {
					ranking.Hits = append(ranking.Hits, doc)
				}
			}
		}
	}
	if len(ranking.Hits) > Depth {
		ranking.Hits = ranking.Hits[:Depth]
	}
	r.Rankings = append(r.Rankings, ranking)
	return nil
}

// WriteRankings writes one line per query: {id, hits}.
func (r Run) WriteRankings(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, k := range r.Rankings {
		if err := enc.Encode(k); err != nil {
			return err
		}
	}
	return nil
}

// ReadRankings reads what WriteRankings wrote.
func ReadRankings(path string) ([]Ranking, error) {
	var out []Ranking
	err := readLines(path, func(k Ranking) error { out = append(out, k); return nil })
	return out, err
}
