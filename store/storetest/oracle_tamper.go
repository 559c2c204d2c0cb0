package storetest

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

// TamperOracle is Backend.Tamper for an Oracle.
func TamperOracle(t testing.TB, l store.Ledger, w Tampering) {
	o := l.(*Oracle)
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.scopes[w.Scope]
	r := s.find(w.Record)
	switch w.Damage {
	case RecordText:
		r.Text, r.Value = "something else", json.RawMessage(`"something else"`)
	case RecordLabel:
		r.Label = tenet.LabelOperator
	case RecordValid:
		r.Valid.From = r.Valid.From.Add(-time.Hour)
	case RecordReopened:
		r.Known.To, r.Closed, r.SupersededBy, r.out = time.Time{}, "", "", 0
	case RecordDropped:
		s.rows = slices.DeleteFunc(s.rows, func(x row) bool { return x.ID == w.Record })
	case RecordPlanted:
		planted := *r
		planted.ID = "planted"
		s.rows = append(s.rows, planted)
	case EvidenceText:
		for i := range s.evidence {
			if s.evidence[i].record == w.Record {
				s.evidence[i].Excerpt = "something else"
			}
		}
	case VerdictOutcome:
		j := s.refs[string(w.Candidate)]
		j.verdict.Outcome = tenet.Stored
		s.refs[string(w.Candidate)] = j
	case EntryAltered:
		s.chain[slices.IndexFunc(s.chain, seqIs(w.Seq))].Action = "altered"
	case EntryDropped:
		s.chain = slices.DeleteFunc(s.chain, seqIs(w.Seq))
	case TombDropped:
		s.tombs = nil
	case HoldLifted:
		s.frozen = 0
	case HeadMoved:
		h := &s.cuts[len(s.cuts)-1]
		h.body = Moved(t, h.body)
		h.digest = store.CutDigest(h.body)
	case HeadDropped:
		s.cuts = s.cuts[:len(s.cuts)-1]
	default:
		t.Fatalf("no way to do %q", w.Damage)
	}
}

// Moved is a sealed head that says the next position, as somebody without the key
// would write it.
func Moved(t testing.TB, body []byte) []byte {
	t.Helper()
	var c store.Cut
	must(t, json.Unmarshal(body, &c))
	c.Upto++
	body, err := json.Marshal(c)
	must(t, err)
	return body
}

func seqIs(seq uint64) func(tenet.AuditEntry) bool {
	return func(e tenet.AuditEntry) bool { return e.Seq == seq }
}
