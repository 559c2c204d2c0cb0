package memory

import (
	"encoding/json"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

// The lines of an export: docs/portability.md describes every field. A line is
// what is read back, byte for byte, so a change is another form.
const exportForm = "tenet export 1"

// headLine begins a part: one subject with everything of it.
type headLine struct {
	Line    string      `json:"line"` // "header"
	Form    string      `json:"form"`
	Tenant  string      `json:"tenant"`
	Subject string      `json:"subject"`
	Part    int         `json:"part"` // from 1
	Parts   int         `json:"parts"`
	Counts  exportCount `json:"counts"`
	Key     string      `json:"key"` // Ed25519, hex: what every line is signed with
}

type exportCount struct {
	Entries  int `json:"entries"`
	Records  int `json:"records"`
	Sessions int `json:"sessions"`
}

// entryLine is one entry of the chain with all that it wrote.
type entryLine struct {
	Line     string           `json:"line"` // "entry"
	Action   string           `json:"action"`
	At       time.Time        `json:"at"`
	Ref      string           `json:"ref,omitempty"`
	Actor    string           `json:"actor,omitempty"`
	Why      string           `json:"why,omitempty"`
	Verdict  *tenet.Verdict   `json:"verdict,omitempty"`
	Records  []recordLine     `json:"records,omitempty"`
	Evidence []tenet.Evidence `json:"evidence,omitempty"`
	Closed   []closedLine     `json:"closed,omitempty"`
	Agreed   *agreedLine      `json:"agreed,omitempty"`
	Held     *heldLine        `json:"held,omitempty"`
	Settled  *settledLine     `json:"settled,omitempty"`
	Staged   *stagedLine      `json:"staged,omitempty"`
	Expired  []tenet.RecordID `json:"expired,omitempty"`
	// Aged are refused candidates whose texts ran out.
	Aged    []tenet.CandidateID `json:"aged,omitempty"`
	Outcome *outcomeLine        `json:"outcome,omitempty"`
	Rests   []restLine          `json:"rests,omitempty"`
	Barred  []barredLine        `json:"barred,omitempty"`
}

// recordLine is a record as it was inserted.
type recordLine struct {
	ID         tenet.RecordID  `json:"id"`
	Tier       tenet.Tier      `json:"tier"`
	Key        string          `json:"key,omitempty"`
	Value      json.RawMessage `json:"value,omitempty"`
	Text       string          `json:"text"`
	Label      tenet.Label     `json:"label"`
	Origins    []originLine    `json:"origins"`
	Session    tenet.SessionID `json:"session,omitempty"`
	Message    tenet.MessageID `json:"message,omitempty"`
	ToolCall   string          `json:"tool_call,omitempty"`
	Speaker    string          `json:"speaker,omitempty"`
	Position   int64           `json:"position,omitempty"`
	Valid      tenet.Interval  `json:"valid"`
	Supersedes tenet.RecordID  `json:"supersedes,omitempty"`
	FragmentOf tenet.RecordID  `json:"fragment_of,omitempty"`
	Elevates   tenet.RecordID  `json:"elevates,omitempty"`
	Seen       int             `json:"seen"`
	Multi      bool            `json:"multi,omitempty"`
	Safety     bool            `json:"safety,omitempty"`
	ExpiresAt  time.Time       `json:"expires_at,omitzero"`
	Expired    bool            `json:"expired,omitempty"`
	Signature  string          `json:"signature,omitempty"`
}

// originLine is an origin; without a subject it is the part's own.
type originLine struct {
	Principal string          `json:"principal"`
	Channel   tenet.Channel   `json:"channel,omitempty"`
	Subject   string          `json:"subject,omitempty"`
	Session   tenet.SessionID `json:"session,omitempty"`
	Message   tenet.MessageID `json:"message,omitempty"`
	ToolCall  string          `json:"tool_call,omitempty"`
	Holds     tenet.Interval  `json:"holds,omitzero"`
	Nobody    bool            `json:"nobody,omitempty"` // it names no subject at all
}

type closedLine struct {
	Record tenet.RecordID `json:"record"`
	Reason tenet.Closing  `json:"reason"`
	By     tenet.RecordID `json:"by,omitempty"`
}

type agreedLine struct {
	Record  tenet.RecordID `json:"record"`
	Origins []originLine   `json:"origins"`
}

// heldLine is a refused candidate; without a text when it has run out.
type heldLine struct {
	tenet.Candidate
	ExpiresAt time.Time `json:"expires_at,omitzero"`
}

type settledLine struct {
	Candidate tenet.CandidateID `json:"candidate"`
	State     tenet.HoldState   `json:"state"`
}

type stagedLine struct {
	Session    tenet.SessionID   `json:"session"`
	From       int64             `json:"from"`
	To         int64             `json:"to"`
	Judged     int               `json:"judged,omitempty"`
	Candidates []tenet.Candidate `json:"candidates,omitempty"` // that wait for their verdict
	Cited      []tenet.Message   `json:"cited,omitempty"`
}

type outcomeLine struct {
	Success bool             `json:"success"`
	Records []tenet.RecordID `json:"records"`
}

type restLine struct {
	Record   tenet.RecordID `json:"record"`
	Dormant  bool           `json:"dormant,omitempty"`
	Pinned   bool           `json:"pinned,omitempty"`
	LowSince time.Time      `json:"low_since,omitzero"`
	ServedAt time.Time      `json:"served_at,omitzero"`
}

type barredLine struct {
	Statement string      `json:"statement"`
	Label     tenet.Label `json:"label"`
}

// sessionLine begins a session; its messages, receipts and proposals follow.
type sessionLine struct {
	Line         string          `json:"line"` // "session"
	ID           tenet.SessionID `json:"id"`
	Reads        []readsLine     `json:"reads,omitempty"`
	TTL          time.Duration   `json:"ttl_ns,omitempty"`
	RetainNone   bool            `json:"retain_none,omitempty"`
	CreatedAt    time.Time       `json:"created_at,omitzero"`
	EndedAt      time.Time       `json:"ended_at,omitzero"`
	LastAt       time.Time       `json:"last_at,omitzero"`
	Length       int64           `json:"length"`
	Consolidated int64           `json:"consolidated"`
	DueAt        time.Time       `json:"due_at,omitzero"`
	Attempts     int             `json:"attempts,omitempty"`
	LastCode     tenet.Code      `json:"last_code,omitempty"`
	Messages     int             `json:"messages"`
	Receipts     int             `json:"receipts"`
	Proposals    int             `json:"proposals"`
}

type readsLine struct {
	Tenant  string `json:"tenant"`
	Subject string `json:"subject"`
}

type messageLine struct {
	Line string `json:"line"` // "message"
	tenet.Message
}

type receiptLine struct {
	Line string `json:"line"` // "receipt"
	tenet.Receipt
}

type proposalLine struct {
	Line string `json:"line"` // "proposal"
	tenet.Candidate
}

// endLine closes the file.
type endLine struct {
	Line  string `json:"line"` // "end"
	Lines int    `json:"lines"`
}

func originLines(os []tenet.Origin, own string) []originLine {
	out := make([]originLine, len(os))
	for i, o := range os {
		out[i] = originLine{Principal: o.Principal, Channel: o.Channel, Session: o.Session, Message: o.Message, ToolCall: o.ToolCall, Holds: o.Holds, Nobody: o.Subject == ""}
		if o.Subject != own {
			out[i].Subject = o.Subject
		}
	}
	return out
}

func originsOf(ls []originLine, own string) []tenet.Origin {
	out := make([]tenet.Origin, len(ls))
	for i, l := range ls {
		out[i] = tenet.Origin{Principal: l.Principal, Channel: l.Channel, Subject: l.Subject, Session: l.Session, Message: l.Message, ToolCall: l.ToolCall, Holds: l.Holds}
		if l.Subject == "" && !l.Nobody {
			out[i].Subject = own
		}
	}
	return out
}

// lineOfEntry writes a plan as a line, and plan reads it back.
func lineOfEntry(p gate.Plan) entryLine {
	own := p.Scope.Key()
	l := entryLine{Line: "entry", Action: p.Kind.String(), At: p.At, Ref: p.Ref, Actor: p.Actor, Why: p.Why, Evidence: p.Evidence, Expired: p.Expire, Aged: p.Aged}
	if p.Verdict.Outcome != 0 {
		l.Verdict = &p.Verdict
	}
	for _, r := range p.Insert {
		l.Records = append(l.Records, recordLine{
			ID: r.ID, Tier: r.Tier, Key: r.Key, Value: r.Value, Text: r.Text, Label: r.Label, Origins: originLines(r.Origins, own),
			Session: r.Session, Message: r.Message, ToolCall: r.ToolCall, Speaker: r.Speaker, Position: r.Position, Valid: r.Valid,
			Supersedes: r.Supersedes, FragmentOf: r.FragmentOf, Elevates: r.Elevates, Seen: r.Seen, Multi: r.Multi, Safety: r.Safety,
			ExpiresAt: r.ExpiresAt, Expired: r.Expired, Signature: r.Signature,
		})
	}
	for _, c := range p.Close {
		l.Closed = append(l.Closed, closedLine(c))
	}
	if a := p.Agree; a != nil {
		l.Agreed = &agreedLine{a.Record, originLines(a.Origins, own)}
	}
	if p.Hold != nil {
		l.Held = &heldLine{p.Candidate, p.Hold.ExpiresAt}
	}
	if s := p.Settles; s != nil {
		l.Settled = &settledLine{s.Candidate, s.State}
	}
	if s := p.Staged; s != nil {
		l.Staged = &stagedLine{s.Session, s.From, s.To, s.Judged, s.Candidates, s.Cited}
	}
	if t := p.Tally; t != nil {
		l.Outcome = &outcomeLine{t.Success, t.Records}
	}
	for _, r := range p.Rests {
		l.Rests = append(l.Rests, restLine(r))
	}
	for _, t := range p.Tombs {
		l.Barred = append(l.Barred, barredLine{t.Statement, t.Label})
	}
	return l
}

func (l entryLine) plan(scope tenet.Scope) gate.Plan {
	own := scope.Key()
	p := gate.Plan{
		Kind: gate.KindNamed(l.Action), Scope: scope, At: l.At.UTC(), Ref: l.Ref, Actor: l.Actor, Why: l.Why, Evidence: l.Evidence, Expire: l.Expired, Aged: l.Aged,
	}
	if l.Verdict != nil {
		p.Verdict = *l.Verdict
	}
	for _, r := range l.Records {
		p.Insert = append(p.Insert, r.record(scope))
	}
	for _, c := range l.Closed {
		p.Close = append(p.Close, gate.Close(c))
	}
	if a := l.Agreed; a != nil {
		p.Agree = &gate.Agreement{Record: a.Record, Origins: originsOf(a.Origins, own)}
	}
	if h := l.Held; h != nil {
		p.Candidate = h.Candidate
		p.Hold = &gate.Hold{State: tenet.HoldOpen, ExpiresAt: h.ExpiresAt, Text: h.Text}
		if p.Verdict.Outcome == tenet.Rejected {
			p.Hold.State = tenet.HoldRefused
		}
	}
	p.Candidate.Scope = scope
	if s := l.Settled; s != nil {
		p.Settles = &gate.Settlement{Candidate: s.Candidate, State: s.State}
	}
	if s := l.Staged; s != nil {
		p.Staged = &gate.Staged{Session: s.Session, From: s.From, To: s.To, Judged: s.Judged, Cited: s.Cited}
		for _, c := range s.Candidates {
			c.Scope = scope
			p.Staged.Candidates = append(p.Staged.Candidates, c)
		}
	}
	if o := l.Outcome; o != nil {
		p.Tally = &gate.Tally{Success: o.Success, Records: o.Records}
	}
	for _, r := range l.Rests {
		p.Rests = append(p.Rests, gate.Rest(r))
	}
	for _, b := range l.Barred {
		p.Tombs = append(p.Tombs, gate.Tombstone{Kind: gate.TombRejected, Statement: b.Statement, Label: b.Label})
	}
	return p
}

func (r recordLine) record(scope tenet.Scope) tenet.Record {
	return tenet.Record{
		ID: r.ID, Scope: scope, Tier: r.Tier, Key: r.Key, Value: r.Value, Text: r.Text, Label: r.Label, Origins: originsOf(r.Origins, scope.Key()),
		Session: r.Session, Message: r.Message, ToolCall: r.ToolCall, Speaker: r.Speaker, Position: r.Position, Valid: r.Valid,
		Supersedes: r.Supersedes, FragmentOf: r.FragmentOf, Elevates: r.Elevates, Seen: r.Seen, Multi: r.Multi, Safety: r.Safety,
		ExpiresAt: r.ExpiresAt, Expired: r.Expired, Signature: r.Signature,
	}
}

func lineOfSession(w store.WholeSession) sessionLine {
	s := w.Session
	l := sessionLine{
		Line: "session", ID: s.ID, TTL: s.TTL, RetainNone: s.RetainNone, CreatedAt: s.CreatedAt, EndedAt: s.EndedAt, LastAt: s.LastAt,
		Length: s.Length, Consolidated: s.Consolidated, DueAt: s.DueAt, Attempts: s.Attempts, LastCode: s.LastCode,
		Messages: len(w.Messages), Receipts: len(w.Receipts), Proposals: len(w.Proposals),
	}
	for _, r := range s.Reads {
		l.Reads = append(l.Reads, readsLine{r.Tenant(), r.Subject().String()})
	}
	return l
}

func (l sessionLine) session(scope tenet.Scope) (tenet.Session, error) {
	s := tenet.Session{
		ID: l.ID, Scope: scope, TTL: l.TTL, RetainNone: l.RetainNone, CreatedAt: l.CreatedAt, EndedAt: l.EndedAt, LastAt: l.LastAt,
		Length: l.Length, Consolidated: l.Consolidated, DueAt: l.DueAt, Attempts: l.Attempts, LastCode: l.LastCode,
	}
	for _, r := range l.Reads {
		sub, err := tenet.ParseSubject(r.Subject)
		if err != nil {
			return s, err
		}
		read, err := tenet.NewScope(r.Tenant, sub)
		if err != nil {
			return s, err
		}
		s.Reads = append(s.Reads, read)
	}
	return s, nil
}
