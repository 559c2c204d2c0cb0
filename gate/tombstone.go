package gate

import (
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
)

// Tombstone keeps a statement from being learned again. A ledger keeps a keyed
// fingerprint of it, never the words.
type Tombstone struct {
	Kind      TombKind
	Statement string      // canonical, see Fingerprint
	Label     tenet.Label // Rejected: the label that was rejected
}

// TombKind is why a statement has a tombstone.
type TombKind uint8

const (
	// TombRejected blocks candidates at or below the rejected label: nobody can
	// deny Sarah her allergy by getting a copy of it rejected.
	TombRejected TombKind = 1
	// TombErased blocks evidence recorded before it, and every label but the
	// user's own: what was erased is not re-learned, and the user may say it again.
	TombErased TombKind = 2
)

// Block is what a scope's tombstones say about one statement; zero: nothing.
type Block struct {
	Rejected tenet.Label // the highest label that was rejected
	Erased   time.Time   // the last erasure of the statement
	Source   bool        // a message or session that it rests on was erased
	Subject  time.Time   // the last erasure of all that the scope held
}

// Fingerprint is the canonical form under which tombstones know a statement:
// the signature of its words, whatever its tier and key. A paraphrase has
// another one; what stops paraphrases is their origin.
func Fingerprint(c tenet.Candidate) string {
	f, _ := fingerprint(c)
	return f
}

// fingerprint also says whether it is the signature of words; a text of signs
// alone has none and stands for itself.
func fingerprint(c tenet.Candidate) (string, bool) {
	text := strings.TrimSpace(storedForm(c.Text))
	if text == "" && len(c.Value) > 0 {
		text = valueWords(c.Value)
	}
	if sig := Signature(text, false); sig != "|" {
		return sig, true
	}
	return strings.ToLower(text), false
}

// buried holds a statement against the tombstones of its scope.
func buried(c Case, label tenet.Label) []Finding {
	b := c.State.Blocked
	// What rests on erased evidence is nobody's word any more, whatever it says
	// and proposes.
	if b.Source || !b.Subject.IsZero() && !spokenAfter(c, b.Subject) {
		return []Finding{erased()}
	}
	if c.Candidate.Op != tenet.OpAssert {
		return nil
	}
	var fs []Finding
	if b.Rejected != 0 && label <= b.Rejected {
		fs = append(fs, refusal("tombstone", tenet.CodeRejectedBefore, reject))
	}
	if !b.Erased.IsZero() {
		own := label == tenet.LabelUserStated || label == tenet.LabelUserConfirmed
		if own && spokenAfter(c, b.Erased) {
			fs = append(fs, note("tombstone", tenet.CodeRestated))
		} else {
			fs = append(fs, erased())
		}
	}
	return fs
}

// spokenAfter reports whether all evidence was recorded after t. A quote is
// recorded with the case.
func spokenAfter(c Case, t time.Time) bool {
	for _, m := range c.Evidence {
		if !m.RecordedAt.After(t) {
			return false
		}
	}
	return len(c.Evidence) > 0 || c.Candidate.Quote != "" && c.At.After(t)
}

// rejection is what discarding a hold leaves.
func rejection(held tenet.Held) []Tombstone {
	if held.Candidate.Op != tenet.OpAssert || !held.Verdict.Label.Known() || held.Candidate.Text == "" {
		return nil
	}
	return []Tombstone{{TombRejected, Fingerprint(held.Candidate), held.Verdict.Label}}
}

// Bar decides to leave tombstones for statements that nobody may teach again,
// on an operator's word. Erasing leaves its own.
func (g *Gate) Bar(by tenet.Principal, scope tenet.Scope, ts []Tombstone, why string, at time.Time) (Decision, error) {
	if by.Kind() != tenet.Operator || !by.MayReach(scope) {
		return Decision{}, tenet.Errorf(tenet.Denied, "bar", "only an operator of the tenant may bar a statement")
	}
	for _, t := range ts {
		switch {
		case t.Statement == "":
			return Decision{}, tenet.Errorf(tenet.Invalid, "bar", "a tombstone without a statement")
		case t.Kind == TombRejected && t.Label.Known(), t.Kind == TombErased && t.Label == 0:
		default:
			return Decision{}, tenet.Errorf(tenet.Invalid, "bar", "a tombstone without a kind or a label")
		}
	}
	if len(ts) == 0 {
		return Decision{}, tenet.Errorf(tenet.Invalid, "bar", "no statement")
	}
	return Decision{&Plan{Kind: Bar, Scope: scope, Actor: by.String(), At: tenet.Micros(at), Ref: "bar", Why: why, Tombs: ts}}, nil
}
