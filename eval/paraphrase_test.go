package eval_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenet-memory/tenet/eval"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/model"
	"github.com/tenet-memory/tenet/model/inproc"
	"github.com/tenet-memory/tenet/recall"
)

// installed is the in-process embedder, its vectors kept outside the project
// between runs, or a skip.
func installed(t *testing.T) model.Embedder {
	t.Helper()
	dir := os.Getenv("TENET_MODELS")
	if dir == "" {
		home, _ := os.UserHomeDir()
		dir = filepath.Join(home, ".local", "share", "tenet", "models")
	}
	m, err := inproc.Open(filepath.Join(dir, "e5-small-v2.tenet"), inproc.Options{Workers: 2})
	if err != nil {
		t.Skip("the in-process model is not installed: make model")
	}
	c, err := eval.OpenCached(m, filepath.Join(os.TempDir(), "tenet-vectors"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func pairs(t *testing.T) (statements, questions []string) {
	t.Helper()
	f, err := os.Open("testdata/paraphrases/pairs.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		s, q, ok := strings.Cut(sc.Text(), "\t")
		if !ok {
			t.Fatalf("no tab in %q", sc.Text())
		}
		statements, questions = append(statements, s), append(questions, q)
	}
	return statements, questions
}

// distractors are n statements of everyday life, no two alike, none of which
// answers one of the questions. Every 50th carries a number to look for.
func distractors(n int) []string {
	r := rand.New(rand.NewPCG(20260301, 4))
	pick := func(of string) string { words := strings.Split(of, "|"); return words[r.IntN(len(words))] }
	const (
		name  = "Aisha|Bruno|Chen|Dalia|Emil|Farah|Goran|Hanna|Ivo|Jasmin|Kofi|Lena|Marco|Nadia|Oskar|Petra|Quentin|Rosa|Samir|Tilda|Umar|Vera|Wanda|Xenia|Yusuf|Zora"
		thing = "ladder|teapot|blanket|bookshelf|lamp|suitcase|radio|camera|curtain|mirror|toolbox|carpet|basket|kettle|stool|rucksack|lantern|vase|folder|notebook|poster|candle|tray|ribbon|tent|hammer|stapler|globe|compass|projector|jigsaw|flask"
		doing = "borrowed|returned|cleaned|photographed|ordered|fixed|misplaced|described|packed|measured|wrapped|sketched|labelled|stored|showed|lent|polished|carried"
		where = "library|market|museum|station|warehouse|park|theatre|post office|garage|harbour|playground|terrace|corridor|courtyard|cellar|classroom|canteen|studio|lobby|depot"
		when  = "on Monday|on Tuesday afternoon|last week|two days ago|in the rain|before lunch|after the meeting|at noon|yesterday|in a hurry|this morning|late in the day|during the break|on the first try"
		topic = "the weather|the new timetable|an exhibition|the bus strike|a crossword|the harvest|a bridge|the election in the club|local history|a comet|the price of copper|the old mill|chess openings|a radio play|the repairs in the street"
	)
	seen := map[string]bool{}
	var out []string
	for len(out) < n {
		var s string
		switch r.IntN(7) {
		case 0:
			s = fmt.Sprintf("I %s the %s at the %s %s.", pick(doing), pick(thing), pick(where), pick(when))
		case 1:
			s = fmt.Sprintf("%s %s my %s %s.", pick(name), pick(doing), pick(thing), pick(when))
		case 2:
			s = fmt.Sprintf("We talked about %s at the %s %s.", pick(topic), pick(where), pick(when))
		case 3:
			s = fmt.Sprintf("I told %s about %s %s.", pick(name), pick(topic), pick(when))
		case 4:
			s = fmt.Sprintf("My %s stood next to the %s in the %s %s.", pick(thing), pick(thing), pick(where), pick(when))
		case 5:
			s = fmt.Sprintf("I waited for %s at the %s with a %s.", pick(name), pick(where), pick(thing))
		default:
			s = fmt.Sprintf("%s asked me to bring the %s to the %s %s.", pick(name), pick(thing), pick(where), pick(when))
		}
		if len(out)%50 == 0 {
			s += fmt.Sprintf(" The reference is TCK-%05d.", 10000+37*len(out))
		}
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// speakers are the ten people who say all of it, each about a tenth: a name in a
// question narrows it to some five hundred.
var speakers = strings.Fields("Robin Sasha Alex Kim Noa Jules Sam Toni Charlie Eden")

// paraphraseSet asks each statement three ways: in other words, by its own
// words, and, of the numbered distractors, by number.
func paraphraseSet(t *testing.T) eval.Set {
	t.Helper()
	s := eval.Set{Name: "paraphrases"}
	statements, questions := pairs(t)
	others := distractors(5000)
	who := rand.New(rand.NewPCG(7, 7))
	each := len(others) / len(statements)
	for i, text := range others { // the statements are spread among them
		if j := i / each; i%each == 0 && j < len(statements) {
			s.Docs = append(s.Docs, eval.Doc{ID: fmt.Sprintf("statement %d", j), Tenant: "all", Role: speakers[j%len(speakers)], Text: statements[j]})
		}
		id := fmt.Sprintf("other %d", i)
		s.Docs = append(s.Docs, eval.Doc{ID: id, Tenant: "all", Role: speakers[who.IntN(len(speakers))], Text: text})
		if at := strings.Index(text, "TCK-"); at >= 0 {
			s.Queries = append(s.Queries, eval.Query{ID: id, Tenant: "all", Category: "id", Text: strings.TrimSuffix(text[at:], "."), Gold: []string{id}})
		}
	}
	for i := range statements {
		gold := []string{fmt.Sprintf("statement %d", i)}
		s.Queries = append(s.Queries,
			eval.Query{ID: fmt.Sprintf("paraphrase %d", i), Tenant: "all", Category: "paraphrase", Text: strings.ReplaceAll(questions[i], "NAME", speakers[i%len(speakers)]), Gold: gold},
			eval.Query{ID: fmt.Sprintf("keyword %d", i), Tenant: "all", Category: "keyword", Text: keywords(statements[i]), Gold: gold})
	}
	return s
}

// keywords are the words of a statement without its small ones.
func keywords(text string) string {
	var out []string
	for w := range strings.FieldsSeq(strings.NewReplacer(".", "", ",", "", "'", "").Replace(text)) {
		if len(w) > 3 || w[0] >= '0' && w[0] <= '9' {
			out = append(out, w)
		}
	}
	if len(out) == 0 {
		return text
	}
	return strings.Join(out, " ")
}

// TestParaphrasesShareFewWords holds the set to what it is for.
func TestParaphrasesShareFewWords(t *testing.T) {
	t.Parallel()
	statements, questions := pairs(t)
	if len(statements) < 200 {
		t.Fatalf("%d pairs, want 200", len(statements))
	}
	tok, err := recall.NewTokenizer("english")
	if err != nil {
		t.Fatal(err)
	}
	terms := func(s string) map[string]bool {
		out := map[string]bool{}
		for _, k := range tok.Tokens(s) {
			if !k.Stop {
				out[k.Term] = true
			}
		}
		return out
	}
	shared := 0
	for i := range statements {
		of := terms(statements[i])
		for w := range terms(questions[i]) {
			if of[w] {
				shared++
				t.Logf("pair %d shares %q", i+1, w)
			}
		}
	}
	if shared > len(statements)/10 {
		t.Errorf("%d shared words in %d pairs", shared, len(statements))
	}
}

// TestParaphrasesAreFoundByMeaning: recall@1 among 5,000 others, while queries
// by a statement's own words and by number stay perfect.
func TestParaphrasesAreFoundByMeaning(t *testing.T) {
	if testing.Short() {
		t.Skip("it embeds 5,000 texts")
	}
	t.Parallel()
	e := installed(t)
	set := paraphraseSet(t)
	for _, c := range []struct {
		name  string
		e     model.Embedder
		floor float64
	}{{"words alone", nil, 0}, {"in process", e, 0.55}} {
		run, err := eval.Retrieve(t.Context(), engine(t, func(k *memory.Config) { k.Embedder = c.e }), set, nil)
		if err != nil {
			t.Fatal(err)
		}
		rep := eval.Score(set, run)
		for _, name := range []string{"paraphrase", "keyword", "id"} {
			m := rep.Categories[name]
			t.Logf("%s, %s: n %d, recall@1 %.3f @5 %.3f @10 %.3f; p50 %.0f us", c.name, name, m.N, m.Hit1, m.Recall5, m.Recall10, rep.QueryP50US)
			if floor := map[string]float64{"paraphrase": c.floor, "keyword": 1, "id": 1}[name]; m.Hit1 < floor {
				t.Errorf("%s, %s: recall@1 is %.3f, the floor is %.2f", c.name, name, m.Hit1, floor)
			}
		}
		if rep.Kept != len(set.Docs) || rep.Merged != 0 {
			t.Errorf("%d of %d documents kept, %d merged", rep.Kept, len(set.Docs), rep.Merged)
		}
	}
}
