package column_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store/column"
)

func scope(t testing.TB) tenet.Scope {
	t.Helper()
	s, err := tenet.NewScope("acme", tenet.User("sarah"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// FuzzDamagedColumns: whatever stands in a column is read or is an error, and
// what is read is written back as it was.
func FuzzDamagedColumns(f *testing.F) {
	s := scope(f)
	c := tenet.Fact(s, "allergy", "shellfish").Quoting("I have an allergy").Citing("m1", "m2")
	c.ID, c.Value, c.Recalled = "c", []byte(`"shellfish"`), []tenet.RecordID{"r"}
	f.Add(column.EncodeCandidate(c))
	f.Add(column.EncodeOrigins([]tenet.Origin{{Principal: "app:shop", Subject: s.Key()}, {Subject: "another"}}, s.Key()))
	f.Add(column.EncodeReceipt(tenet.Receipt{ID: "r", Facts: []tenet.RecordID{"a"}, Pending: []int64{1}}))
	f.Add(column.EncodeReceipt(tenet.Receipt{ID: "r", Recalled: []tenet.RecordID{"a"}, Scores: []tenet.Score{{Turn: 7311, Exact: 10000}}}))
	f.Add(column.EncodeCheckpoint(tenet.Checkpoint{State: []byte("state"), Done: []tenet.Step{{Name: "one"}}}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := column.DecodeCandidate(b, s); err == nil {
			again, err := column.DecodeCandidate(column.EncodeCandidate(c), s)
			if err != nil || !cmp.Equal(again, c, cmp.AllowUnexported(tenet.Scope{}, tenet.Subject{})) {
				t.Errorf("a candidate came back as another: %v", err)
			}
		}
		if os, err := column.DecodeOrigins(b, s.Key()); err == nil {
			again, err := column.DecodeOrigins(column.EncodeOrigins(os, s.Key()), s.Key())
			if err != nil || len(again) != len(os) {
				t.Errorf("%d origins came back as %d: %v", len(os), len(again), err)
			}
		}
		if r, err := column.DecodeReceipt(b); err == nil {
			again, err := column.DecodeReceipt(column.EncodeReceipt(r))
			if err != nil || !cmp.Equal(again, r) {
				t.Errorf("a receipt came back as another: %v", err)
			}
		}
		var k, again tenet.Checkpoint
		if column.DecodeCheckpoint(b, &k) == nil {
			if err := column.DecodeCheckpoint(column.EncodeCheckpoint(k), &again); err != nil || !cmp.Equal(again, k) {
				t.Errorf("a checkpoint came back as another: %v", err)
			}
		}
		(&column.Decoder{B: b}).Count()
		column.DecodeMessage(&column.Decoder{B: b})
	})
}
