package storetest

import (
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

var shelfClauses = []clause{
	{"ABatchIsAllOrNone", batchIsAllOrNone},
	{"TheFirstStaysUnlessReplaced", firstStays},
	{"FindIsByIdBelow", findIsByID},
	{"APageIsFullOfWhatIsNotOver", pageIsOfWhatIsNotOver},
	{"NamedAreTheNamed", namedAreTheNamed},
	{"RemoveLeavesTheRest", removeLeavesTheRest},
	{"ThreadsAreListedByName", threadsAreListed},
}

func shelfOf(t testing.TB, b Backend) store.Shelf { return b.Threads(t).(store.Shelf) }

func kept(ids ...string) []store.Kept {
	var out []store.Kept
	for _, id := range ids {
		out = append(out, store.Kept{Blob: blob("", id, "")})
	}
	return out
}

func idsOf(bs []tenet.Blob) []string {
	var out []string
	for _, b := range bs {
		out = append(out, b.ID)
	}
	return out
}

func batchIsAllOrNone(t testing.TB, b Backend) {
	s, scope := shelfOf(t, b), sarah(t)
	wantKind(t, "an id is missing", s.PutAll(ctx, scope, "th", kept("a", "")), tenet.Invalid)
	got, err := s.Find(ctx, scope, blobTime, "th", "", "", 10)
	must(t, err)
	same(t, "nothing of a refused batch", idsOf(got), []string(nil))
	must(t, s.PutAll(ctx, scope, "th", kept("a", "b")))
	got, err = s.Find(ctx, scope, blobTime, "th", "", "", 10)
	must(t, err)
	same(t, "the batch", idsOf(got), []string{"b", "a"})
	same(t, "a version", string(got[1].Data), "data of a")
	same(t, "its thread", got[1].Thread, "th")
}

func firstStays(t testing.TB, b Backend) {
	s, scope := shelfOf(t, b), sarah(t)
	must(t, s.PutAll(ctx, scope, "th", kept("a")))
	second := kept("a")
	second[0].Data = []byte("other")
	must(t, s.PutAll(ctx, scope, "th", second))
	got, err := s.Named(ctx, scope, "th", []string{"a"})
	must(t, err)
	same(t, "kept first", string(got[0].Data), "data of a")
	second[0].Replace = true
	must(t, s.PutAll(ctx, scope, "th", second))
	got, err = s.Named(ctx, scope, "th", []string{"a"})
	must(t, err)
	same(t, "replaced", string(got[0].Data), "other")
}

func findIsByID(t testing.TB, b Backend) {
	s, scope := shelfOf(t, b), sarah(t)
	must(t, s.PutAll(ctx, scope, "th", kept("c/2", "c/10", "c/1", "c%x", "b/9", "c_z")))
	must(t, s.PutAll(ctx, scope, "other", kept("c/3")))
	for _, c := range []struct {
		prefix, below string
		limit         int
		want          []string
	}{
		{"c/", "", 10, []string{"c/2", "c/10", "c/1"}},
		{"c/", "c/2", 10, []string{"c/10", "c/1"}},
		{"c/", "", 1, []string{"c/2"}},
		{"c_", "", 10, []string{"c_z"}},
		{"c%", "", 10, []string{"c%x"}},
		{"", "c", 10, []string{"b/9"}},
		{"d", "", 10, nil},
	} {
		got, err := s.Find(ctx, scope, blobTime, "th", c.prefix, c.below, c.limit)
		must(t, err)
		same(t, "find "+c.prefix+" below "+c.below, idsOf(got), c.want)
	}
}

func pageIsOfWhatIsNotOver(t testing.TB, b Backend) {
	s, scope := shelfOf(t, b), sarah(t)
	ks := kept("c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9")
	for _, i := range []int{3, 4, 5, 6, 8} {
		ks[i].ExpiresAt = blobTime.Add(time.Minute)
	}
	ks[0].ExpiresAt = blobTime.Add(time.Hour)
	must(t, s.PutAll(ctx, scope, "th", ks))
	for _, c := range []struct {
		below string
		now   time.Duration
		want  []string
	}{
		{"", time.Minute, []string{"c8", "c3"}}, {"c8", time.Minute, []string{"c3", "c2"}}, {"c3", time.Minute, []string{"c2", "c1"}},
		{"c3", time.Hour, []string{"c2"}}, {"c9", 0, []string{"c8", "c7"}},
	} {
		now := blobTime.Add(c.now)
		got, err := s.Find(ctx, scope, now, "th", "c", c.below, 2)
		must(t, err)
		same(t, "by id below "+c.below, idsOf(got), c.want)
		got, err = s.(store.Threads).List(ctx, scope, now, "th", c.below, 2)
		must(t, err)
		same(t, "newest first after "+c.below, idsOf(got), c.want)
	}
}

func namedAreTheNamed(t testing.TB, b Backend) {
	s, scope := shelfOf(t, b), sarah(t)
	must(t, s.PutAll(ctx, scope, "th", kept("a", "b", "c")))
	got, err := s.Named(ctx, scope, "th", []string{"c", "a", "nope"})
	must(t, err)
	same(t, "how many", len(got), 2)
	elsewhere := mustScope(t, "acme", tenet.User("bob"))
	got, err = s.Named(ctx, elsewhere, "th", []string{"a"})
	must(t, err)
	same(t, "in another scope", idsOf(got), []string(nil))
}

func removeLeavesTheRest(t testing.TB, b Backend) {
	s, scope := shelfOf(t, b), sarah(t)
	must(t, s.PutAll(ctx, scope, "th", kept("a", "b", "c")))
	n, err := s.Remove(ctx, scope, "th", []string{"a", "c", "nope"})
	must(t, err)
	same(t, "removed", n, 2)
	got, err := s.Find(ctx, scope, blobTime, "th", "", "", 10)
	must(t, err)
	same(t, "the rest", idsOf(got), []string{"b"})
	_, err = s.Remove(ctx, scope, "th", []string{"b"})
	must(t, err)
	ts, err := s.Threads(ctx, scope, blobTime, "", "", 10)
	must(t, err)
	same(t, "a thread without versions", len(ts), 0)
}

func threadsAreListed(t testing.TB, b Backend) {
	s, scope := shelfOf(t, b), sarah(t)
	for i, name := range []string{"p/b", "p/a", "q/a", "p/c"} {
		ks := kept("v1", "v2")
		ks[1].CreatedAt = blobTime.Add(time.Duration(i) * time.Hour)
		must(t, s.PutAll(ctx, scope, name, ks))
	}
	over := kept("v")
	over[0].ExpiresAt = blobTime.Add(time.Minute)
	must(t, s.PutAll(ctx, scope, "p/over", over))
	got, err := s.Threads(ctx, scope, blobTime.Add(2*time.Minute), "p/", "", 2)
	must(t, err)
	same(t, "the first page", got, []tenet.Thread{{Name: "p/a", NewestAt: blobTime.Add(time.Hour)}, {Name: "p/b", NewestAt: blobTime}})
	got, err = s.Threads(ctx, scope, blobTime.Add(2*time.Minute), "p/", "p/b", 2)
	must(t, err)
	same(t, "the next", got, []tenet.Thread{{Name: "p/c", NewestAt: blobTime.Add(3 * time.Hour)}})
}
