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
		s.chain[w.Seq-1].Action = "altered"
	case EntryDropped:
		s.chain = slices.Delete(s.chain, int(w.Seq-1), int(w.Seq))
	case TombDropped:
		s.tombs = nil
	case HoldLifted:
		s.frozen = 0
	default:
		t.Fatalf("no way to do %q", w.Damage)
	}
}
