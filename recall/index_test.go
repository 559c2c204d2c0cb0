package recall_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenet-memory/tenet/recall"
	"pgregory.net/rapid"
)

var monday = time.Date(2024, 3, 4, 9, 0, 0, 0, time.UTC)

func newIndex(tb testing.TB, entries ...recall.Entry) *recall.Index {
	tb.Helper()
	ix, err := recall.New(recall.DefaultParams())
	if err != nil {
		tb.Fatal(err)
	}
	if err := ix.Add(entries...); err != nil {
		tb.Fatal(err)
	}
	return ix
}

func search(tb testing.TB, ix *recall.Index, q recall.Query) recall.Result {
	tb.Helper()
	if q.K == 0 {
		q.K = 10
	}
	res, err := ix.Search(q)
	if err != nil {
		tb.Fatal(err)
	}
	return res
}

func ids(hits []recall.Hit) []string {
	out := make([]string, len(hits))
	for i, h := range hits {
		out[i] = h.ID
	}
	return out
}

func note(id, text string) recall.Entry {
	return recall.Entry{ID: id, Text: text, RecordedAt: monday}
}

func TestAnAnswerIsFoundByTheWordsOfItsQuestion(t *testing.T) {
	t.Parallel()
	ix := newIndex(t,
		recall.Entry{ID: "q", Session: "s", Position: 1, Speaker: "Ann", Text: "What is your favourite instrument?"},
		recall.Entry{ID: "a", Session: "s", Position: 2, Speaker: "Ben", Text: "The cello, always."},
		recall.Entry{ID: "x", Session: "t", Position: 1, Speaker: "Ben", Text: "The train was late."},
	)
	got := ids(search(t, ix, recall.Query{Text: "Which instrument does Ben like?"}).Hits)
	if len(got) < 2 || got[0] != "q" && got[1] != "q" || got[0] != "a" && got[1] != "a" {
		t.Errorf("%q", got)
	}
}

func TestRemovedEntriesAndTheirWordsAreGone(t *testing.T) {
	t.Parallel()
	ix := newIndex(t, note("a", "zebra crossing"), note("b", "bus stop"))
	whole := ix.Bytes()
	if n := ix.Remove("a", "a", "unknown"); n != 1 || ix.Bytes() >= whole {
		t.Errorf("removed %d", n)
	}
	if res := search(t, ix, recall.Query{Text: "zebra"}); len(res.Hits) != 0 || res.Reason != recall.ReasonNoMatch {
		t.Errorf("%+v", res)
	}
	if ix.Len() != 1 {
		t.Errorf("%d entries", ix.Len())
	}
}

func TestAnEntryWithTheSameIDReplacesTheOld(t *testing.T) {
	t.Parallel()
	ix := newIndex(t, note("a", "zebra"), note("a", "giraffe"))
	if res := search(t, ix, recall.Query{Text: "zebra giraffe"}); len(res.Hits) != 1 || ix.Len() != 1 {
		t.Errorf("%+v", res)
	}
}

func TestRankingDoesNotDependOnTheOrderOfArrival(t *testing.T) {
	t.Parallel()
	entries, queries := chat(1500)
	for i := range entries { // ties of time, long entries, notes without session
		entries[i].RecordedAt = monday.Add(time.Duration(i/50) * time.Hour)
		if i%97 == 0 {
			entries[i].Text = strings.Repeat(entries[i].Text+". ", 20)
		}
		if i%31 == 0 {
			entries[i].Session = ""
		}
		entries[i].Vector, _ = recall.Quantize("m", []float32{float32(i % 7), float32(i % 5), 1})
	}
	a := newIndex(t, entries...)
	rnd := rand.New(rand.NewPCG(3, 4))
	rnd.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
	b := newIndex(t)
	for i, e := range entries {
		if err := b.Add(e); err != nil {
			t.Fatal(err)
		}
		if i%10 == 0 { // and not on what was there in between
			gone := e
			gone.ID, gone.Text = fmt.Sprint("gone", i), "gone "+queries[i%len(queries)]
			if err := b.Add(gone); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range entries {
		b.Remove(fmt.Sprint("gone", i))
	}
	vector, _ := recall.Quantize("m", []float32{1, 2, 3})
	for i, text := range queries[:60] {
		q := recall.Query{Text: text, K: 30, Explain: true, Now: monday, Diversity: recall.Diversity(i % 3)}
		if i%2 == 0 {
			q.Vector = vector
		}
		if x, y := search(t, a, q), search(t, b, q); !reflect.DeepEqual(x, y) {
			t.Fatalf("%q:\n%v\n%v", text, ids(x.Hits), ids(y.Hits))
		}
	}
}

func TestPartsSumToTheScore(t *testing.T) {
	t.Parallel()
	entries, queries := chat(3000)
	for i := range entries {
		if i%50 == 0 {
			entries[i].Text = strings.Repeat(entries[i].Text+". I prefer this. ", 20)
		}
		if i%33 == 0 {
			entries[i].Session = ""
		}
		entries[i].Vector, _ = recall.Quantize("m", []float32{float32(i % 7), float32(i % 5), 1})
	}
	entries = append(entries, note("always", "Always answer in rhyme when I ask about zeugma"))
	ix := newIndex(t, entries...)
	vector, _ := recall.Quantize("m", []float32{1, 2, 3})
	for i, text := range queries[:40] {
		q := recall.Query{Text: text + " \"w7\" in March 2024, can you suggest?", K: 20, Explain: true, Now: monday}
		if i%2 == 0 {
			q.Vector = vector
		}
		for _, h := range search(t, ix, q).Hits {
			w := h.Why
			sum := w.Turn + w.Window + w.Session + w.Near + w.Speaker + w.Preference + w.Time + w.Standing + w.Dense + w.Exact
			if math.Abs(sum-h.Score) > 1e-9 {
				t.Fatalf("%s: parts %g, score %g", h.ID, sum, h.Score)
			}
			var turn, window, session float64
			for _, p := range w.Terms {
				turn, window, session = turn+p.Turn, window+p.Window, session+p.Session
			}
			for _, x := range [][2]float64{{turn, w.Turn}, {window, w.Window}, {session, w.Session}} {
				if math.Abs(x[0]-x[1]) > 1e-5 {
					t.Fatalf("%s: terms %g, part %g\n%+v", h.ID, x[0], x[1], w)
				}
			}
		}
	}
}

func TestQuotesKeysAndIDsAreExact(t *testing.T) {
	t.Parallel()
	ix := newIndex(t,
		note("n-1", "blue car, red house"), note("n-2", "red car and a red red car in the red street"),
		recall.Entry{ID: "n-3", Key: "contact.email", Text: "ann@example.org"},
	)
	for _, c := range []struct{ text, first string }{
		{`where is the "blue car" of red red car`, "n-1"},
		{"what is contact.email, the red car?", "n-3"},
		{"show N-2 n-1 red car", "n-1"},
		{"「blue car」 red red car", "n-1"},
	} {
		if got := search(t, ix, recall.Query{Text: c.text}).Hits; got[0].ID != c.first || !got[0].Exact {
			t.Errorf("%q: %+v", c.text, got)
		}
	}
	if got := search(t, ix, recall.Query{Text: `"blue house`}).Hits; got[0].Exact {
		t.Error("a lone quotation mark quotes nothing")
	}
}

func TestTimeBoostsAndOnlyARangeFilters(t *testing.T) {
	t.Parallel()
	old, recent := note("old", "we went to the cinema"), note("recent", "we went to the cinema then")
	old.RecordedAt = monday.AddDate(0, -2, 0)
	recent.RecordedAt = monday.AddDate(0, 0, -1)
	ix := newIndex(t, old, recent)
	res := search(t, ix, recall.Query{Text: "did we go to the cinema yesterday?", Now: monday, Explain: true, Diversity: recall.Plain})
	if len(res.Hits) != 2 || res.Hits[0].ID != "recent" || res.Time == nil || res.Hits[0].Why.Time <= 0 {
		t.Errorf("%+v", res)
	}
	within := &recall.Range{Start: old.RecordedAt.AddDate(0, 0, -1), End: old.RecordedAt.AddDate(0, 0, 1)}
	if got := ids(search(t, ix, recall.Query{Text: "cinema", Within: within}).Hits); len(got) != 1 || got[0] != "old" {
		t.Errorf("%q", got)
	}
	valid := note("valid", "lives in Rome")
	valid.ValidFrom, valid.ValidTo = monday.AddDate(-2, 0, 0), monday.AddDate(-1, 0, 0)
	ix = newIndex(t, valid)
	for _, c := range []struct {
		at   time.Time
		want int
	}{{monday.AddDate(-2, 1, 0), 1}, {monday, 0}, {monday.AddDate(-1, 0, 0), 0}} {
		got := search(t, ix, recall.Query{Text: "Rome", Within: &recall.Range{Start: c.at, End: c.at.Add(time.Second)}})
		if len(got.Hits) != c.want {
			t.Errorf("%v: %d hits", c.at, len(got.Hits))
		}
	}
}

func TestDormantEntriesAreFoundOnlyWhenNamed(t *testing.T) {
	t.Parallel()
	sleeping := note("old-1", "the blue car of my uncle")
	sleeping.Dormant = true
	ix := newIndex(t, sleeping, note("new-1", "a red car"))
	for _, c := range []struct {
		q    recall.Query
		want int
	}{
		{recall.Query{Text: "blue car"}, 1},
		{recall.Query{Text: "blue car", Dormant: true}, 2},
		{recall.Query{Text: "the \"blue car\""}, 2},
		{recall.Query{Text: "old-1 car"}, 2},
	} {
		if got := search(t, ix, c.q).Hits; len(got) != c.want {
			t.Errorf("%q: %q", c.q.Text, ids(got))
		}
	}
	if !ix.SetDormant("old-1", false) || ix.SetDormant("unknown", true) {
		t.Error("SetDormant does not say what is there")
	}
	if got := search(t, ix, recall.Query{Text: "blue car"}).Hits; got[0].ID != "old-1" || got[0].Dormant {
		t.Errorf("%+v", got)
	}
}

func TestAnEntryTakesUnderAKilobyte(t *testing.T) {
	entries, _ := chat(20_000)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	ix := newIndex(t, entries...)
	per := (heap() - before) / uint64(len(entries))
	t.Logf("%d bytes an entry", per)
	if per > 1024 {
		t.Errorf("%d bytes an entry", per)
	}
	if said := uint64(ix.Bytes()) / uint64(len(entries)); said < per/2 || said > 2*per {
		t.Errorf("%d bytes an entry are said to be %d", per, said)
	}
	runtime.KeepAlive(ix)
	runtime.KeepAlive(entries)
}

func TestSearchesRunWhileEntriesComeAndGo(t *testing.T) {
	t.Parallel()
	entries, queries := chat(600)
	ix := newIndex(t, entries[:300]...)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 100 {
				search(t, ix, recall.Query{Text: queries[(w*100+i)%len(queries)]})
			}
		})
	}
	wg.Go(func() {
		for i, e := range entries[300:] {
			if err := ix.Add(e); err != nil {
				t.Error(err)
			}
			ix.Remove(entries[i].ID)
		}
	})
	wg.Wait()
	if ix.Len() != 300 {
		t.Errorf("%d entries", ix.Len())
	}
}

func TestAddingAndRemovingIsLikeNeverAdding(t *testing.T) {
	t.Parallel()
	word := rapid.SampledFrom(strings.Fields("apple pie tree red blue house Ann Ben not 5 50 東京都 always"))
	entry := rapid.Custom(func(t *rapid.T) recall.Entry {
		return recall.Entry{
			ID:       fmt.Sprint("e", rapid.IntRange(0, 30).Draw(t, "id")),
			Lane:     recall.Lane(rapid.IntRange(0, 3).Draw(t, "lane")),
			Session:  rapid.SampledFrom([]string{"", "s", "t"}).Draw(t, "session"),
			Position: rapid.IntRange(0, 9).Draw(t, "position"),
			Speaker:  rapid.SampledFrom([]string{"", "Ann", "Ben"}).Draw(t, "speaker"),
			Key:      rapid.SampledFrom([]string{"", "home.town"}).Draw(t, "key"),
			Text:     strings.Join(rapid.SliceOfN(word, 0, 8).Draw(t, "words"), " "),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, _ := recall.New(recall.DefaultParams())
		kept := map[string]recall.Entry{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			e := entry.Draw(t, "entry")
			if rapid.Bool().Draw(t, "remove") {
				a.Remove(e.ID)
				delete(kept, e.ID)
				continue
			}
			if err := a.Add(e); err != nil {
				t.Fatal(err)
			}
			kept[e.ID] = e
		}
		b, _ := recall.New(recall.DefaultParams())
		for _, e := range kept {
			if err := b.Add(e); err != nil {
				t.Fatal(err)
			}
		}
		q := recall.Query{K: 30, Explain: true, Text: strings.Join(rapid.SliceOfN(word, 1, 6).Draw(t, "query"), " ") + " home.town"}
		x, err := a.Search(q)
		if err != nil {
			t.Fatal(err)
		}
		y, err := b.Search(q)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(x, y) {
			t.Fatalf("%v\n%v", x, y)
		}
	})
}

func TestABudgetKeepsWholeItemsAndSaysWhatItLeft(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		costs      []int
		budget     int
		kept, left []int
		used       int
	}{
		{[]int{5, 50, 5}, 12, []int{0, 2}, []int{1}, 10},
		{[]int{5}, 0, nil, []int{0}, 0},
		{nil, 10, nil, nil, 0},
		{[]int{0, 10}, 10, []int{0, 1}, nil, 10},
	} {
		cut, err := recall.Fit(c.costs, c.budget)
		if want := (recall.Cut{Kept: c.kept, Left: c.left, Used: c.used}); err != nil || !reflect.DeepEqual(cut, want) {
			t.Errorf("%v in %d: %+v %v", c.costs, c.budget, cut, err)
		}
	}
	for _, c := range [][]int{{1, -1}, {-5}} {
		if _, err := recall.Fit(c, 10); !errors.Is(err, recall.ErrBudget) {
			t.Errorf("%v: %v", c, err)
		}
	}
	if _, err := recall.Fit(nil, -1); !errors.Is(err, recall.ErrBudget) {
		t.Error(err)
	}
}

// TestASessionOfOneIsAnEntryByItself: a single turn has no neighbours and no
// session beside itself, so its score is that of an entry that stands alone.
func TestASessionOfOneIsAnEntryByItself(t *testing.T) {
	t.Parallel()
	build := func(session func(i int) string) []recall.Hit {
		ix, err := recall.New(recall.DefaultParams())
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range []string{"the cat sat on the mat", "a dog slept near the cat", "birds sing", "the mat is red", "cat food is on sale"} {
			if err := ix.Add(recall.Entry{ID: fmt.Sprint(i), Session: session(i), Position: i, Text: text}); err != nil {
				t.Fatal(err)
			}
		}
		res, err := ix.Search(recall.Query{Text: "cat mat", K: 5})
		if err != nil {
			t.Fatal(err)
		}
		return res.Hits
	}
	alone := build(func(int) string { return "" })
	single := build(func(i int) string { return fmt.Sprint("s", i) })
	if !reflect.DeepEqual(alone, single) {
		t.Errorf("single turns score otherwise than entries that stand alone: %v, %v", alone, single)
	}
}
