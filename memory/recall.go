package memory

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/recall"
	"github.com/tenet-memory/tenet/trace"
)

// Recalled is a note, episode or document found by meaning.
type Recalled struct {
	ID         tenet.RecordID      `json:"id"`
	Scope      tenet.Scope         `json:"scope"`
	Tier       tenet.Tier          `json:"tier"`
	Label      tenet.Label         `json:"label"`
	Lane       string              `json:"lane"`
	Key        string              `json:"key,omitempty"`
	Text       string              `json:"text"`
	Speaker    string              `json:"speaker,omitempty"`
	Session    tenet.SessionID     `json:"session,omitempty"`
	Message    tenet.MessageID     `json:"message,omitempty"`
	Valid      tenet.Interval      `json:"valid"`
	RecordedAt time.Time           `json:"recorded_at"`
	Score      float64             `json:"score"`
	Dormant    bool                `json:"dormant,omitempty"` // left the default results; found because it was named or asked for
	Similar    []string            `json:"similar,omitempty"` // near-duplicates folded into this one
	Why        *recall.Explanation `json:"why,omitempty"`

	parts recall.Parts
}

// Found is the answer of a recall.
type Found struct {
	Hits []Recalled `json:"hits"` // best first
	// Time is the range that a time expression of the query stood for.
	Time *recall.Range `json:"time,omitempty"`
	// Degraded says that the answer is lexical although an embedder is set,
	// and why; empty: it is not.
	Degraded tenet.Code `json:"degraded,omitempty"`
	// Approximate says that an index in the database was asked what is near, and
	// how well it finds it; absent: everything was compared.
	Approximate *Approximate `json:"approximate,omitempty"`
	// Reason says why there are no hits: no word to search for, no match.
	Reason string `json:"reason,omitempty"`
}

// RecallOptions narrow or explain a recall. The zero value is the default.
type RecallOptions struct {
	K         int // how many; default 10
	Explain   bool
	Within    *recall.Range // a hard filter on validity
	Dormant   bool          // dormant entries are found like the others
	Tiers     []tenet.Tier  // which tiers to find; empty: all that recall finds
	Diversity recall.Diversity
	Location  *time.Location // of the subject, for time expressions; default UTC
}

// Recall finds what the session may read by meaning, best first, each scope
// from its own index. It may miss; what must not be missed is a fact. It
// leaves a receipt with the ids.
func (s *Session) Recall(ctx context.Context, query string, o RecallOptions) (Found, error) {
	found, err := s.find(ctx, query, o)
	if err != nil {
		return Found{}, err
	}
	r := tenet.Receipt{ID: newID(), Session: s.info.ID, At: s.now()}
	note(&r, found.Hits)
	return found, s.log.Serve(ctx, s.info.Scope, r)
}

func (s *Session) find(ctx context.Context, query string, o RecallOptions) (Found, error) {
	if s.indexes == nil {
		return Found{}, tenet.Errorf(tenet.Unavailable, "recall", "the durable tier is off; sessions only")
	}
	found, err := s.indexes.find(ctx, s.info.Reads, query, s.now(), o)
	if err == nil {
		s.counts.recall(s.info.Scope.Tenant(), found.Hits)
	}
	return found, err
}

// Recall finds records of the scopes by meaning without a session: for hosts,
// operators and evaluation. It leaves no receipt.
func (m *Memory) Recall(ctx context.Context, by tenet.Principal, query string, o RecallOptions, scopes ...tenet.Scope) (Found, error) {
	if err := m.durable("recall"); err != nil {
		return Found{}, err
	}
	if err := reach("recall", by, scopes...); err != nil {
		return Found{}, err
	}
	found, err := m.indexes.find(ctx, scopes, query, m.now(), o)
	if err == nil {
		m.counts.recall(by.Tenant(), found.Hits)
	}
	return found, err
}

// find asks each scope's own index and merges by quota: scores of different
// scopes do not compare, so the narrowest gets half of the places, the others
// share the rest, and what one leaves free flows back.
func (x *indexes) find(ctx context.Context, scopes []tenet.Scope, query string, now time.Time, o RecallOptions) (out Found, err error) {
	ctx, span := trace.Start(ctx, "recall")
	defer func() {
		span.Count("tenet.scopes", len(scopes))
		span.Count("tenet.hits", len(out.Hits))
		span.End(err)
	}()
	orElse(&o.K, 10)
	q := recall.Query{
		Text: query, K: o.K, Now: now, Location: o.Location, Within: o.Within, Dormant: o.Dormant, Diversity: o.Diversity, Explain: o.Explain,
	}
	q.Vector, out.Degraded = x.embed(ctx, query)
	lists := make([][]Recalled, len(scopes))
	var keep func(*entry) bool
	if len(o.Tiers) > 0 {
		keep = func(e *entry) bool { return slices.Contains(o.Tiers, e.tier) }
	}
	for i, s := range scopes {
		hits, res, err := x.search(ctx, s, q, keep)
		if err != nil {
			return Found{}, err
		}
		lists[i], out.Time, out.Approximate = hits, res.Time, out.Approximate.worse(res.approximate)
		if res.Reason != recall.ReasonNone && out.Reason == "" {
			out.Reason = res.Reason.String()
		}
	}
	if out.Hits = merge(lists, o.K); len(out.Hits) > 0 {
		out.Reason = ""
	}
	return out, nil
}

func merge(lists [][]Recalled, k int) []Recalled {
	if len(lists) == 1 {
		return lists[0]
	}
	quota := make([]int, len(lists))
	for i := range lists {
		quota[i] = (k/2 + len(lists) - 2) / max(1, len(lists)-1)
	}
	quota[0] = k - k/2
	var out []Recalled
	for i, l := range lists {
		n := min(quota[i], len(l), k-len(out))
		out, lists[i] = append(out, l[:n]...), l[n:]
	}
	for _, l := range lists { // free places flow back, narrow scopes first
		n := min(len(l), k-len(out))
		out = append(out, l[:n]...)
	}
	return out
}

// note has a receipt name what was recalled, and keep what brought it there.
func note(r *tenet.Receipt, hits []Recalled) {
	for _, h := range hits {
		p := h.parts
		r.Recalled = append(r.Recalled, h.ID)
		r.Scores = append(r.Scores, tenet.Score{
			Turn: share(p.Turn), Window: share(p.Window), Session: share(p.Session), Near: share(p.Near), Speaker: share(p.Speaker),
			Preference: share(p.Preference), Time: share(p.Time), Standing: share(p.Standing), Dense: share(p.Dense), Exact: share(p.Exact),
		})
		r.Lowest = lowest(r.Lowest, h.Label)
	}
}

// share is a part of a score as a receipt keeps it.
func share(x float64) int32 { return int32(math.Round(min(max(x, -1e5), 1e5) * 1e4)) }

// lowest is the lower of two labels, where zero is none yet.
func lowest(a, b tenet.Label) tenet.Label {
	if a == 0 {
		return b
	}
	return min(a, b)
}
