package memory

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

// Exported is what an export holds.
type Exported struct {
	Parts    int `json:"parts"` // subjects
	Entries  int `json:"entries"`
	Records  int `json:"records"`
	Sessions int `json:"sessions"`
	Messages int `json:"messages"`
	Lines    int `json:"lines"`
}

// pastPage is how many entries are read at a time. Each page is a walk over the
// scope's rows: fewer pages are faster, and hold more.
const pastPage = 4000

const maxChanges = 10_000

// Export writes everything that is kept about the scope as signed JSON lines:
// the entries of its chain with all that they wrote, and its sessions. The same
// memory gives the same bytes. An operator of the tenant may export any subject
// of it, a person what is their own. With all, an operator exports every subject
// of the tenant, one after the other.
//
// Errors: Denied, NotFound when nothing is kept, Conflict when something was
// erased, settled or consolidated while it was read (begin again), Unavailable.
// After an error the file has no end, and no import takes it.
func (m *Memory) Export(ctx context.Context, by tenet.Principal, scope tenet.Scope, all bool, w io.Writer) (Exported, error) {
	const op = "export"
	if err := m.portable(op, by, scope); err != nil {
		return Exported{}, err
	}
	scopes := []tenet.Scope{scope}
	if all {
		if by.Kind() != tenet.Operator || by.Narrowed() {
			return Exported{}, tenet.Errorf(tenet.Denied, op, "only an operator of the whole tenant exports all of it")
		}
		var err error
		if scopes, err = m.subjects(ctx, scope.Tenant()); err != nil {
			return Exported{}, err
		}
	}
	e := &exporter{m: m, w: bufio.NewWriterSize(w, 64<<10), out: Exported{Parts: len(scopes)}}
	for i, s := range scopes {
		if err := e.part(ctx, s, i+1, len(scopes)); err != nil {
			return e.out, err
		}
	}
	if len(scopes) == 0 {
		return e.out, tenet.Errorf(tenet.NotFound, op, "nothing is kept")
	}
	if err := e.line(endLine{"end", e.out.Lines + 1}); err != nil {
		return e.out, err
	}
	if e.w.Flush() != nil {
		return e.out, errWrite
	}
	return e.out, nil
}

var errWrite = tenet.Errorf(tenet.Unavailable, "export", "the export cannot be written")

// portable says whether the principal may take the scope's memory with it, and
// the engine can.
func (m *Memory) portable(op string, by tenet.Principal, scope tenet.Scope) error {
	if err := m.durable(op); err != nil {
		return err
	}
	if err := reach(op, by, scope); err != nil {
		return err
	}
	if by.Kind() != tenet.Operator && (by.Kind() != tenet.EndUser || scope.Subject().Kind() != tenet.SubjectUser) {
		return tenet.Errorf(tenet.Denied, op, "only an operator of the tenant, or the person for themselves")
	}
	_, ledger := m.ledger.(store.Archive)
	if _, sessions := m.sessions.(store.SessionArchive); !ledger || !sessions || len(m.cfg.ErasureKey) != ed25519.PrivateKeySize {
		return tenet.Errorf(tenet.Unavailable, op, "the store gives nothing out, or there is no key to sign with")
	}
	return nil
}

// subjects lists a tenant's scopes: those with a chain, and those of which
// there are only sessions so far.
func (m *Memory) subjects(ctx context.Context, tenant string) ([]tenet.Scope, error) {
	seen := map[tenet.Scope]bool{}
	var out []tenet.Scope
	add := func(s tenet.Scope) {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	for after := (tenet.Scope{}); ; {
		page, err := m.ledger.Scopes(ctx, tenant, after, pastPage)
		if err != nil {
			return nil, err
		}
		for _, s := range page {
			add(s)
		}
		if len(page) < pastPage {
			break
		}
		after = page[len(page)-1]
	}
	for skip := 0; ; skip += pastPage {
		page, err := m.sessions.Waiting(ctx, tenant, skip, pastPage)
		if err != nil {
			return nil, err
		}
		for _, s := range page {
			add(s.Scope)
		}
		if len(page) < pastPage {
			break
		}
	}
	slices.SortFunc(out, func(a, b tenet.Scope) int { return strings.Compare(a.Subject().String(), b.Subject().String()) })
	return out, nil
}

// exporter is one export on its way out.
type exporter struct {
	m    *Memory
	w    *bufio.Writer
	prev []byte // the signature of the line before
	out  Exported
}

const sigLead, sigTail = `,"sig":"`, `"}`

// line signs and writes a line. The signature covers the line and, through the
// one before it, everything that stands before.
func (e *exporter) line(v any) error {
	body, err := encodeLine(v)
	if err != nil {
		return err
	}
	e.prev = ed25519.Sign(e.m.cfg.ErasureKey, signedLine(e.prev, body))
	e.w.Write(body[:len(body)-1])
	e.w.WriteString(sigLead)
	e.w.WriteString(base64.RawURLEncoding.EncodeToString(e.prev))
	e.w.WriteString(sigTail)
	if e.w.WriteByte('\n') != nil { // the first error stays
		return errWrite
	}
	e.out.Lines++
	return nil
}

// encodeLine is a line without its signature.
func encodeLine(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // a raw value must come back byte for byte
	if enc.Encode(v) != nil {
		return nil, tenet.Errorf(tenet.Invalid, "export", "something that is kept has no form as JSON: a time past the year 9999, say")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// signedLine is what is signed of a line.
func signedLine(prev, body []byte) []byte {
	b := append([]byte(exportForm+" line\n"), prev...)
	return append(b, body...)
}

// past calls f with each plan of the scope's chain up to entry last.
func (m *Memory) past(ctx context.Context, scope tenet.Scope, last uint64, f func(gate.Plan) error) error {
	a := m.ledger.(store.Archive)
	for after := uint64(0); after < last; {
		ps, to, err := a.Past(ctx, scope, after, int(min(pastPage, last-after)))
		if err != nil {
			return err
		}
		for _, p := range ps {
			if err := f(p); err != nil {
				return err
			}
		}
		if to == after { // it was erased meanwhile
			return tenet.Errorf(tenet.Conflict, "export", "the memory changed while it was read; begin again")
		}
		after = to
	}
	return nil
}

func (e *exporter) part(ctx context.Context, scope tenet.Scope, n, of int) error {
	changed := tenet.Errorf(tenet.Conflict, "export", "the memory changed while it was read; begin again")
	head, err := e.m.ledger.Head(ctx, scope)
	if err != nil {
		return err
	}
	var sessions []tenet.SessionID
	archive := e.m.sessions.(store.SessionArchive)
	for after := tenet.SessionID(""); ; {
		page, err := archive.SessionsOf(ctx, scope, after, pastPage)
		if err != nil {
			return err
		}
		for _, s := range page {
			sessions = append(sessions, s.ID)
		}
		if len(page) < pastPage {
			break
		}
		after = sessions[len(sessions)-1]
	}
	if head.Audit == 0 && len(sessions) == 0 {
		return tenet.Errorf(tenet.NotFound, "export", "nothing is kept about the subject")
	}
	counts := exportCount{Sessions: len(sessions)}
	if err := e.m.past(ctx, scope, head.Audit, func(p gate.Plan) error {
		counts.Entries++
		counts.Records += len(p.Insert)
		return nil
	}); err != nil {
		return err
	}
	key := e.m.cfg.ErasureKey.Public().(ed25519.PublicKey)
	if err := e.line(headLine{"header", exportForm, scope.Tenant(), scope.Subject().String(), n, of, counts, hex.EncodeToString(key)}); err != nil {
		return err
	}
	if err := e.m.past(ctx, scope, head.Audit, func(p gate.Plan) error {
		counts.Entries--
		counts.Records -= len(p.Insert)
		e.out.Entries++
		e.out.Records += len(p.Insert)
		return e.line(lineOfEntry(p))
	}); err != nil {
		return err
	}
	if counts.Entries != 0 || counts.Records != 0 {
		return changed
	}
	for _, id := range sessions {
		w, err := archive.Whole(ctx, scope, id)
		if tenet.KindOf(err) == tenet.NotFound {
			return changed
		}
		if err != nil {
			return err
		}
		if err := e.session(w); err != nil {
			return err
		}
	}
	return e.unmoved(ctx, scope, head.Audit, changed)
}

func (e *exporter) session(w store.WholeSession) error {
	e.out.Sessions++
	e.out.Messages += len(w.Messages)
	if err := e.line(lineOfSession(w)); err != nil {
		return err
	}
	for _, m := range w.Messages {
		if err := e.line(messageLine{"message", m}); err != nil {
			return err
		}
	}
	for _, r := range w.Receipts {
		if err := e.line(receiptLine{"receipt", r}); err != nil {
			return err
		}
	}
	for _, p := range w.Proposals {
		if err := e.line(proposalLine{"proposal", p}); err != nil {
			return err
		}
	}
	return nil
}

// unmoved reports what came after entry last if it changed something that was
// read before: what was only added is a later export's.
func (e *exporter) unmoved(ctx context.Context, scope tenet.Scope, last uint64, changed error) error {
	more, err := e.m.ledger.Audit(ctx, scope, last+1, maxChanges)
	if err != nil {
		return err
	}
	for _, a := range more {
		switch gate.KindNamed(a.Action) {
		case gate.Erase, gate.Expire, gate.Settle, gate.Stage, gate.Cut:
			return changed
		}
	}
	if len(more) == maxChanges {
		return changed
	}
	now, err := e.m.ledger.Head(ctx, scope)
	if err == nil && now.Audit < last {
		err = changed // the subject was erased
	}
	return err
}
