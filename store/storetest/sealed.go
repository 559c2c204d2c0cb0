package storetest

import (
	"bytes"
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

// FormsOf are the bytes by which a word would be found in a file or a row.
func FormsOf(word string) map[string][]byte {
	out := map[string][]byte{
		"as it is": []byte(word), "lower case": []byte(strings.ToLower(word)), "upper case": []byte(strings.ToUpper(word)),
		"prefix": []byte(word[:6]), "suffix": []byte(word[len(word)-6:]),
	}
	// Base64 of a text that holds it, at each of the three offsets.
	for _, lead := range []string{"", "a", "ab"} {
		e := base64.RawStdEncoding.EncodeToString([]byte(lead + word))
		out["base64 after "+lead] = []byte(e[len(lead)*4/3+1 : len(e)-2])
	}
	return out
}

// Unsealed are the columns, as table.column, that a sealed database does not
// seal as texts: words of the vocabulary, keyed digests, and what is sealed
// with an about of its own.
func Unsealed(column string) bool {
	return slices.Contains([]string{
		"subjects.tenant", "subjects.external_id", // a keyed digest
		"keys.tenant", "keys.id",
		"records.closed", "held.state", "effects.state", "sessions.last_code", "sessions.worker",

		"subjects.data_key", "trail.content", "records.digest", "evidence.digest", "held.sealed", "staged.content", "staged.sealed",
		"sessions.reads", "proposals.content", "proposals.sealed", "blobs.data", "blobs.meta", "holds.holder", "checkpoints.content", "checkpoints.sealed",
		"effects.payload", "effects.outcome", "keys.hash", "once.id", "once.fingerprint", "once.answer", "tombstones.statement", "tombstones.digest",
		"erased.digest", "elsewhere.author",
	}, column)
}

// Open opens what is sealed of the rows, as the database's owner can.
func (r Rows) Open(t testing.TB, opened func(dest []any) error) Rows {
	t.Helper()
	for _, rows := range r {
		for _, row := range rows.Rows {
			for i := range row {
				if err := opened([]any{&row[i]}); err != nil {
					t.Fatal(err)
				}
				text := string(row[i])
				if err := opened([]any{&text}); err == nil {
					row[i] = []byte(text)
				}
			}
		}
	}
	return r
}

// Vault checks a new store.Vault.
func Vault(t *testing.T, v store.Vault) {
	t.Helper()
	ctx := context.Background()
	if len(v.ID()) < 16 {
		t.Errorf("the id has %d bytes", len(v.ID()))
	}
	kept := func(scope int64, want string) {
		t.Helper()
		if got, err := v.Kept(ctx, scope); err != nil || string(got) != want || (got == nil) != (want == "") {
			t.Errorf("key %d: %q (%v), want %q", scope, got, err, want)
		}
	}
	if _, err := v.Kept(ctx, 7); tenet.KindOf(err) != tenet.NotFound {
		t.Errorf("a key that was never kept: %v", err)
	}
	for _, scope := range []int64{9, 7, 8} {
		if err := v.Keep(ctx, scope, []byte{byte(scope)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := v.Keep(ctx, 7, []byte("other")); err == nil {
		t.Error("a second key of a surrogate is kept")
	}
	kept(7, "\x07")
	if err := v.Destroy(ctx, []int64{9, 7, 12}); err != nil { // of 12 it never held one
		t.Fatal(err)
	}
	if err := v.Destroy(ctx, []int64{7}); err != nil {
		t.Errorf("a second time: %v", err)
	}
	kept(7, "")
	kept(12, "")
	kept(8, "\x08")
	if err := v.Keep(ctx, 7, []byte("again")); err == nil {
		t.Error("a destroyed key is kept anew")
	}
	kept(7, "")
	for after, want := range map[int64][]int64{0: {7, 9}, 7: {9, 12}, 9: {12}, 12: nil} {
		if got, err := v.Destroyed(ctx, after, 2); err != nil || !slices.Equal(got, want) {
			t.Errorf("destroyed after %d: %v (%v), want %v", after, got, err, want)
		}
	}
	if err := v.Keep(ctx, 10, []byte("current")); err != nil {
		t.Fatal(err)
	}
	n, err := v.Rewrap(ctx, func(scope int64, wrapped []byte) ([]byte, error) {
		if scope == 10 {
			return nil, nil // it is already
		}
		return bytes.Repeat(wrapped, 2), nil
	})
	if err != nil || n != 1 {
		t.Errorf("%d keys were wrapped anew (%v)", n, err)
	}
	kept(8, "\x08\x08")
	kept(10, "current")
	kept(9, "")
}
