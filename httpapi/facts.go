package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// candidateIn is a proposed record. Whose word it is, the gate derives from
// the key and the cited messages.
type candidateIn struct {
	Tier      string          `json:"tier,omitempty" enum:"fact,note" doc:"named by the writer; there is no default, and the gate refuses a record without"`
	Key       string          `json:"key,omitempty" maxLength:"128"`
	Text      string          `json:"text,omitempty" maxLength:"32768"`
	Value     json.RawMessage `json:"value,omitempty"`
	Cites     []string        `json:"cites,omitempty" maxItems:"64" doc:"ids of messages of this subject that say it"`
	Quote     string          `json:"quote,omitempty" maxLength:"65536" doc:"the words that say it, which the key attests were said"`
	Safety    bool            `json:"safety,omitempty"`
	ValidFrom time.Time       `json:"valid_from,omitzero"`
	ValidTo   time.Time       `json:"valid_to,omitzero"`
	ID        string          `json:"id,omitempty" maxLength:"256" doc:"makes the proposal itself idempotent"`
}

func (b candidateIn) candidate(scope tenet.Scope) (tenet.Candidate, error) {
	c := tenet.Candidate{
		ID: tenet.CandidateID(b.ID), Scope: scope, Key: b.Key, Text: b.Text, Value: nonNull(b.Value), Quote: b.Quote, Safety: b.Safety,
		Valid: tenet.Interval{From: b.ValidFrom, To: b.ValidTo},
	}
	for _, m := range b.Cites {
		c.Cites = append(c.Cites, tenet.MessageID(m))
	}
	if b.Tier == "" {
		return c, nil // the gate's to refuse, with a verdict
	}
	return c, c.Tier.UnmarshalText([]byte(b.Tier))
}

// nonNull is an absent value for a JSON null.
func nonNull(v json.RawMessage) json.RawMessage {
	if string(v) == "null" {
		return nil
	}
	return v
}

// decision is a verdict as an answer.
type decision struct {
	Verdict tenet.Verdict `json:"verdict"`
}

func (d decision) header(h http.Header) {
	if d.Verdict.Record != "" {
		h.Set("ETag", quoteTag(string(d.Verdict.Record)))
	}
}

type facts struct {
	Facts []memory.Fact `json:"facts"`
}

// header tags the set, so that a client that has it gets a 304. Of a record
// only its corroborations change.
func (f facts) header(h http.Header) {
	ids := make([]string, 1, 1+3*len(f.Facts))
	ids[0] = "facts"
	for i := range f.Facts {
		ids = append(ids, string(f.Facts[i].ID), string(f.Facts[i].ShadowedBy), strconv.Itoa(f.Facts[i].Seen))
	}
	h.Set("ETag", quoteTag(ids...))
}

// values are what holds under one key; their ETag is what If-Match takes.
type values struct {
	Values []memory.Fact `json:"values"`
}

func (v values) header(h http.Header) {
	var ids []string
	for _, fact := range v.Values {
		ids = append(ids, string(fact.ID))
	}
	h.Set("ETag", quoteTag(ids...))
}

type records struct {
	Records []tenet.Record `json:"records"`
}

type remembered struct{ Body candidateIn }

type factsAsked struct {
	Project string    `query:"project" maxLength:"256" doc:"compose with this project's facts"`
	Tenant  bool      `query:"tenant" doc:"compose with the tenant's facts"`
	ValidAt time.Time `query:"valid_at" doc:"what was true then; default now"`
	KnownAt time.Time `query:"known_at" doc:"as it was known then; default now"`
	IfNone  string    `header:"If-None-Match" doc:"answer 304 when nothing changed"`
}

type keyOnly struct {
	Key    string `path:"key" minLength:"1" maxLength:"128"`
	IfNone string `header:"If-None-Match" doc:"answer 304 when nothing changed"`
}

type factPut struct {
	Key         string `path:"key" minLength:"1" maxLength:"128"`
	IfMatch     string `header:"If-Match" maxLength:"300" doc:"the ETag of the version this replaces"`
	IfNoneMatch string `header:"If-None-Match" maxLength:"300" doc:"* for a key without a value"`
	Body        struct {
		Text      string          `json:"text,omitempty" maxLength:"32768"`
		Value     json.RawMessage `json:"value,omitempty"`
		Cites     []string        `json:"cites,omitempty" maxItems:"64"`
		Quote     string          `json:"quote,omitempty" maxLength:"65536"`
		Safety    bool            `json:"safety,omitempty"`
		ValidFrom time.Time       `json:"valid_from,omitzero"`
		ValidTo   time.Time       `json:"valid_to,omitzero"`
	}
}

type factDropped struct {
	Key     string `path:"key" minLength:"1" maxLength:"128"`
	IfMatch string `header:"If-Match" maxLength:"300" doc:"the ETag of the version that you read: the same as record"`
	Record  string `query:"record" maxLength:"300" doc:"one version, when the key holds several; with it the key may be - for any"`
	Why     string `query:"why" maxLength:"500" doc:"for the audit entry; no memory text"`
}

type factEnded struct {
	Key     string `path:"key" minLength:"1" maxLength:"128"`
	IfMatch string `header:"If-Match" maxLength:"300" doc:"the ETag of the version that you read: the same as record"`
	Body    struct {
		To     time.Time `json:"to,omitzero" doc:"when it stopped being true; default now"`
		Record string    `json:"record,omitempty" maxLength:"300" doc:"one version, when the key holds several; with it the key may be - for any"`
		Why    string    `json:"why,omitempty" maxLength:"500" doc:"for the audit entry; no memory text"`
	}
}

type outcome struct {
	Body struct {
		Records []string `json:"records" minItems:"1" maxItems:"1000" nullable:"false" doc:"ids of what was recalled and used"`
		Success bool     `json:"success" doc:"whether it went well"`
	}
}

type scopeRecall struct {
	Project string `query:"project" maxLength:"256"`
	Tenant  bool   `query:"tenant"`
	Body    recallBody
}

func (a *API) factRoutes() {
	changes := []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity, http.StatusPreconditionFailed}
	add(a, operation{id: "remember", method: "POST", path: "/memories", who: writeSide, once: onceRequired, status: http.StatusCreated,
		summary: "Remember a fact or note and get its verdict; refused is 422 with the verdict"},
		func(ctx context.Context, c call, r *remembered) (decision, error) {
			cand, err := r.Body.candidate(c.scope)
			if err != nil {
				return decision{}, err
			}
			v, err := a.mem.Remember(ctx, c.by, cand)
			return decision{v}, err
		})
	add(a, operation{id: "facts", method: "GET", path: "/facts", who: hotPath, also: []int{http.StatusNotModified},
		summary: "All facts by identity: complete and exact, no query"},
		func(ctx context.Context, c call, r *factsAsked) (facts, error) {
			scopes, err := composed(c, r.Project, r.Tenant)
			if err != nil {
				return facts{}, err
			}
			fs, err := a.mem.Facts(ctx, c.by, tenet.AsOf{Valid: r.ValidAt, Known: r.KnownAt}, scopes...)
			if fs == nil {
				fs = []memory.Fact{}
			}
			return facts{fs}, err
		})
	add(a, operation{id: "factValues", method: "GET", path: "/facts/{key}", who: hotPath, also: []int{http.StatusNotModified, http.StatusNotFound},
		summary: "What holds under one key, with its ETag"},
		func(ctx context.Context, c call, r *keyOnly) (values, error) {
			fs, err := a.mem.Values(ctx, c.by, c.scope, r.Key)
			return values{fs}, err
		})
	add(a, operation{id: "putFact", method: "PUT", path: "/facts/{key}", who: writeSide, once: onceAccepted,
		also:    []int{http.StatusConflict, http.StatusUnprocessableEntity, http.StatusPreconditionFailed, http.StatusPreconditionRequired},
		summary: "Put a fact in place of the version you read"},
		func(ctx context.Context, c call, r *factPut) (decision, error) {
			version, err := condition{r.IfMatch, r.IfNoneMatch}.required(string(tenet.NoVersion))
			if err != nil {
				return decision{}, err
			}
			b := r.Body
			cand, err := candidateIn{Tier: "fact", Key: r.Key, Text: b.Text, Value: b.Value, Cites: b.Cites, Quote: b.Quote,
				Safety: b.Safety, ValidFrom: b.ValidFrom, ValidTo: b.ValidTo}.candidate(c.scope)
			if err != nil {
				return decision{}, err
			}
			cand.IfVersion = tenet.RecordID(version)
			v, err := a.mem.Remember(ctx, c.by, cand)
			return decision{v}, err
		})
	add(a, operation{id: "retractFact", method: "DELETE", path: "/facts/{key}", who: writeSide, once: onceAccepted, status: http.StatusNoContent, also: changes,
		summary: "It never was true: stop believing it; history keeps it"},
		func(ctx context.Context, c call, r *factDropped) (empty, error) {
			return empty{}, changed(ctx, c, a.mem.Retract, r.IfMatch, memory.Change{Key: r.Key, Record: tenet.RecordID(r.Record), Why: r.Why})
		})
	add(a, operation{id: "endFact", method: "POST", path: "/facts/{key}/end", who: writeSide, once: onceAccepted, status: http.StatusNoContent, also: changes,
		summary: "It is no longer true"},
		func(ctx context.Context, c call, r *factEnded) (empty, error) {
			return empty{}, changed(ctx, c, a.mem.End, r.IfMatch, memory.Change{Key: r.Key, Record: tenet.RecordID(r.Body.Record), To: r.Body.To, Why: r.Body.Why})
		})
	add(a, operation{id: "factHistory", method: "GET", path: "/facts/{key}/history", who: hotPath,
		summary: "Everything ever believed under a key, oldest belief first"},
		func(ctx context.Context, c call, r *keyOnly) (records, error) {
			rs, err := a.mem.History(ctx, c.by, c.scope, r.Key)
			return records{rs}, err
		})
	add(a, operation{id: "recallWithoutSession", method: "POST", path: "/recall", who: writeSide, summary: "Find by meaning without a conversation; leaves no receipt"},
		func(ctx context.Context, c call, r *scopeRecall) (memory.Found, error) {
			scopes, err := composed(c, r.Project, r.Tenant)
			if err != nil {
				return memory.Found{}, err
			}
			found, err := a.mem.Recall(ctx, c.by, r.Body.Query, r.Body.options(), scopes...)
			return found, err
		})
	add(a, operation{id: "reportOutcome", method: "POST", path: "/outcomes", who: askers, once: onceRequired, status: http.StatusNoContent, also: []int{http.StatusNotFound},
		summary: "Say how a use of recalled records turned out; a success keeps them from going dormant"},
		func(ctx context.Context, c call, r *outcome) (empty, error) {
			ids := make([]tenet.RecordID, len(r.Body.Records))
			for i, id := range r.Body.Records {
				ids[i] = tenet.RecordID(id)
			}
			return empty{}, a.mem.Outcomes(ctx, c.by, c.scope, ids, r.Body.Success)
		})
}

// changed ends or retracts a version of a fact. A fact's ETag is the id of its
// open version, so that If-Match names the record; one that is not there, or not
// under the key, is a condition that does not hold.
func changed(ctx context.Context, c call, do func(context.Context, tenet.Principal, memory.Change) error, ifMatch string, ch memory.Change) error {
	tag, err := condition{match: ifMatch}.version("")
	switch {
	case err != nil:
		return err
	case strings.HasPrefix(tag, "set:"):
		return tenet.Errorf(tenet.Invalid, "condition", "the key holds several values: If-Match takes the id of one")
	case tag != "" && ch.Record != "" && string(ch.Record) != tag:
		return tenet.Errorf(tenet.Invalid, "condition", "If-Match and record name different versions")
	case tag != "":
		ch.Record = tenet.RecordID(tag)
	case ch.Record != "" && ch.Key == "-": // no key: a note has none
		ch.Key = ""
	}
	ch.Scope = c.scope
	err = do(ctx, c.by, ch)
	if tag != "" && tenet.KindOf(err) == tenet.NotFound {
		return tenet.Errorf(tenet.Conflict, "condition", "the key has no such version")
	}
	return err
}

// composed are the scopes of a read, from narrow to wide.
func composed(c call, project string, tenant bool) ([]tenet.Scope, error) {
	var names []string
	if project != "" {
		names = append(names, tenet.Project(project).String())
	}
	if tenant {
		names = append(names, tenet.WholeTenant().String())
	}
	also, err := subjects(c, names)
	return append([]tenet.Scope{c.scope}, also...), err
}
