package column_test

import (
	"bytes"
	"crypto/rand"
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
	f.Add(column.EncodeCheckpoint(tenet.Checkpoint{State: bytes.Repeat([]byte("state"), 100)}))
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
		column.Unpack(b)
		(&column.Decoder{B: b}).Count()
		column.DecodeMessage(&column.Decoder{B: b})
	})
}

// TestWhatIsPackedComesBack: what repeats itself is smaller, what does not is as
// it was, and a block that says it is longer than it can be is damaged.
func TestWhatIsPackedComesBack(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 10<<10)
	rand.Read(noise)
	for _, c := range []struct {
		name  string
		state []byte
		most  int
	}{
		{"empty", nil, 16},
		{"short", []byte("state"), 16},
		{"a sentence over and over", bytes.Repeat([]byte("Could you look up this week's promotions for me? "), 200), 1 << 10},
		{"a megabyte", bytes.Repeat([]byte("promotions "), tenet.MaxState/11), 64 << 10},
		{"noise", noise, len(noise) + 16},
		{"noise, and a sentence", append(bytes.Repeat([]byte("promotions "), 1000), noise...), len(noise) + 1<<10},
	} {
		b := column.EncodeCheckpoint(tenet.Checkpoint{State: c.state})
		if len(b) > c.most {
			t.Errorf("%s: %d bytes of %d", c.name, len(b), len(c.state))
		}
		var k tenet.Checkpoint
		if err := column.DecodeCheckpoint(b, &k); err != nil || !bytes.Equal(k.State, c.state) {
			t.Errorf("%s: came back as %d bytes, %v", c.name, len(k.State), err)
		}
	}
	bomb := append([]byte{4}, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0)
	if _, err := column.Unpack(bomb); tenet.KindOf(err) != tenet.Internal {
		t.Errorf("four gigabytes in eight bytes: %v", err)
	}
}
