package memory

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

// Prompt is what a person is shown before they confirm a hold: word for word
// what would be kept, what it would replace, where it comes from and what it
// would do. The nonce signs exactly this.
type Prompt struct {
	Held      tenet.CandidateID `json:"held"`
	Nonce     string            `json:"nonce"`
	Tier      tenet.Tier        `json:"tier"` // what it would be kept as
	Key       string            `json:"key,omitempty"`
	Text      string            `json:"text"`
	Value     json.RawMessage   `json:"value,omitempty"`
	Op        tenet.Op          `json:"op,omitempty"`
	Current   string            `json:"current,omitempty"` // what holds under the key now
	Origin    string            `json:"origin"`            // in words
	Effect    string            `json:"effect"`            // in words
	ExpiresAt time.Time         `json:"expires_at"`
}

// Bounds on asking. A person who is asked all day confirms anything.
const (
	promptsPerDay = 5
	promptFor     = 15 * time.Minute
)

// Confirmable lists the scope's open holds that a person could confirm, newest
// first, after the given one. It is Denied to agents.
func (m *Memory) Confirmable(ctx context.Context, by tenet.Principal, scope tenet.Scope, after tenet.CandidateID, limit int) ([]tenet.Held, error) {
	if err := m.mayAsk("confirmable", by, scope); err != nil {
		return nil, err
	}
	if limit <= 0 {
		return nil, tenet.Errorf(tenet.Invalid, "confirmable", "no limit")
	}
	var out []tenet.Held
	for len(out) < limit {
		page, err := m.ledger.Held(ctx, scope, m.now(), after, 100)
		if err != nil || len(page) == 0 {
			return out, err
		}
		for _, h := range page {
			if after = h.Verdict.Candidate; confirmable(h, m.now()) == nil && len(out) < limit {
				out = append(out, h)
			}
		}
	}
	return out, nil
}

func (m *Memory) mayAsk(op string, by tenet.Principal, scope tenet.Scope) error {
	if err := m.durable(op); err != nil {
		return err
	}
	if err := reach(op, by, scope); err != nil {
		return err
	}
	switch by.Kind() {
	case tenet.App, tenet.EndUser, tenet.Operator:
		return nil
	}
	return tenet.Errorf(tenet.Denied, op, "%s principals may not ask the user", by.Kind())
}

// confirmable is why a hold can't be confirmed.
func confirmable(h tenet.Held, now time.Time) error {
	switch {
	case h.State != tenet.HoldOpen:
		return tenet.Errorf(tenet.Conflict, "ask", "the hold is %s, not open", h.State)
	case !now.Before(h.ExpiresAt):
		return tenet.Errorf(tenet.Conflict, "ask", "the hold has run out and its text with it")
	case h.Verdict.Outcome != tenet.Quarantined || h.Verdict.Effect == gate.E3.String():
		return &tenet.Error{Kind: tenet.Refused, Op: "ask", Reason: "it was refused, not held: nobody can confirm it", Code: firstCode(h.Verdict)}
	case h.Candidate.Key == tenet.KeyForget:
		return tenet.Errorf(tenet.Refused, "ask", "an operator has to find what is meant")
	}
	return nil
}

func firstCode(v tenet.Verdict) tenet.Code {
	if len(v.Codes) == 0 {
		return ""
	}
	return v.Codes[0]
}

// Ask prepares the question to the person whether a held candidate is true.
// Asking is on record. About five different holds a day at most, and the same
// one again costs nothing; past that it is Refused with PROMPT_LIMIT. Other
// errors: NotFound, Conflict when the hold is not open, Refused for what nobody
// can confirm, Denied to agents.
func (m *Memory) Ask(ctx context.Context, by tenet.Principal, scope tenet.Scope, held tenet.CandidateID) (Prompt, error) {
	if err := m.mayAsk("ask", by, scope); err != nil {
		return Prompt{}, err
	}
	h, err := m.held(ctx, scope, held)
	if err != nil {
		return Prompt{}, err
	}
	now := m.now()
	if err := confirmable(h, now); err != nil {
		return Prompt{}, err
	}
	if err := m.place(ctx, by, scope, held, now); err != nil {
		return Prompt{}, err
	}
	current, err := m.current(ctx, scope, h)
	if err != nil {
		return Prompt{}, err
	}
	origin, err := m.originInWords(ctx, scope, h)
	if err != nil {
		return Prompt{}, err
	}
	c := h.Candidate
	p := Prompt{
		Held: held, Tier: c.Tier, Key: c.Key, Text: c.Text, Value: c.Value, Op: c.Op, Current: current.Text,
		Origin: origin, Effect: effectInWords(h), ExpiresAt: earlier(now.Add(promptFor), h.ExpiresAt),
	}
	if gate.Inert(h) {
		p.Tier, p.Key, p.Value, p.Current, current = tenet.TierNote, "", nil, "", tenet.Record{ID: tenet.NoVersion}
	}
	p.Nonce = m.sign(scope, h, ticket{Held: held, Version: current.ID, Until: p.ExpiresAt.UnixMicro()})
	return p, nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// place takes one of the day's places for a question. A place holds one
// candidate, so that the ledger itself counts.
func (m *Memory) place(ctx context.Context, by tenet.Principal, scope tenet.Scope, held tenet.CandidateID, now time.Time) error {
	for n := range promptsPerDay {
		d, err := m.gate.AskFirst(by, scope, held, fmt.Sprintf("ask/%s/%d", day(now), n+1), now)
		if err != nil {
			return err
		}
		if _, err = m.ledger.Apply(ctx, []gate.Decision{d}, nil); tenet.KindOf(err) != tenet.Conflict {
			return err
		}
	}
	return &tenet.Error{Kind: tenet.Refused, Op: "ask", Code: tenet.CodePromptLimit, Reason: fmt.Sprintf("the user was asked about %d holds today", promptsPerDay)}
}

// current is what holds under the candidate's key, with NoVersion as its id
// when that is nothing or does not matter.
func (m *Memory) current(ctx context.Context, scope tenet.Scope, h tenet.Held) (tenet.Record, error) {
	none := tenet.Record{ID: tenet.NoVersion}
	c := h.Candidate
	if c.Tier != tenet.TierFact || c.Multi {
		return none, nil
	}
	now := m.now()
	s, err := m.ledger.State(ctx, scope, gate.Query{Tier: c.Tier, Key: c.Key, Since: now}, now)
	if err != nil {
		return none, err
	}
	for _, r := range s.Open {
		if r.Valid.Open() {
			return r, nil
		}
	}
	return none, nil
}

// ticket is what a nonce says in the clear.
type ticket struct {
	Held    tenet.CandidateID `json:"h"`
	Version tenet.RecordID    `json:"v"`
	Until   int64             `json:"u"`
}

// sign makes a nonce: the ticket and an HMAC over it, the scope and everything
// of the candidate that was shown.
func (m *Memory) sign(scope tenet.Scope, h tenet.Held, t ticket) string {
	body, _ := json.Marshal(t) // strings and a number
	return base64.RawURLEncoding.EncodeToString(append(m.seal(scope, h, body), body...))
}

func (m *Memory) seal(scope tenet.Scope, h tenet.Held, ticket []byte) []byte {
	mac := hmac.New(sha256.New, m.secret)
	c := h.Candidate
	for _, s := range []string{"confirm", scope.Key(), string(ticket), c.Tier.String(), c.Key, c.Text, string(c.Value), c.Op.String(), h.Verdict.Effect} {
		fmt.Fprintf(mac, "%d:%s", len(s), s)
	}
	return mac.Sum(nil)
}

// Confirm admits what the person was shown, as a new record of label
// user_confirmed that elevates the hold. Only the person's own principal may.
// The nonce works once: the hold is settled by it. Errors: Invalid for what is
// no nonce, Denied for one of another subject, altered, or not signed here;
// Conflict when it ran out or what it would replace has changed since: ask
// again; Refused for what no user may confirm.
func (m *Memory) Confirm(ctx context.Context, by tenet.Principal, scope tenet.Scope, nonce string) (tenet.Verdict, error) {
	const op = "confirm"
	if err := m.durable(op); err != nil {
		return tenet.Verdict{}, err
	}
	if err := reach(op, by, scope); err != nil {
		return tenet.Verdict{}, err
	}
	if by.Kind() != tenet.EndUser {
		return tenet.Verdict{}, tenet.Errorf(tenet.Denied, op, "only the user may confirm")
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(nonce)
	var t ticket
	if err != nil || len(raw) <= sha256.Size || len(nonce) > 2*tenet.MaxID+256 || tenet.DecodeJSON(raw[sha256.Size:], &t) != nil {
		return tenet.Verdict{}, tenet.Errorf(tenet.Invalid, op, "that is no nonce")
	}
	if v, done, err := m.answeredVerdict(ctx, by); done || err != nil {
		return v, err
	}
	h, err := m.held(ctx, scope, t.Held)
	if tenet.KindOf(err) == tenet.NotFound {
		return tenet.Verdict{}, tenet.Errorf(tenet.Denied, op, "the nonce is not for this subject")
	}
	if err != nil {
		return tenet.Verdict{}, err
	}
	if err := confirmable(h, m.now()); err != nil {
		return tenet.Verdict{}, err
	}
	if !hmac.Equal(raw[:sha256.Size], m.seal(scope, h, raw[sha256.Size:])) {
		return tenet.Verdict{}, tenet.Errorf(tenet.Denied, op, "the nonce was not made here for what is held")
	}
	if m.now().UnixMicro() >= t.Until {
		return tenet.Verdict{}, tenet.Errorf(tenet.Conflict, op, "the nonce has run out; ask again")
	}
	k, err := m.elevated(ctx, by, scope, h, "/confirmed")
	if err != nil {
		return tenet.Verdict{}, err
	}
	if k.Candidate.Tier == tenet.TierFact && !k.Candidate.Multi {
		k.Candidate.IfVersion = t.Version // what was shown as current must still be
	}
	return m.elevate(ctx, by, k, func(k gate.Case) (gate.Decision, error) { return m.gate.Confirm(k, h) })
}

// answeredVerdict is the verdict of an earlier call under the same idempotency
// key.
func (m *Memory) answeredVerdict(ctx context.Context, by tenet.Principal) (tenet.Verdict, bool, error) {
	c := callOf(ctx)
	if c == nil || m.onces == nil {
		return tenet.Verdict{}, false, nil
	}
	r, err := m.onces.Recorded(ctx, c.once(by, m.now()))
	if err != nil || r == nil {
		return tenet.Verdict{}, false, err
	}
	c.Replayed = true
	var vs []tenet.Verdict
	if json.Unmarshal(r.Answer, &vs) != nil || len(vs) != 1 {
		return tenet.Verdict{}, false, tenet.Errorf(tenet.Internal, "replay", "the recorded answer does not decode")
	}
	return vs[0], true, nil
}

// elevated is the case of a held candidate that somebody vouches for. Cited
// messages may be gone with their session; then the review is the provenance
// that remains.
func (m *Memory) elevated(ctx context.Context, by tenet.Principal, scope tenet.Scope, h tenet.Held, suffix tenet.CandidateID) (gate.Case, error) {
	c := h.Candidate
	c.Scope, c.ID, c.IfVersion = scope, h.Verdict.Candidate+suffix, ""
	k, err := m.buildCase(ctx, by, c)
	if err != nil {
		return k, err
	}
	if len(k.Evidence) < len(c.Cites) {
		k.Candidate.Cites = nil
		for _, msg := range k.Evidence {
			k.Candidate.Cites = append(k.Candidate.Cites, msg.ID)
		}
		if k.Candidate.Quote == "" {
			k.Candidate.Quote = c.Text
		}
	}
	return k, nil
}

// elevate judges and applies an elevation, again under the ledger's lock when
// the state is not the one it was judged against.
func (m *Memory) elevate(ctx context.Context, by tenet.Principal, k gate.Case, judge func(gate.Case) (gate.Decision, error)) (tenet.Verdict, error) {
	var err error
	if k.State, err = m.ledger.State(ctx, k.Candidate.Scope, m.gate.Query(k), k.At); err != nil {
		return tenet.Verdict{}, err
	}
	d, err := judge(k)
	if err != nil {
		return tenet.Verdict{}, err
	}
	applied, err := onceApplied(ctx, by, k.At, func(ctx context.Context) ([]store.Applied, error) {
		return m.ledger.Apply(ctx, []gate.Decision{d}, func(_ int, s gate.State) (gate.Decision, error) {
			k.State = s
			return judge(k)
		})
	})
	if err != nil {
		return tenet.Verdict{}, err
	}
	if !applied[0].Replayed {
		m.counts.verdict(by.Tenant(), applied[0].Verdict)
	}
	return applied[0].Verdict, nil
}

// originInWords says where a held candidate comes from.
func (m *Memory) originInWords(ctx context.Context, scope tenet.Scope, h tenet.Held) (string, error) {
	when := h.Verdict.At
	via := tenet.Channel("")
	if len(h.Candidate.Cites) > 0 {
		ms, err := m.sessions.Cited(ctx, scope, h.Candidate.Cites)
		if err != nil {
			return "", err
		}
		for _, msg := range ms {
			when, via = msg.Said(), max(via, msg.Channel)
		}
	}
	who := map[tenet.Label]string{
		tenet.LabelExternal: "from text that came from outside: a page, mail, document or tool result", tenet.LabelAgentInferred: "concluded by an assistant",
		tenet.LabelAttestedTool: "reported by a connected system", tenet.LabelUserStated: "your own words", tenet.LabelUserConfirmed: "confirmed by you",
		tenet.LabelOperator: "from an operator",
	}[h.Verdict.Label]
	switch {
	case who == "":
		who = "of unknown origin"
	case via == tenet.ChannelPrefilled:
		who = "from a link or button that filled the prompt in"
	}
	return fmt.Sprintf("%s, recorded by %s on %s", who, h.By, when.UTC().Format("2 January 2006")), nil
}

func effectInWords(h tenet.Held) string {
	switch {
	case h.Candidate.Op == tenet.OpEnd:
		return "It says that something no longer holds."
	case h.Candidate.Op == tenet.OpRetract:
		return "It takes something back that is kept now."
	}
	switch h.Verdict.Effect {
	case gate.E1.String():
		return "It asks for a form, tone, warning or filter in answers."
	case gate.E2.String():
		return "It asks for acts with consequences: money, access, sharing, execution or whom to trust. It would be kept as an inert note that authorises nothing."
	}
	return "It states a fact or a preference."
}
