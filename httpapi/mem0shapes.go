package httpapi

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// The shapes of mem0's REST API, as its published clients send and read them.

// Mem0Who names whose memory it is. A Tenet memory is of a person; what else a
// mem0 client names is refused where it would narrow an answer.
type Mem0Who struct {
	UserID  string         `json:"user_id,omitempty" maxLength:"256"`
	AgentID string         `json:"agent_id,omitempty" maxLength:"256"`
	AppID   string         `json:"app_id,omitempty" maxLength:"256"`
	RunID   string         `json:"run_id,omitempty" maxLength:"256"`
	Filters map[string]any `json:"filters,omitempty" doc:"user_id, alone or in AND"`
}

type mem0Message struct {
	Role    string `json:"role" enum:"user,assistant,system,tool"`
	Content string `json:"content" minLength:"1" maxLength:"1048576"`
	Name    string `json:"name,omitempty" maxLength:"256"`
}

type mem0Add struct {
	Mem0Who
	Messages   []mem0Message `json:"messages" minItems:"1" maxItems:"500" nullable:"false"`
	Infer      *bool         `json:"infer,omitempty" doc:"false: each message of user or assistant is put to the gate as a note now; default true: the messages are consolidated"`
	Timestamp  int64         `json:"timestamp,omitempty" minimum:"0" maximum:"253402300799" doc:"when it was said, in seconds of Unix time"`
	Expiration *string       `json:"expiration_date,omitempty" nullable:"true" doc:"not supported: 400"`

	Metadata             map[string]any   `json:"metadata,omitempty" doc:"ignored, as the answer says"`
	CustomCategories     []map[string]any `json:"custom_categories,omitempty" doc:"ignored"`
	CustomInstructions   string           `json:"custom_instructions,omitempty" doc:"ignored"`
	AgentInstructions    string           `json:"agent_custom_instructions,omitempty" doc:"ignored"`
	StructuredDataSchema map[string]any   `json:"structured_data_schema,omitempty" doc:"ignored"`
	MemoryType           string           `json:"memory_type,omitempty" doc:"ignored"`
	OutputFormat         string           `json:"output_format,omitempty" doc:"ignored"`
	Version              string           `json:"version,omitempty" doc:"ignored"`
	AsyncMode            *bool            `json:"async_mode,omitempty" doc:"ignored"`
}

// Mem0Narrow is what a client narrows a list or a search by.
type Mem0Narrow struct {
	Mem0Who
	Categories []string `json:"categories,omitempty" doc:"not supported: 400"`
	StartDate  string   `json:"start_date,omitempty" doc:"not supported: 400"`
	EndDate    string   `json:"end_date,omitempty" doc:"not supported: 400"`

	Metadata     map[string]any `json:"metadata,omitempty" doc:"not supported: 400"`
	Fields       []string       `json:"fields,omitempty" doc:"ignored"`
	ShowExpired  *bool          `json:"show_expired,omitempty" doc:"ignored: what has expired is not shown"`
	LatestOnly   *bool          `json:"latest_only,omitempty" doc:"ignored: only the latest is shown"`
	OutputFormat string         `json:"output_format,omitempty" doc:"ignored"`
}

type mem0Search struct {
	Mem0Narrow
	Query         string   `json:"query" minLength:"1" maxLength:"65536"`
	TopK          int      `json:"top_k,omitempty" minimum:"0" maximum:"200" doc:"of what is found by meaning; all facts come first. Default 10"`
	Threshold     *float64 `json:"threshold,omitempty" doc:"ignored: a score here is no similarity"`
	Rerank        *bool    `json:"rerank,omitempty" doc:"ignored"`
	KeywordSearch *bool    `json:"keyword_search,omitempty" doc:"ignored"`
	Explain       *bool    `json:"explain,omitempty" doc:"ignored"`
	ReferenceDate any      `json:"reference_date,omitempty" doc:"ignored"`
	Source        string   `json:"source,omitempty" doc:"ignored"`
}

type mem0Update struct {
	Text       string         `json:"text" minLength:"1" maxLength:"32768"`
	Expiration *string        `json:"expiration_date,omitempty" nullable:"true" doc:"not supported but as null: 400"`
	Metadata   map[string]any `json:"metadata,omitempty" doc:"ignored"`
	Timestamp  any            `json:"timestamp,omitempty" doc:"ignored"`
}

// Mem0Memory is a record. The id says whose it is and which; the metadata is
// Tenet's own word about it.
type Mem0Memory struct {
	ID        string       `json:"id"`
	Memory    string       `json:"memory"`
	UserID    string       `json:"user_id"`
	Metadata  mem0Metadata `json:"metadata"`
	CreatedAt time.Time    `json:"created_at"`
	UpdatedAt time.Time    `json:"updated_at"`
	Score     float64      `json:"score,omitempty"`
}

type mem0Metadata struct {
	Tier    tenet.Tier      `json:"tier"`
	Label   tenet.Label     `json:"label"`
	Key     string          `json:"key,omitempty"`
	Session tenet.SessionID `json:"session,omitempty"`
	Dormant bool            `json:"dormant,omitempty"`
}

type mem0List struct {
	Count    int          `json:"count"`
	Next     *string      `json:"next" nullable:"true"`
	Previous *string      `json:"previous" nullable:"true"`
	Results  []Mem0Memory `json:"results"`
	Ignored  []string     `json:"ignored,omitempty" doc:"what was asked for and made no difference"`
}

type mem0Found struct {
	Results     []Mem0Memory        `json:"results"`
	Degraded    tenet.Code          `json:"degraded,omitempty"`
	Approximate *memory.Approximate `json:"approximate,omitempty"`
	Ignored     []string            `json:"ignored,omitempty"`
}

// mem0Added is what became of an add: what is in memory now, what the gate
// holds or refused, and where to ask about the rest.
type mem0Added struct {
	EventID string       `json:"event_id,omitempty" doc:"GET /mem0/v1/event/{event_id}/ says what became of it"`
	ID      string       `json:"id,omitempty"`
	Status  string       `json:"status" enum:"PENDING,SUCCEEDED,FAILED"`
	Message string       `json:"message,omitempty"`
	Results []mem0Event  `json:"results"`
	Held    []mem0Unkept `json:"held,omitempty" doc:"held for review, or refused"`
	Ignored []string     `json:"ignored,omitempty"`
}

type mem0Event struct {
	Mem0Memory
	Event string `json:"event" enum:"ADD,UPDATE,NONE,DELETE"`
}

type mem0Unkept struct {
	Candidate tenet.CandidateID `json:"candidate"`
	Outcome   tenet.Outcome     `json:"outcome"`
	Codes     []tenet.Code      `json:"codes"`
}

type mem0Past struct {
	ID        string    `json:"id"`
	MemoryID  string    `json:"memory_id"`
	Old       *string   `json:"old_memory" nullable:"true"`
	New       *string   `json:"new_memory" nullable:"true"`
	UserID    string    `json:"user_id"`
	Event     string    `json:"event" enum:"ADD,UPDATE,DELETE"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	IsDeleted bool      `json:"is_deleted"`
}

type mem0Done struct {
	Message   string `json:"message"`
	Retracted int    `json:"retracted,omitempty"`
}

type mem0Updated struct {
	Mem0Memory
	Message string   `json:"message"`
	Ignored []string `json:"ignored,omitempty"`
}

// whose is the scope that a mem0 client names: user_id, in filters or beside
// them, and of a key for one person that person. What would narrow further is
// refused: an answer without it would hold too much.
func (w Mem0Who) whose(c call, narrowing bool) (tenet.Scope, error) {
	user, err := userOf(w.Filters, 0)
	switch {
	case err != nil:
		return tenet.Scope{}, err
	case user != "" && w.UserID != "" && user != w.UserID:
		return tenet.Scope{}, tenet.Errorf(tenet.Invalid, "mem0", "two different users are named")
	case user == "":
		user = w.UserID
	}
	if narrowing && (w.AgentID != "" || w.AppID != "" || w.RunID != "") {
		return tenet.Scope{}, tenet.Errorf(tenet.Invalid, "mem0", "memory is of a user: it is not narrowed to an agent, app or run")
	}
	if user == "" {
		if only, ok := c.by.Only(); ok && only.Kind() == tenet.SubjectUser {
			user = only.ID()
		}
	}
	if user == "" {
		return tenet.Scope{}, tenet.Errorf(tenet.Invalid, "mem0", "at least one identifier is required: name the user_id")
	}
	return tenet.NewScope(c.by.Tenant(), tenet.User(user))
}

// userOf reads filters that name one user and nothing else: {"user_id": ...},
// also in AND. The empty user is none.
func userOf(filters map[string]any, depth int) (string, error) {
	unsupported := tenet.Errorf(tenet.Invalid, "mem0", "filters name one user_id, alone or in AND, and nothing else")
	user := ""
	for name, v := range filters {
		switch x := v.(type) {
		case string:
			if name != "user_id" || user != "" && x != user {
				return "", unsupported
			}
			user = x
		case []any:
			if name != "AND" || depth > 2 {
				return "", unsupported
			}
			for _, part := range x {
				in, isMap := part.(map[string]any)
				u, err := userOf(in, depth+1)
				if !isMap || err != nil || u != "" && user != "" && u != user {
					return "", unsupported
				}
				user = max(user, u)
			}
		default:
			return "", unsupported
		}
	}
	return user, nil
}

func (n Mem0Narrow) check() error {
	if len(n.Categories) > 0 || n.StartDate != "" || n.EndDate != "" || len(n.Metadata) > 0 {
		return tenet.Errorf(tenet.Invalid, "mem0", "there is no filter by categories, metadata or date")
	}
	return nil
}

// option is whether a client asked for something.
type option struct {
	name  string
	given bool
}

// named lists the names of what was asked for.
func named(options ...option) []string {
	var out []string
	for _, o := range options {
		if o.given {
			out = append(out, o.name)
		}
	}
	return out
}

// mem0ID says whose record it is and which. It is a name and no permission: the
// tenant is the key's, and the key must reach the subject.
func mem0ID(parts ...string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Join(parts, "\n")))
}

// readMem0ID reads an id of n parts, the first of them a user.
func readMem0ID(c call, id string, n int) (tenet.Scope, []string, error) {
	notFound := tenet.Errorf(tenet.NotFound, "mem0", "no memory has this id")
	raw, err := base64.RawURLEncoding.Strict().DecodeString(id)
	parts := strings.Split(string(raw), "\n")
	if err != nil || len(parts) != n || slices.Contains(parts, "") {
		return tenet.Scope{}, nil, notFound
	}
	scope, err := tenet.NewScope(c.by.Tenant(), tenet.User(parts[0]))
	if err != nil {
		return tenet.Scope{}, nil, notFound
	}
	return scope, parts[1:], nil
}

func mem0Of(r tenet.Record) Mem0Memory {
	user := r.Scope.Subject().ID()
	return Mem0Memory{
		ID: mem0ID(user, string(r.ID)), Memory: r.Text, UserID: user, CreatedAt: r.Known.From, UpdatedAt: r.Known.From,
		Metadata: mem0Metadata{Tier: r.Tier, Label: r.Label, Key: r.Key, Session: r.Session},
	}
}

func mem0Hit(h memory.Recalled) Mem0Memory {
	user := h.Scope.Subject().ID()
	return Mem0Memory{
		ID: mem0ID(user, string(h.ID)), Memory: h.Text, UserID: user, CreatedAt: h.RecordedAt, UpdatedAt: h.RecordedAt, Score: h.Score,
		Metadata: mem0Metadata{Tier: h.Tier, Label: h.Label, Key: h.Key, Session: h.Session, Dormant: h.Dormant},
	}
}

// take sorts verdicts into what is in memory and what is not.
func (a *mem0Added) take(v tenet.Verdict, r tenet.Record, found bool) {
	event := map[tenet.Outcome]string{tenet.Stored: "ADD", tenet.Superseded: "UPDATE", tenet.Corroborated: "NONE"}[v.Outcome]
	switch {
	case !v.Outcome.Kept():
		codes := v.Codes
		if codes == nil {
			codes = []tenet.Code{}
		}
		a.Held = append(a.Held, mem0Unkept{v.Candidate, v.Outcome, codes})
	case found && slices.Contains(v.Codes, tenet.CodeEnded), found && slices.Contains(v.Codes, tenet.CodeRetracted):
		a.Results = append(a.Results, mem0Event{mem0Of(r), "DELETE"})
	case found && r.Tier != tenet.TierDocument:
		a.Results = append(a.Results, mem0Event{mem0Of(r), event})
	}
}

// pasts are a succession as mem0's history tells it.
func pasts(line []tenet.Record) []mem0Past {
	out := []mem0Past{}
	for i, r := range line {
		m := mem0Of(r)
		p := mem0Past{ID: m.ID, MemoryID: m.ID, New: &line[i].Text, UserID: m.UserID, Event: "ADD", CreatedAt: r.Known.From, UpdatedAt: r.Known.From}
		if i > 0 {
			p.Event, p.Old = "UPDATE", &line[i-1].Text
		}
		out = append(out, p)
		if last := i == len(line)-1; last && !r.Known.Open() {
			out = append(out, mem0Past{ID: m.ID + "-end", MemoryID: m.ID, Old: &line[i].Text, UserID: m.UserID, Event: "DELETE",
				CreatedAt: r.Known.From, UpdatedAt: r.Known.To, IsDeleted: true})
		}
	}
	return out
}

// microsOf and ofMicros write a time into an id.
func microsOf(t time.Time) string { return strconv.FormatInt(t.UnixMicro(), 10) }

func ofMicros(s string) time.Time { return time.UnixMicro(number(s)).UTC() }
