package httpapi

import (
	"context"
	"crypto/rand"
	"net/http"
	"strconv"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/trace"
)

type mem0Asked struct {
	ID string `path:"id" minLength:"1" maxLength:"1024"`
}

type mem0Dropped struct {
	ID     string `path:"id" minLength:"1" maxLength:"1024"`
	Linked bool   `query:"delete_linked" doc:"ignored: what it took the place of is not believed as it is"`
}

type mem0Reworded struct {
	ID   string `path:"id" minLength:"1" maxLength:"1024"`
	Body mem0Update
}

type mem0All struct {
	UserID  string `query:"user_id" maxLength:"256"`
	AgentID string `query:"agent_id" maxLength:"256" doc:"not supported: 400"`
	AppID   string `query:"app_id" maxLength:"256" doc:"not supported: 400"`
	RunID   string `query:"run_id" maxLength:"256" doc:"not supported: 400"`
}

func (r mem0All) who() Mem0Who {
	return Mem0Who{UserID: r.UserID, AgentID: r.AgentID, AppID: r.AppID, RunID: r.RunID}
}

type mem0Paged struct {
	Page     int `query:"page" minimum:"1" maximum:"1000000" doc:"from 1"`
	PageSize int `query:"page_size" minimum:"1" maximum:"200" doc:"default 100"`
	Body     Mem0Narrow
}

type mem0Listed struct {
	UserID      string `query:"user_id" maxLength:"256"`
	AgentID     string `query:"agent_id" maxLength:"256" doc:"not supported: 400"`
	RunID       string `query:"run_id" maxLength:"256" doc:"not supported: 400"`
	TopK        int    `query:"top_k" minimum:"1" maximum:"1000" doc:"default 100"`
	ShowExpired bool   `query:"show_expired" doc:"ignored"`
}

type mem0Entity struct {
	Type string `path:"type" enum:"user"`
	Name string `path:"name" minLength:"1" maxLength:"256"`
}

type mem0Users struct {
	Page     int `query:"page" minimum:"1" maximum:"1000000" doc:"from 1"`
	PageSize int `query:"page_size" minimum:"1" maximum:"200" doc:"default 100"`
}

type mem0Person struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Type string `json:"type" enum:"user"`
}

type mem0People struct {
	Count    int          `json:"count"`
	Next     *string      `json:"next" nullable:"true"`
	Previous *string      `json:"previous" nullable:"true"`
	Results  []mem0Person `json:"results"`
}

type mem0Pong struct {
	Status  string `json:"status" enum:"ok"`
	Tenant  string `json:"org_id"`
	Project string `json:"project_id"`
}

const mem0Prefix = "/mem0"

// mem0Routes speak to clients of mem0, those of its hosted API and of its own
// server, from a base URL that ends in /mem0. They are a host's face: an agent's
// key has no way here. See docs/mem0.md for what each verb is in Tenet's words.
func (a *API) mem0Routes() {
	missing := []int{http.StatusNotFound}
	changes := []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity}
	at0(a, operation{id: "mem0Ping", method: "GET", path: "/v1/ping/", summary: "Whose key it is"},
		func(_ context.Context, c call, _ *empty) (mem0Pong, error) {
			return mem0Pong{"ok", c.by.Tenant(), c.by.Tenant()}, nil
		})
	at0(a, operation{id: "mem0Add", method: "POST", path: "/v3/memories/add/", wait: true, also: []int{http.StatusConflict, http.StatusUnprocessableEntity},
		summary: "Append messages to a conversation; what they teach is in memory once it is consolidated"},
		func(ctx context.Context, c call, r *struct{ Body mem0Add }) (mem0Added, error) {
			return a.mem0Add(ctx, c, r.Body, false)
		})
	at0(a, operation{id: "mem0AddNow", method: "POST", path: "/memories", wait: true, also: []int{http.StatusConflict, http.StatusUnprocessableEntity},
		summary: "The same, consolidated before it answers"},
		func(ctx context.Context, c call, r *struct{ Body mem0Add }) (mem0Added, error) {
			return a.mem0Add(ctx, c, r.Body, true)
		})
	at0(a, operation{id: "mem0Event", method: "GET", path: "/v1/event/{id}/", also: missing, summary: "What became of an add"},
		func(ctx context.Context, c call, r *mem0Asked) (mem0Added, error) { return a.mem0Event(ctx, c, r.ID) })
	at0(a, operation{id: "mem0List", method: "POST", path: "/v3/memories/", summary: "What is believed of a user: facts, notes and turns, in the order in which they were written"},
		func(ctx context.Context, c call, r *mem0Paged) (mem0List, error) {
			if err := r.Body.check(); err != nil {
				return mem0List{}, err
			}
			scope, err := r.Body.whose(c, true)
			if err != nil {
				return mem0List{}, err
			}
			orElse(&r.Page, 1)
			orElse(&r.PageSize, 100)
			rs, total, err := a.mem.Believed(ctx, c.by, scope, (r.Page-1)*r.PageSize, r.PageSize)
			out := listed(rs, total)
			out.Next, out.Previous = neighbours("/v3/memories/", r.Page, r.PageSize, total)
			out.Ignored = r.Body.ignored()
			return out, err
		})
	at0(a, operation{id: "mem0ListAll", method: "GET", path: "/memories", summary: "What is believed of a user; count says of how many these are"},
		func(ctx context.Context, c call, r *mem0Listed) (mem0List, error) {
			scope, err := Mem0Who{UserID: r.UserID, AgentID: r.AgentID, RunID: r.RunID}.whose(c, true)
			if err != nil {
				return mem0List{}, err
			}
			orElse(&r.TopK, 100)
			rs, total, err := a.mem.Believed(ctx, c.by, scope, 0, r.TopK)
			return listed(rs, total), err
		})
	for _, place := range []struct {
		suffix                    trace.Word
		search, all, one, history string
	}{
		{"", "/v3/memories/search/", "/v1/memories/", "/v1/memories/{id}/", "/v1/memories/{id}/history/"},
		{"AtRoot", "/search", "/memories", "/memories/{id}", "/memories/{id}/history"},
	} {
		at0(a, operation{id: "mem0Search" + place.suffix, method: "POST", path: place.search, summary: "All facts of a user, then what is found by meaning"},
			func(ctx context.Context, c call, r *struct{ Body mem0Search }) (mem0Found, error) {
				return a.mem0Search(ctx, c, r.Body)
			})
		at0(a, operation{id: "mem0Get" + place.suffix, method: "GET", path: place.one, also: missing, summary: "One memory, or what took its place"},
			func(ctx context.Context, c call, r *mem0Asked) (Mem0Memory, error) {
				rec, err := a.standing(ctx, c, r.ID)
				return mem0Of(rec), err
			})
		at0(a, operation{id: "mem0Update" + place.suffix, method: "PUT", path: place.one, also: changes, summary: "Put other words in its place, through the gate"},
			func(ctx context.Context, c call, r *mem0Reworded) (mem0Updated, error) {
				return a.mem0Update(ctx, c, r.ID, r.Body)
			})
		at0(a, operation{id: "mem0Delete" + place.suffix, method: "DELETE", path: place.one, also: changes, summary: "Retract one memory; history keeps it"},
			func(ctx context.Context, c call, r *mem0Dropped) (mem0Done, error) {
				rec, err := a.standing(ctx, c, r.ID)
				if err == nil {
					err = a.mem.Retract(ctx, c.by, memory.Change{Scope: rec.Scope, Record: rec.ID, Why: mem0Why})
				}
				return mem0Done{Message: "Retracted: it is not believed any more, and history keeps it. To make it gone is POST /v1/users/{user}/erase", Retracted: 1}, err
			})
		at0(a, operation{id: "mem0DeleteAll" + place.suffix, method: "DELETE", path: place.all, also: changes, wait: true, summary: "Retract all of a user's memories; history keeps them"},
			func(ctx context.Context, c call, r *mem0All) (mem0Done, error) {
				return a.mem0DeleteAll(ctx, c, r.who())
			})
		at0(a, operation{id: "mem0History" + place.suffix, method: "GET", path: place.history, also: missing, summary: "A memory with all that it took the place of and all that took its place"},
			func(ctx context.Context, c call, r *mem0Asked) ([]mem0Past, error) {
				scope, id, err := readMem0ID(c, r.ID, 2)
				if err != nil {
					return nil, err
				}
				line, err := a.mem.Succession(ctx, c.by, scope, tenet.RecordID(id[0]))
				return pasts(line), err
			})
	}
	at0(a, operation{id: "mem0Users", method: "GET", path: "/v1/entities/", who: reviewTenant, summary: "The people of whom the tenant keeps something"},
		func(ctx context.Context, c call, r *mem0Users) (mem0People, error) {
			whole, err := tenet.NewScope(c.by.Tenant(), tenet.WholeTenant())
			if err != nil {
				return mem0People{}, err
			}
			o, err := a.mem.Operator(c.by, whole)
			if err != nil {
				return mem0People{}, err
			}
			orElse(&r.Page, 1)
			orElse(&r.PageSize, 100)
			users, total, err := o.Users(ctx, (r.Page-1)*r.PageSize, r.PageSize)
			out := mem0People{Count: total, Results: []mem0Person{}}
			out.Next, out.Previous = neighbours("/v1/entities/", r.Page, r.PageSize, total)
			for _, u := range users {
				out.Results = append(out.Results, mem0Person{u, u, "user"})
			}
			return out, err
		})
	at0(a, operation{id: "mem0DeleteUser", method: "DELETE", path: "/v2/entities/{type}/{name}/", also: changes, wait: true, summary: "Retract all of a user's memories; history keeps them"},
		func(ctx context.Context, c call, r *mem0Entity) (mem0Done, error) {
			return a.mem0DeleteAll(ctx, c, Mem0Who{UserID: r.Name})
		})
}

// at0 adds an operation for mem0's clients. Whose memory it is about is in what
// they send, so it is none of a scope's: the handler makes the scope, of the
// key's tenant, and the engine asks whether the key reaches it.
func at0[Req, Resp any](a *API, op operation, do func(context.Context, call, *Req) (Resp, error)) {
	orElse(&op.who, writeSide)
	op.path = mem0Prefix + op.path
	addAt(a, op, place{}, do)
}

// mem0Why stands in the audit entries of what a mem0 client takes back.
const mem0Why = "asked for by a mem0 client"

func (a *API) standing(ctx context.Context, c call, id string) (tenet.Record, error) {
	scope, ids, err := readMem0ID(c, id, 2)
	if err != nil {
		return tenet.Record{}, err
	}
	return a.mem.Standing(ctx, c.by, scope, tenet.RecordID(ids[0]))
}

func (a *API) mem0Add(ctx context.Context, c call, b mem0Add, now bool) (mem0Added, error) {
	scope, err := b.whose(c, false)
	if err != nil {
		return mem0Added{}, err
	}
	if b.Expiration != nil {
		return mem0Added{}, tenet.Errorf(tenet.Invalid, "mem0", "there is no expiration_date: say in the text how long it holds")
	}
	out := mem0Added{Status: "SUCCEEDED", Results: []mem0Event{}, Ignored: named(option{"agent_id", b.AgentID != ""}, option{"app_id", b.AppID != ""},
		option{"metadata", len(b.Metadata) > 0}, option{"custom_categories", len(b.CustomCategories) > 0}, option{"custom_instructions", b.CustomInstructions != ""},
		option{"agent_custom_instructions", b.AgentInstructions != ""}, option{"structured_data_schema", len(b.StructuredDataSchema) > 0},
		option{"memory_type", b.MemoryType != ""})}
	if b.Infer != nil && !*b.Infer {
		return out, a.mem0Remember(ctx, c, scope, b, &out)
	}
	ms := make([]tenet.Message, len(b.Messages))
	for i, m := range b.Messages {
		role, err := tenet.ParseRole(m.Role)
		if err != nil {
			return mem0Added{}, err
		}
		ms[i] = tenet.Message{Role: role, Text: m.Content, Speaker: m.Name, SaidAt: unixTime(b.Timestamp)}
	}
	session, once := tenet.SessionID(b.RunID), b.RunID == ""
	if once {
		session = tenet.SessionID("mem0-" + rand.Text())
	}
	kept, err := a.mem.Append(ctx, c.by, scope, session, ms...)
	if err != nil {
		return mem0Added{}, err
	}
	if out.EventID = mem0ID(scope.Subject().ID(), string(session), microsOf(kept[0].RecordedAt)); !now && !once {
		out.Status, out.Message = "PENDING", "The run is consolidated when its turn is over"
		return out, nil
	}
	s, err := a.mem.OpenSession(ctx, c.by, scope, session)
	switch {
	case err != nil:
		return mem0Added{}, err
	case !now:
		out.Status, out.Message = "PENDING", "The messages are consolidated in the background"
		return out, s.EndLater(ctx)
	case once:
		_, err = s.End(ctx)
	default:
		_, err = a.mem.Consolidate(ctx, c.by, scope, session)
	}
	if err != nil {
		return mem0Added{}, err
	}
	return a.learned(ctx, c, scope, session, kept[0].RecordedAt, out)
}

func unixTime(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// mem0Remember puts each message to the gate as a note, as its speaker's word: a
// host's key vouches for what the user said, and for an assistant nobody does.
func (a *API) mem0Remember(ctx context.Context, c call, scope tenet.Scope, b mem0Add, out *mem0Added) error {
	for _, m := range b.Messages {
		if m.Role != "user" && m.Role != "assistant" {
			return tenet.Errorf(tenet.Invalid, "mem0", "with infer false, messages are the user's or the assistant's")
		}
	}
	var refused error
	for _, m := range b.Messages {
		by := c.by
		if m.Role == "assistant" {
			by = by.AsAgent()
		}
		n := tenet.Note(scope, m.Content).Quoting(m.Content)
		n.Valid.From, n.Speaker = unixTime(b.Timestamp), m.Name
		v, err := a.mem.Remember(ctx, by, n)
		if v.Outcome == 0 {
			return err
		}
		var r tenet.Record
		if err == nil {
			r, err = a.mem.Record(ctx, c.by, scope, v.Record)
		}
		switch tenet.KindOf(err) {
		case tenet.NoError, tenet.NotFound: // erased since
		case tenet.Refused:
			refused = &refusedError{err, v}
		default:
			return err
		}
		out.take(v, r, err == nil)
	}
	if len(out.Results) == 0 && refused != nil {
		return refused // nothing was kept: a client that looks at the status alone must know
	}
	return nil
}

func (a *API) learned(ctx context.Context, c call, scope tenet.Scope, session tenet.SessionID, since time.Time, out mem0Added) (mem0Added, error) {
	l, err := a.mem.Learned(ctx, c.by, scope, session, since)
	if err != nil {
		return mem0Added{}, err
	}
	switch l.State {
	case memory.JobDone:
		out.Status = "SUCCEEDED"
	case memory.JobDead:
		out.Status, out.Message = "FAILED", "Consolidation was given up until an operator retries it"
	default:
		out.Status = "PENDING"
	}
	for _, v := range l.Verdicts {
		r, found := l.Records[v.Record]
		out.take(v, r, found)
	}
	return out, nil
}

func (a *API) mem0Event(ctx context.Context, c call, id string) (mem0Added, error) {
	scope, rest, err := readMem0ID(c, id, 3)
	if err != nil {
		return mem0Added{}, err
	}
	out := mem0Added{ID: id, Results: []mem0Event{}}
	return a.learned(ctx, c, scope, tenet.SessionID(rest[0]), ofMicros(rest[1]), out)
}

func (a *API) mem0Search(ctx context.Context, c call, b mem0Search) (mem0Found, error) {
	if err := b.check(); err != nil {
		return mem0Found{}, err
	}
	scope, err := b.whose(c, true)
	if err != nil {
		return mem0Found{}, err
	}
	facts, err := a.mem.Facts(ctx, c.by, tenet.AsOf{}, scope)
	if err != nil {
		return mem0Found{}, err
	}
	found, err := a.mem.Recall(ctx, c.by, b.Query, memory.RecallOptions{K: b.TopK, Tiers: []tenet.Tier{tenet.TierNote, tenet.TierEpisode}}, scope)
	if err != nil {
		return mem0Found{}, err
	}
	out := mem0Found{Results: []Mem0Memory{}, Degraded: found.Degraded, Approximate: found.Approximate, Ignored: append(b.ignored(), named(option{"threshold", b.Threshold != nil},
		option{"rerank", b.Rerank != nil}, option{"keyword_search", b.KeywordSearch != nil}, option{"explain", b.Explain != nil}, option{"reference_date", b.ReferenceDate != nil})...)}
	top := 1.0 // a fact ranks before what was found: it must not be missed
	for _, h := range found.Hits {
		top = max(top, h.Score)
	}
	for _, f := range facts {
		m := mem0Of(f.Record)
		m.Score = top
		out.Results = append(out.Results, m)
	}
	for _, h := range found.Hits {
		out.Results = append(out.Results, mem0Hit(h))
	}
	return out, nil
}

func (a *API) mem0Update(ctx context.Context, c call, id string, b mem0Update) (mem0Updated, error) {
	if b.Expiration != nil {
		return mem0Updated{}, tenet.Errorf(tenet.Invalid, "mem0", "there is no expiration_date: say in the text how long it holds")
	}
	old, err := a.standing(ctx, c, id)
	if err != nil {
		return mem0Updated{}, err
	}
	v, err := a.mem.Reword(ctx, c.by, old.Scope, old.ID, b.Text)
	if err != nil {
		return mem0Updated{}, explained(decision{v}, err)
	}
	r, err := a.mem.Record(ctx, c.by, old.Scope, v.Record)
	return mem0Updated{mem0Of(r), "Memory updated successfully!", named(option{"metadata", len(b.Metadata) > 0}, option{"timestamp", b.Timestamp != nil})}, err
}

func (a *API) mem0DeleteAll(ctx context.Context, c call, who Mem0Who) (mem0Done, error) {
	scope, err := who.whose(c, true)
	if err != nil {
		return mem0Done{}, err
	}
	done, err := a.mem.RetractAll(ctx, c.by, scope, mem0Why)
	if err == nil && done.Refused > 0 {
		err = tenet.Errorf(tenet.Refused, "mem0", "%d were retracted; %d stay: their label is higher than the key reaches", done.Retracted, done.Refused)
	}
	return mem0Done{"Retracted: nothing of it is believed any more, and history keeps it. To make it gone is POST /v1/users/{user}/erase", done.Retracted}, err
}

func (n Mem0Narrow) ignored() []string {
	return named(option{"fields", len(n.Fields) > 0}, option{"show_expired", n.ShowExpired != nil && *n.ShowExpired}, option{"latest_only", n.LatestOnly != nil && !*n.LatestOnly})
}

func listed(rs []tenet.Record, total int) mem0List {
	out := mem0List{Count: total, Results: []Mem0Memory{}}
	for _, r := range rs {
		out.Results = append(out.Results, mem0Of(r))
	}
	return out
}

// neighbours are the addresses of the pages after and before.
func neighbours(path string, page, size, total int) (next, previous *string) {
	at := func(n int) *string {
		s := mem0Prefix + path + "?page=" + strconv.Itoa(n) + "&page_size=" + strconv.Itoa(size)
		return &s
	}
	if page*size < total {
		next = at(page + 1)
	}
	if page > 1 {
		previous = at(page - 1)
	}
	return next, previous
}
