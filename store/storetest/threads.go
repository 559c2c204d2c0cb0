package storetest

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
)

var threadClauses = []clause{
	{"BytesRoundTrip", bytesRoundTrip},
	{"ForksAllowed", forksAllowed},
	{"StrictHeadConflicts", strictHeadConflicts},
	{"SameIdOtherBytesConflicts", sameIDOtherBytesConflicts},
	{"ListPages", listPages},
	{"DropRemoves", dropRemoves},
	{"ThreadScopesAreDisjoint", threadScopesAreDisjoint},
	{"UnusableArgumentsAreErrors", unusableThreadArguments},
}

var blobTime = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)

func blob(thread, id, parent string) tenet.Blob {
	return tenet.Blob{Thread: thread, ID: id, Parent: parent, Data: []byte("data of " + id), CreatedAt: blobTime}
}

func sarah(t testing.TB) tenet.Scope { return mustScope(t, "acme", tenet.User("sarah")) }

func bytesRoundTrip(t testing.TB, b Backend) {
	s, scope := b.Threads(t), sarah(t)
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for i, data := range [][]byte{every, {}, {0}, bytes.Repeat([]byte{0, 0xff, 0xc3}, 1<<20)} {
		in := tenet.Blob{
			Thread: "th\u00e9 thread", ID: fmt.Sprint("v", i), Parent: "p", Data: data, Meta: every[:i*50], // nobody looks inside
			CreatedAt: blobTime.Add(123456789).In(time.FixedZone("NPT", 20700)), ExpiresAt: blobTime.AddDate(1, 0, 0),
		}
		must(t, s.Put(ctx, scope, in, false))
		for _, id := range []string{in.ID, ""} { // by name, and as the newest
			got, err := s.Get(ctx, scope, in.Thread, id)
			must(t, err)
			if !bytes.Equal(got.Data, data) || !bytes.Equal(got.Meta, in.Meta) {
				t.Errorf("version %s is not kept byte for byte", in.ID)
			}
			want := in
			want.CreatedAt = tenet.Micros(in.CreatedAt)
			got.Data, got.Meta, want.Data, want.Meta = nil, nil, nil, nil // a diff of megabytes helps nobody
			same(t, "version "+in.ID, got, want)
		}
	}
	_, err := s.Get(ctx, scope, "th\u00e9 thread", "nope")
	wantKind(t, "an unknown version", err, tenet.NotFound)
	for _, other := range []string{"the\u0301 thread", "Th\u00e9 thread", "th\u00e9 thread "} {
		_, err = s.Get(ctx, scope, other, "")
		wantKind(t, "an unknown thread", err, tenet.NotFound)
	}
}

func forksAllowed(t testing.TB, b Backend) {
	s, scope := b.Threads(t), sarah(t)
	for _, v := range [][2]string{{"a", ""}, {"b", "a"}, {"c", "a"}, {"d", "b"}} {
		must(t, s.Put(ctx, scope, blob("th", v[0], v[1]), false))
	}
	for id, parent := range map[string]string{"a": "", "b": "a", "c": "a", "d": "b", "": "b"} {
		got, err := s.Get(ctx, scope, "th", id)
		must(t, err)
		same(t, "the parent of "+id, got.Parent, parent)
	}
}

func strictHeadConflicts(t testing.TB, b Backend) {
	s, scope := b.Threads(t), sarah(t)
	wantKind(t, "a parent that is not there", s.Put(ctx, scope, blob("th", "x", "a"), true), tenet.Conflict)
	must(t, s.Put(ctx, scope, blob("th", "a", ""), true))
	must(t, s.Put(ctx, scope, blob("th", "b", "a"), true))
	wantKind(t, "a parent that is not the newest", s.Put(ctx, scope, blob("th", "c", "a"), true), tenet.Conflict)
	wantKind(t, "no parent", s.Put(ctx, scope, blob("th", "c", ""), true), tenet.Conflict)
	must(t, s.Put(ctx, scope, blob("th", "b", "a"), true)) // a retry is harmless
	must(t, s.Put(ctx, scope, blob("other", "c", ""), true))
	won := make([]error, 8)
	race(len(won), func(i int) { won[i] = s.Put(ctx, scope, blob("th", fmt.Sprint("r", i), "b"), true) })
	n := 0
	for _, err := range won {
		if err == nil {
			n++
		} else if tenet.KindOf(err) != tenet.Conflict {
			t.Errorf("a racing put: %v", err)
		}
	}
	same(t, "how many of the racing puts won", n, 1)
	list, err := s.List(ctx, scope, blobTime, "th", "", 10)
	must(t, err)
	same(t, "how many versions there are", len(list), 3)
}

func sameIDOtherBytesConflicts(t testing.TB, b Backend) {
	s, scope := b.Threads(t), sarah(t)
	must(t, s.Put(ctx, scope, blob("th", "a", ""), false))
	must(t, s.Put(ctx, scope, blob("th", "a", ""), false))
	other := blob("th", "a", "")
	other.Data = []byte("data of b")
	wantKind(t, "the same id with other bytes", s.Put(ctx, scope, other, false), tenet.Conflict)
	other.Data = nil
	wantKind(t, "the same id with no bytes", s.Put(ctx, scope, other, false), tenet.Conflict)
	got, err := s.Get(ctx, scope, "th", "a")
	must(t, err)
	same(t, "what is kept", string(got.Data), "data of a")
	list, err := s.List(ctx, scope, blobTime, "th", "", 10)
	must(t, err)
	same(t, "how many", len(list), 1)
	must(t, s.Put(ctx, scope, blob("th", "A", ""), false)) // ids distinguish by case
}

func listPages(t testing.TB, b Backend) {
	s, scope := b.Threads(t), sarah(t)
	var want []string
	for i := range 7 {
		id := fmt.Sprint("v", (i*3)%7) // ids not in order, times all equal
		must(t, s.Put(ctx, scope, blob("th", id, ""), false))
		want = append([]string{id}, want...)
	}
	must(t, s.Put(ctx, scope, blob("other", "v0", ""), false))
	var got []string
	for after := ""; ; {
		page, err := s.List(ctx, scope, blobTime, "th", after, 3)
		must(t, err)
		if len(page) > 3 || len(got) > 10 {
			t.Fatalf("a page of %d after %d versions", len(page), len(got))
		}
		if len(page) == 0 {
			break
		}
		for _, v := range page {
			got = append(got, v.ID)
			same(t, "the data of "+v.ID, string(v.Data), "data of "+v.ID)
		}
		after = page[len(page)-1].ID
	}
	same(t, "newest first", got, want)
}

func dropRemoves(t testing.TB, b Backend) {
	s, scope := b.Threads(t), sarah(t)
	for _, id := range []string{"a", "b", "c"} {
		must(t, s.Put(ctx, scope, blob("th", id, ""), false))
		must(t, s.Put(ctx, scope, blob("th2", id, ""), false))
	}
	for _, want := range []int{3, 0} {
		n, err := s.Drop(ctx, scope, "th")
		must(t, err)
		same(t, "how many went", n, want)
	}
	_, err := s.Get(ctx, scope, "th", "")
	wantKind(t, "the dropped thread", err, tenet.NotFound)
	list, err := s.List(ctx, scope, blobTime, "th2", "", 10)
	must(t, err)
	same(t, "the other thread", len(list), 3)
	must(t, s.Put(ctx, scope, blob("th", "a", ""), true)) // the name is free again
}

func threadScopesAreDisjoint(t testing.TB, b Backend) {
	s, scopes := b.Threads(t), hostileScopes(t)
	word := func(i int) string { return fmt.Sprint("words of scope ", i) }
	for i, scope := range scopes {
		v := blob("th", "a", "")
		v.Data = []byte(word(i))
		must(t, s.Put(ctx, scope, v, true))
	}
	for i, scope := range scopes {
		got, err := s.Get(ctx, scope, "th", "")
		must(t, err)
		same(t, fmt.Sprintf("%q", scope), string(got.Data), word(i))
		if i%2 == 0 {
			n, err := s.Drop(ctx, scope, "th")
			must(t, err)
			same(t, fmt.Sprintf("%q: dropped", scope), n, 1)
		}
	}
	for i, scope := range scopes {
		list, err := s.List(ctx, scope, blobTime, "th", "", 10)
		must(t, err)
		same(t, fmt.Sprintf("%q: what is left", scope), len(list), i%2)
	}
}

func unusableThreadArguments(t testing.TB, b Backend) {
	s, scope := b.Threads(t), sarah(t)
	dead, cancel := context.WithCancel(ctx)
	cancel()
	for _, c := range []struct {
		ctx   context.Context
		scope tenet.Scope
		kind  tenet.Kind
	}{{ctx, tenet.Scope{}, tenet.Invalid}, {dead, scope, tenet.Unavailable}} {
		_, get := s.Get(c.ctx, c.scope, "th", "")
		_, list := s.List(c.ctx, c.scope, blobTime, "th", "", 10)
		_, drop := s.Drop(c.ctx, c.scope, "th")
		for name, err := range map[string]error{"Put": s.Put(c.ctx, c.scope, blob("th", "a", ""), false), "Get": get, "List": list, "Drop": drop} {
			wantKind(t, fmt.Sprintf("%s with scope %v", name, c.scope), err, c.kind)
		}
	}
	wantKind(t, "Put without a thread", s.Put(ctx, scope, blob("", "a", ""), false), tenet.Invalid)
	wantKind(t, "Put without an id", s.Put(ctx, scope, blob("th", "", ""), false), tenet.Invalid)
}
