// Package erasing is what the SQL stores share of erasure: which tables there
// are and what becomes of each, how what hangs on a selection is found, and
// how it is removed. The stores bring the transaction, the lock and the chain.
//
// It imports tenet, gate, store and the standard library. It decides nothing:
// the selection is in a gate's decision.
package erasing

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
)

// Seals is how a store names and reads what it sealed under a subject's key.
type Seals struct {
	Reads     func(sealed []byte, sid int64) ([]tenet.Scope, error)
	SealReads func(rs []tenet.Scope, sid int64) []byte
	// About names a sealed row: what, number, id.
	About     func(what string, n int64, id string) string
	AboutHeld func(seq int64, ref string, expires int64) string
	AboutOnce func(id []byte) string
}

// Subject is one scope under its lock.
type Subject struct {
	Tx
	Seals
	ID    int64
	Scope tenet.Scope
	Key   store.DataKey
}

// Author selects what a person, or a scope, left in another's scope.
type Author struct {
	Principal string // "user:sarah"; empty: nobody
	Scope     tenet.Scope
}

// Selector is where a partial erasure begins.
type Selector struct {
	gate.Selection
	Author Author
	// Items, for an erasure that is repeated from a journal, are the digests of
	// the ids that went.
	Items map[string]bool
}

func (s Selector) origin(o tenet.Origin, key store.DataKey) bool {
	switch {
	case s.Session != "":
		return o.Session == s.Session
	case s.Message != "":
		return o.Message == s.Message
	case s.Origin != "":
		return o.Principal == s.Origin || o.Channel != "" && "channel:"+string(o.Channel) == s.Origin
	case s.Author != Author{}:
		return s.Author.Principal != "" && o.Principal == s.Author.Principal || !s.Author.Scope.IsZero() && o.Subject == s.Author.Scope.Key()
	case s.Items != nil:
		return s.item(key, "message", string(o.Message)) || s.item(key, "session", string(o.Session))
	}
	return false
}

func (s Selector) item(key store.DataKey, kind, id string) bool {
	return s.Items != nil && id != "" && s.Items[string(store.ItemDigest(key, kind, id))]
}

// record is a row with the origins it was written with apart from those that
// agreed later.
type record struct {
	tenet.Record
	agreed []tenet.Origin
	rest   bool // it stays, on the word of others
}

// candidate is one that waits, or was refused.
type candidate struct {
	tenet.Candidate
	seq   int64 // of a refused one
	sid   int64
	where string
	other []tenet.Message // kept with it
}

// Part is what a partial erasure found and did.
type Part struct {
	Counts  map[string]int
	Records []tenet.RecordID
	Kept    []tenet.RecordID
	Tombs   []gate.Tombstone
	Staged  int64 // fewer candidates wait
	Items   [][]byte

	s          Subject
	sel        Selector
	records    []*record
	candidates []candidate
	gone       map[tenet.RecordID]*record
	messages   map[tenet.MessageID]bool
	sessions   map[tenet.SessionID]int64
	statements map[string]bool
	texts      [][]byte
	waiting    []candidate // those of candidates that go
	said       map[tenet.MessageID]string
	quoted     map[string]map[tenet.MessageID]bool // record -> messages kept as its evidence
}

// Erase removes what a selection of a scope that stays comes to.
func Erase(s Subject, sel Selector) (*Part, error) {
	p := &Part{
		Counts: map[string]int{}, s: s, sel: sel, gone: map[tenet.RecordID]*record{}, messages: map[tenet.MessageID]bool{},
		sessions: map[tenet.SessionID]int64{}, statements: map[string]bool{}, said: map[tenet.MessageID]string{}, quoted: map[string]map[tenet.MessageID]bool{},
	}
	for _, step := range []func() error{
		p.readRecords, p.readEvidence, p.readCandidates, p.find, p.findMessages, p.findCandidates,
		p.dropRecords, p.mendRecords, p.dropEvidence, p.dropCandidates, p.dropTrail, p.dropSessions, p.dropMessages, p.mendReceipts, p.dropOpaque, p.mendReads, p.unsign,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	p.leave()
	return p, nil
}

const (
	noStart = math.MinInt64
	noEnd   = math.MaxInt64
)

func at(n int64) time.Time {
	if n == noStart || n == noEnd {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}

func (p *Part) readRecords() error {
	own := p.s.Scope.Key()
	return p.s.Each(`SELECT id, tier, key, value, text, label, origins, agreed, session, message, tool_call, speaker, position,
		valid_from, valid_to, sys_from, supersedes, superseded_by, fragment_of, elevates, multi, safety, expires_at, expired, signature
		FROM tenet.records WHERE scope = ? ORDER BY seq, id`, []any{p.s.ID}, func(scan Scan) error {
		r := &record{Record: tenet.Record{Scope: p.s.Scope}}
		var value, origins, agreed []byte
		var tier, label, vf, vt, kf, ex int64
		if err := scan(&r.ID, &tier, &r.Key, &value, &r.Text, &label, &origins, &agreed, &r.Session, &r.Message, &r.ToolCall, &r.Speaker, &r.Position,
			&vf, &vt, &kf, &r.Supersedes, &r.SupersededBy, &r.FragmentOf, &r.Elevates, &r.Multi, &r.Safety, &ex, &r.Expired, &r.Signature); err != nil {
			return err
		}
		r.Tier, r.Label = tenet.Tier(tier), tenet.Label(label)
		if len(value) > 0 {
			r.Value = bytes.Clone(value)
		}
		r.Valid = tenet.Interval{From: at(vf), To: at(vt)}
		r.Known.From, r.ExpiresAt = at(kf), at(ex)
		var err error
		if r.Origins, err = column.DecodeOrigins(origins, own); err != nil {
			return err
		}
		r.agreed, err = column.DecodeOrigins(agreed, own)
		p.records = append(p.records, r)
		return err
	})
}

func (p *Part) readEvidence() error {
	return p.s.Each(`SELECT record, message, excerpt FROM tenet.evidence WHERE scope = ?`, []any{p.s.ID}, func(scan Scan) error {
		var rec, excerpt string
		var id tenet.MessageID
		if err := scan(&rec, &id, &excerpt); err != nil {
			return err
		}
		if p.quoted[rec] == nil {
			p.quoted[rec] = map[tenet.MessageID]bool{}
		}
		p.quoted[rec][id] = true
		p.said[id] = excerpt
		return nil
	})
}

// readCandidates opens what waits and what was refused.
func (p *Part) readCandidates() error {
	open := func(sealed []byte, about string) (tenet.Candidate, error) {
		if sealed == nil {
			return tenet.Candidate{}, nil
		}
		plain, err := p.s.Key.Unseal(sealed, about)
		if err != nil {
			return tenet.Candidate{}, err
		}
		d := column.Decoder{B: plain}
		c := d.Candidate(p.s.Scope)
		if d.Bad {
			return c, d.Err()
		}
		return c, nil // what may stand behind it is evidence that it cites
	}
	add := func(c candidate, err error) error {
		p.candidates = append(p.candidates, c)
		return err
	}
	if err := p.s.Each(`SELECT h.seq, h.expires_at, h.sealed, t.ref, t.actor FROM tenet.held h JOIN tenet.trail t ON t.scope = h.scope AND t.seq = h.seq
		WHERE h.scope = ?`, []any{p.s.ID}, func(scan Scan) error {
		var seq, expires int64
		var sealed []byte
		var ref, actor string
		if err := scan(&seq, &expires, &sealed, &ref, &actor); err != nil {
			return err
		}
		c, err := open(sealed, p.s.AboutHeld(seq, ref, expires))
		c.ID = tenet.CandidateID(ref)
		if c.ProposedBy == "" {
			c.ProposedBy = actor
		}
		return add(candidate{Candidate: c, seq: seq, where: "held"}, err)
	}); err != nil {
		return err
	}
	for _, table := range []string{"staged", "proposals"} {
		what := strings.TrimSuffix(table, "s")
		if err := p.s.Each(`SELECT sid, candidate, sealed FROM tenet.`+table+` WHERE scope = ?`, []any{p.s.ID}, func(scan Scan) error {
			var sid int64
			var id string
			var sealed []byte
			if err := scan(&sid, &id, &sealed); err != nil {
				return err
			}
			c, err := open(sealed, p.s.About(what, sid, id))
			c.ID = tenet.CandidateID(id)
			return add(candidate{Candidate: c, sid: sid, where: table}, err)
		}); err != nil {
			return err
		}
	}
	return nil
}

// Fingerprint is how tombstones know a record's statement.
func fingerprint(r tenet.Record) string {
	if r.Expired {
		return ""
	}
	return gate.Fingerprint(tenet.Candidate{Tier: r.Tier, Text: r.Text, Value: r.Value})
}

// named reports whether the selection itself says that a record goes.
func (p *Part) named(r *record) bool {
	if p.sel.Record != "" && r.ID == p.sel.Record || p.sel.Key != "" && r.Key == p.sel.Key || p.sel.item(p.s.Key, "record", string(r.ID)) {
		return true
	}
	if !slices.ContainsFunc(r.Origins, func(o tenet.Origin) bool { return p.sel.origin(o, p.s.Key) }) {
		return false
	}
	// Others said the same: it rests on them from now on.
	sound := slices.DeleteFunc(slices.Clone(r.agreed), func(o tenet.Origin) bool { return p.sel.origin(o, p.s.Key) })
	if len(sound) > 0 && r.FragmentOf == "" {
		r.rest = true
		return false
	}
	return true
}

// find follows the selection through parts, elevations and equal statements,
// until nothing new is found.
func (p *Part) find() error {
	for _, r := range p.records {
		if p.named(r) {
			p.gone[r.ID] = r
		}
	}
	for grown := true; grown; {
		grown = false
		words := map[string]bool{}
		said := map[tenet.MessageID]bool{}
		for _, r := range p.gone {
			if f := fingerprint(r.Record); f != "" && p.sayings() {
				words[f] = true
			}
			if p.sayings() {
				for _, o := range r.Origins {
					said[o.Message] = true
				}
			}
		}
		for _, r := range p.records {
			if p.gone[r.ID] != nil {
				continue
			}
			derived := r.FragmentOf != "" && p.gone[r.FragmentOf] != nil || r.Elevates != "" && p.gone[r.Elevates] != nil
			same := words[fingerprint(r.Record)]
			verbatim := r.Tier == tenet.TierEpisode && r.Message != "" && said[r.Message]
			if derived || same || verbatim {
				p.gone[r.ID], r.rest = r, false
				grown = true
			}
		}
	}
	return nil
}

// sayings reports whether the selection is about what was said, whoever said
// it: then equal statements and the turns they stand in go as well.
func (p *Part) sayings() bool { return p.sel.Record != "" || p.sel.Key != "" }

// findMessages is what the session tier holds of it.
func (p *Part) findMessages() error {
	for _, r := range p.gone {
		if p.sayings() {
			for _, o := range r.Origins {
				p.messages[o.Message] = true
			}
			for _, o := range r.agreed {
				p.messages[o.Message] = true
			}
		}
	}
	for _, r := range p.records {
		for _, o := range append(slices.Clone(r.Origins), r.agreed...) {
			if p.sel.origin(o, p.s.Key) {
				p.messages[o.Message] = true
			}
		}
	}
	if p.sel.Message != "" {
		p.messages[p.sel.Message] = true
	}
	delete(p.messages, "")
	names := map[int64]tenet.SessionID{}
	if err := p.s.Each(`SELECT sid, external_id FROM tenet.session_names WHERE scope = ?`, []any{p.s.ID}, func(scan Scan) error {
		var sid int64
		var id tenet.SessionID
		if err := scan(&sid, &id); err != nil {
			return err
		}
		names[sid] = id
		if p.sel.Session == id || p.sel.item(p.s.Key, "session", string(id)) {
			p.sessions[id] = sid
		}
		return nil
	}); err != nil {
		return err
	}
	return p.s.Each(`SELECT sid, id, channel, text, recorded_by FROM tenet.messages WHERE scope = ?`, []any{p.s.ID}, func(scan Scan) error {
		var sid int64
		var id tenet.MessageID
		var channel, text, by string
		if err := scan(&sid, &id, &channel, &text, &by); err != nil {
			return err
		}
		o := tenet.Origin{Principal: by, Channel: tenet.Channel(channel), Session: names[sid], Message: id}
		_, whole := p.sessions[names[sid]]
		if p.messages[id] || whole || p.sel.origin(o, p.s.Key) {
			p.messages[id] = true
			p.said[id] = text
		}
		return nil
	})
}

// findCandidates is what waits or was refused and rests on it, or says it.
func (p *Part) findCandidates() error {
	for _, r := range p.gone {
		if f := fingerprint(r.Record); f != "" {
			p.statements[f] = true
		}
		p.remember(r.Text)
		if len(r.Value) > 0 {
			p.remember(string(r.Value))
		}
	}
	for id := range p.messages {
		p.remember(p.said[id])
	}
	for _, c := range p.candidates {
		f := gate.Fingerprint(c.Candidate)
		goes := slices.ContainsFunc(c.Cites, func(id tenet.MessageID) bool { return p.messages[id] }) ||
			p.session(string(c.Session)) || p.sel.Key != "" && c.Key == p.sel.Key || c.Text != "" && p.statements[f] ||
			p.sel.Record != "" && string(c.ID) == string(p.sel.Record) || p.gone[tenet.RecordID(c.ID)] != nil ||
			p.sel.Origin != "" && c.ProposedBy == p.sel.Origin || p.sel.Author.Principal != "" && c.ProposedBy == p.sel.Author.Principal ||
			p.sel.item(p.s.Key, "candidate", string(c.ID)) || p.holds([]byte(c.Text)) || p.holds([]byte(c.Quote))
		if goes {
			p.waiting = append(p.waiting, c)
		}
	}
	for _, c := range p.waiting {
		if c.Text != "" {
			p.statements[gate.Fingerprint(c.Candidate)] = true
			p.remember(c.Text)
		}
	}
	return nil
}

// remember keeps a text that opaque blobs are searched for. What is shorter
// stands in too much that has nothing to do with it.
const searched = 6

func (p *Part) remember(text string) {
	if len(text) < searched {
		return
	}
	p.texts = append(p.texts, []byte(text))
	if b, err := json.Marshal(text); err == nil && !bytes.Equal(b[1:len(b)-1], []byte(text)) {
		p.texts = append(p.texts, b[1:len(b)-1])
	}
}

// holds reports whether bytes hold an erased text.
func (p *Part) holds(b []byte) bool {
	return slices.ContainsFunc(p.texts, func(t []byte) bool { return bytes.Contains(b, t) })
}

// leave is what stays behind: tombstones, and digests of the ids.
func (p *Part) leave() {
	var words []string
	for f := range p.statements {
		words = append(words, f)
	}
	item := func(kind, id string) { p.Items = append(p.Items, store.ItemDigest(p.s.Key, kind, id)) }
	for id := range p.messages {
		words = append(words, gate.MessageSource(id))
		item("message", string(id))
	}
	if p.sel.Session != "" {
		words = append(words, gate.SessionSource(p.sel.Session))
		item("session", string(p.sel.Session))
	}
	for id := range p.gone {
		p.Records = append(p.Records, id)
		item("record", string(id))
	}
	for _, c := range p.waiting {
		item("candidate", string(c.ID))
	}
	for _, r := range p.records {
		if r.rest {
			p.Kept = append(p.Kept, r.ID)
			words = slices.DeleteFunc(words, func(w string) bool { return w == fingerprint(r.Record) })
		}
	}
	slices.Sort(p.Records)
	slices.SortFunc(p.Items, bytes.Compare)
	p.Tombs = Tombstones(words)
}

// Statements are the fingerprints of everything a subject's memory states,
// what waits and what was refused included.
func Statements(s Subject) ([]string, error) {
	p := &Part{s: s}
	if err := p.readRecords(); err != nil {
		return nil, err
	}
	if err := p.readCandidates(); err != nil {
		return nil, err
	}
	var out []string
	for _, r := range p.records {
		out = append(out, fingerprint(r.Record))
	}
	for _, c := range p.candidates {
		if c.Text != "" {
			out = append(out, gate.Fingerprint(c.Candidate))
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return slices.DeleteFunc(out, func(s string) bool { return s == "" }), nil
}
