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

func TestTenNearDuplicatesTakeOnePlace(t *testing.T) {
	t.Parallel()
	entries := []recall.Entry{
		note("allergy", "Sarah is allergic to shellfish, no seafood promotions please"),
		note("size", "Sarah ordered from the promotions of last spring"),
	}
	for i := range 10 {
		entries = append(entries, note(fmt.Sprint("mail", i), "Sarah prefers contact by email for promotions"+strings.Repeat("!", i)))
	}
	ix := newIndex(t, entries...)
	q := recall.Query{Text: "promotions that Sarah prefers by email", K: 3}
	got := search(t, ix, q).Hits
	if len(got) != 3 || len(got[0].Similar) != 9 {
		t.Fatalf("%+v", got)
	}
	q.Diversity = recall.Plain
	if got := search(t, ix, q).Hits; !strings.HasPrefix(got[2].ID, "mail") {
		t.Errorf("plain ranking was changed: %q", ids(got))
	}
}

func TestManyNearDuplicatesHideNothing(t *testing.T) {
	t.Parallel()
	var entries []recall.Entry
	for i := range 300 {
		entries = append(entries, note(fmt.Sprint("mail", i), "Sarah prefers contact by email for promotions"+strings.Repeat("!", i)))
	}
	for i, text := range []string{"promotions end", "an email came", "contact the shop", "Sarah slept"} {
		entries = append(entries, note(fmt.Sprint("other", i), text))
	}
	res := search(t, newIndex(t, entries...), recall.Query{Text: "promotions that Sarah prefers by email contact", K: 5})
	if len(res.Hits) != 5 || len(res.Hits[0].Similar) != 299 {
		t.Errorf("%q, %d folded", ids(res.Hits), len(res.Hits[0].Similar))
	}
}

func TestEntriesThatDifferInAFactAreNotFolded(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"Anna takes warfarin 5 mg daily in the morning", "Anna takes warfarin 50 mg daily in the morning"},
		{"Anna is allergic to shellfish and peanuts today", "Anna is not allergic to shellfish and peanuts today"},
	} {
		ix := newIndex(t, note("a", c[0]), note("b", c[1]))
		if got := search(t, ix, recall.Query{Text: c[0]}).Hits; len(got) != 2 {
			t.Errorf("%q hides %q", c[0], c[1])
		}
	}
}

func TestSpreadPutsOtherThingsBeforeRepetition(t *testing.T) {
	t.Parallel()
	ix := newIndex(t,
		note("a", "garden roses need water and sun every summer"),
		note("b", "garden roses need water and shade every summer day"),
		note("c", "the garden fence is broken"),
	)
	got := ids(search(t, ix, recall.Query{Text: "garden roses", K: 3, Diversity: recall.Spread}).Hits)
	plain := ids(search(t, ix, recall.Query{Text: "garden roses", K: 3, Diversity: recall.Plain}).Hits)
	if plain[2] != "c" || got[0] != plain[0] || len(got) != 3 {
		t.Errorf("spread %q, plain %q", got, plain)
	}
}

func TestStuffedPoisonMovesNoTrustedHit(t *testing.T) {
	t.Parallel()
	entries, queries := chat(400)
	clean := newIndex(t, entries...)
	poisoned := newIndex(t, entries...)
	for i, q := range queries[:20] {
		for lane := recall.Tool; lane <= recall.External; lane++ {
			for c := range 20 {
				err := poisoned.Add(recall.Entry{
					ID: fmt.Sprint("poison", i, lane, c), Lane: lane, Session: "s1", Position: c,
					Speaker: "Ann", Text: q + strings.Repeat(" now", c),
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		query := recall.Query{Text: q, K: 10, Lanes: []recall.Lane{recall.Trusted}, Explain: true}
		a, b := search(t, clean, query), search(t, poisoned, query)
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("%q: trusted lane was moved", q)
		}
		all := search(t, poisoned, recall.Query{Text: q, K: 10})
		trusted := 0
		for _, h := range all.Hits {
			if h.Lane == recall.Trusted {
				trusted++
			}
		}
		if want := min(8, len(a.Hits)); trusted < want {
			t.Errorf("%q: %d trusted hits, want %d", q, trusted, want)
		}
	}
}

func TestUnusedPlacesFlowBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ trusted, external, k, wantTrusted, wantExternal int }{
		{20, 20, 10, 8, 2}, {3, 20, 10, 3, 7}, {20, 1, 10, 9, 1}, {20, 0, 10, 10, 0}, {0, 20, 10, 0, 10}, {5, 5, 1, 1, 0},
	} {
		var all []recall.Entry
		for i := range c.trusted {
			all = append(all, note(fmt.Sprint("t", i), fmt.Sprintf("apple tree%d", i)))
		}
		for i := range c.external {
			e := note(fmt.Sprint("x", i), fmt.Sprintf("apple tree%d", i))
			e.Lane = recall.External
			all = append(all, e)
		}
		n := map[recall.Lane]int{}
		for _, h := range search(t, newIndex(t, all...), recall.Query{Text: "apple", K: c.k}).Hits {
			n[h.Lane]++
		}
		if n[recall.Trusted] != c.wantTrusted || n[recall.External] != c.wantExternal {
			t.Errorf("%+v: %v", c, n)
		}
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

func TestStandingInstructionsAreServedFromTheTrustedLaneOnly(t *testing.T) {
	t.Parallel()
	entries, queries := chat(60)
	rule := "Always give percentages when I ask about improvement."
	for lane := recall.Trusted; lane <= recall.External; lane++ {
		e := note("rule "+lane.String(), rule)
		e.Lane = lane
		entries = append(entries, e)
	}
	ix := newIndex(t, entries...)
	got := ids(search(t, ix, recall.Query{Text: queries[0], K: 30}).Hits)
	if s := strings.Join(got, "|"); !strings.Contains(s, "rule trusted") || strings.Count(s, "rule") != 1 {
		t.Errorf("%q", got)
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

func TestBadQueriesGetAClearAnswer(t *testing.T) {
	t.Parallel()
	ix := newIndex(t, note("a", "apple pie"))
	rng := &recall.Range{Start: monday, End: monday.Add(-1)}
	for _, c := range []struct {
		q      recall.Query
		err    error
		reason recall.Reason
	}{
		{recall.Query{Text: "", K: 5}, recall.ErrEmptyQuery, 0},
		{recall.Query{Text: " \n\t", K: 5}, recall.ErrEmptyQuery, 0},
		{recall.Query{Text: "apple", K: 0}, recall.ErrK, 0},
		{recall.Query{Text: "apple", K: -1}, recall.ErrK, 0},
		{recall.Query{Text: "apple", K: math.MaxInt}, recall.ErrK, 0},
		{recall.Query{Text: strings.Repeat("apple ", 200_000), K: 5}, recall.ErrQuerySize, 0},
		{recall.Query{Text: "apple", K: 5, Lanes: []recall.Lane{9}}, recall.ErrLane, 0},
		{recall.Query{Text: "apple", K: 5, Within: rng}, recall.ErrRange, 0},
		{recall.Query{Text: "the of and", K: 5}, nil, recall.ReasonNoTerms},
		{recall.Query{Text: "👍🏽🎉", K: 5}, nil, recall.ReasonNoTerms},
		{recall.Query{Text: "\u202e\u200f\xff\x00", K: 5}, nil, recall.ReasonNoTerms},
		{recall.Query{Text: "quantum", K: 5}, nil, recall.ReasonNoMatch},
		{recall.Query{Text: "apple", K: 5, Lanes: []recall.Lane{recall.Tool}}, nil, recall.ReasonEmpty},
	} {
		res, err := ix.Search(c.q)
		if !errors.Is(err, c.err) || res.Reason != c.reason || len(res.Hits) != 0 {
			t.Errorf("%.20q k %d: %v %v, want %v %v", c.q.Text, c.q.K, err, res.Reason, c.err, c.reason)
		}
	}
	if res := search(t, ix, recall.Query{Text: "apple", K: recall.MaxK}); len(res.Hits) != 1 {
		t.Errorf("%+v", res)
	}
	long := strings.Builder{}
	for i := range 5000 {
		fmt.Fprintf(&long, "apple w%d ", i)
	}
	if res := search(t, ix, recall.Query{Text: long.String()}); len(res.Hits) != 1 {
		t.Errorf("%+v", res)
	}
}

func TestTheWorstQueriesEnd(t *testing.T) {
	t.Parallel()
	entries, _ := chat(3000)
	for i := range entries {
		entries[i].Key = "home"
	}
	ix := newIndex(t, entries...)
	for _, unit := range []string{`"w0" `, "home ", "w0 w1 w2 ", "\"", "between and ", "1 2 3 ", "é", "東"} {
		start := time.Now()
		text := strings.Repeat(unit, recall.MaxQueryBytes/len(unit))
		search(t, ix, recall.Query{Text: text, K: 10, Now: monday})
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%q took %v", unit, took)
		}
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

func TestBadEntriesChangeNothing(t *testing.T) {
	t.Parallel()
	ix := newIndex(t, note("a", "apple"))
	v := func(space string, n int) recall.Vector { return recall.Vector{Space: space, Values: make([]int8, n)} }
	for _, c := range []struct {
		entries []recall.Entry
		err     error
	}{
		{[]recall.Entry{note("b", "x"), {}}, recall.ErrNoID},
		{[]recall.Entry{note("b", "x"), {ID: "c", Lane: 7}}, recall.ErrLane},
		{[]recall.Entry{{ID: "b", Vector: v("m", 3)}, {ID: "c", Vector: v("m", 4)}}, recall.ErrVector},
		{[]recall.Entry{{ID: "b", Vector: v("m", 3)}, {ID: "c", Vector: v("n", 3)}}, recall.ErrVector},
	} {
		if err := ix.Add(c.entries...); !errors.Is(err, c.err) || ix.Len() != 1 {
			t.Errorf("%v, %d entries, want %v", err, ix.Len(), c.err)
		}
	}
	if _, err := recall.New(recall.Params{B: math.NaN()}); !errors.Is(err, recall.ErrParams) {
		t.Errorf("%v", err)
	}
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
