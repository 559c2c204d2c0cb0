package supersede

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/kljensen/snowball/english"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/model"
	"github.com/tenet-memory/tenet/model/rules"
)

func extract(t *testing.T, x rules.Extractor, m tenet.Message) []tenet.Candidate {
	t.Helper()
	cs, err := x.Extract(context.Background(), model.Stretch{Messages: []tenet.Message{m}})
	if err != nil {
		t.Fatal(err)
	}
	return cs
}

// A pair differs in one thing that changes what is said.
type pair struct{ kind, a, b string }

// contradictions generates pairs from templates: every template of a kind with
// every filling. The two sides are near-identical by any measure of words.
func contradictions() []pair {
	var out []pair
	each := func(kind string, fills [][2]string, templates ...string) {
		for _, t := range templates {
			for _, f := range fills {
				out = append(out, pair{kind, strings.ReplaceAll(t, "_", f[0]), strings.ReplaceAll(t, "_", f[1])})
			}
		}
	}
	each("negation", [][2]string{{"", "not "}, {"", "never "}, {"still ", "not "}, {"", "no longer "}, {"always ", "hardly "}},
		"I am _allergic to shellfish", "She is _available on Mondays", "My daughter is _vaccinated", "The garage is _heated",
		"My mother is _able to drive", "We are _moving house this year", "He is _on the lease", "My knee is _healed", "I was _told about the fee",
		"The gate code is _shared with the neighbours")
	each("negation", [][2]string{{"do", "don't"}, {"will", "won't"}, {"can", "can't"}, {"did", "didn't"}, {"should", "shouldn't"}, {"would", "wouldn't"}},
		"I _ eat pork", "I _ drive at night", "We _ pay by invoice", "They _ answer the phone on Sundays", "I _ take the early train", "I _ keep the receipts")
	each("number", [][2]string{{"5", "50"}, {"2", "20"}, {"1.5", "15"}, {"10", "100"}, {"3", "4"}, {"12", "21"}, {"1,000", "10,000"}},
		"I take _ mg of warfarin daily", "Our budget is _ dollars", "We have _ seats left", "The code has _ digits", "My son is _ years old",
		"I run _ kilometres every morning", "The flat has _ rooms", "I slept _ hours last night")
	each("unit", [][2]string{{"mg", "g"}, {"kg", "lb"}, {"km", "miles"}, {"minutes", "hours"}, {"days", "weeks"}, {"ml", "l"}, {"%", "points"}, {"euros", "dollars"}},
		"The dose is 5 _", "It weighs 20 _", "The limit is 30 _", "We agreed on 15 _", "Add 2 _ more", "It is 8 _ away")
	each("date", [][2]string{{"3 May", "3 June"}, {"Monday", "Tuesday"}, {"2023", "2024"}, {"2023-05-07", "2023-07-05"}, {"noon", "midnight"}, {"spring", "autumn"}, {"9:30", "9:50"}},
		"My appointment is on _", "The lease ends on _", "We moved on _", "The exam was on _", "My sister was born on _", "Renew the passport before _")
	each("swap", [][2]string{{"Berlin to Paris", "Paris to Berlin"}, {"Anna to Bob", "Bob to Anna"}, {"home to work", "work to home"}, {"red to blue", "blue to red"},
		{"May to June", "June to May"}, {"tea to coffee", "coffee to tea"}},
		"The flight goes from _", "I forward everything from _", "We changed from _", "The transfer goes from _")
	for _, shape := range []string{"always %s never %s", "I prefer %s over %s", "%s is older than %s", "Use %s before %s", "%s pays for %s"} {
		for _, f := range [][2]string{{"aisle", "middle"}, {"tea", "coffee"}, {"email", "phone"}, {"trains", "planes"}, {"dogs", "cats"},
			{"mornings", "evenings"}, {"Anna", "Maria"}, {"summer", "winter"}} {
			out = append(out, pair{"swap", fmt.Sprintf(shape, f[0], f[1]), fmt.Sprintf(shape, f[1], f[0])})
		}
	}
	each("tense", [][2]string{{"smoke", "smoked"}, {"work at the mill", "worked at the mill"}, {"own a boat", "owned a boat"}, {"live alone", "lived alone"},
		{"play the cello", "played the cello"}, {"have a cat", "had a cat"}, {"drink coffee", "drank coffee"}, {"teach maths", "taught maths"}},
		"I _", "They _", "We _ as far as I know", "My parents _", "You know that I _")
	each("tense", [][2]string{{"is", "was"}, {"is", "will be"}, {"is", "has been"}, {"is", "used to be"}},
		"My father _ a nurse", "The shop _ closed", "Our dog _ ill", "The road _ icy", "She _ in charge", "My visa _ valid")
	each("quantifier", [][2]string{{"all", "some"}, {"all", "most"}, {"many", "few"}, {"every", "no"}, {"both", "one"}, {"more", "less"}, {"any", "some"}, {"much", "little"}},
		"I can eat _ nuts", "_ of my files are backed up", "Invite _ colleagues", "_ meetings are cancelled", "I want _ reminders")
	each("entity", [][2]string{{"Oslo", "Bergen"}, {"Anna", "Anne"}, {"peanuts", "walnuts"}, {"Visa", "Mastercard"}, {"Dr. Lee", "Dr. Li"}, {"penicillin", "amoxicillin"},
		{"sarah@example.com", "sara@example.com"}, {"https://example.com/a", "https://example.com/b"}},
		"Send it to _", "I trust _", "My contact is _", "The invoice names _", "Ask about _ first", "_ is on my list")
	each("possessor", [][2]string{{"my", "her"}, {"my", "your"}, {"his", "their"}, {"our", "my"}},
		"It is _ car", "_ mother lives in Rome", "Charge _ card", "_ password has changed", "Call _ doctor")
	each("voice", [][2]string{{"called", "was called"}, {"invited", "was invited by"}, {"pays", "is paid by"}, {"hired", "was hired by"}},
		"Anna _ Bob", "The firm _ him", "My brother _ the landlord", "She _ the bank")
	each("restriction", [][2]string{{"with", "without"}, {"before", "after"}, {"in", "out"}, {"up", "down"}, {"except", "and"}, {"only", "even"}, {"from", "until"}, {"over", "under"}},
		"I drink coffee _ milk", "Call me _ lunch", "Check _ the guests", "Take it _ food", "Pay _ Friday")
	return out
}

// TestNoContradictionIsMerged: no generated pair has equal signatures, ordinary
// or safety, and the engine stores both sides.
func TestNoContradictionIsMerged(t *testing.T) {
	pairs := contradictions()
	count := map[string]int{}
	for _, p := range pairs {
		count[p.kind]++
		if p.a == p.b {
			t.Fatalf("the generator made no difference: %q", p.a)
		}
		for _, safety := range []bool{false, true} {
			if gate.Signature(p.a, safety) == gate.Signature(p.b, safety) {
				t.Errorf("%s merged: %q and %q", p.kind, p.a, p.b)
			}
		}
	}
	t.Logf("%d pairs: %v", len(pairs), count)
	if len(pairs) < 500 {
		t.Errorf("only %d pairs; 500 are wanted", len(pairs))
	}
	backends(t, func(t *testing.T, e *engine) {
		kept, held := 0, map[tenet.Code]int{}
		for i, p := range pairs {
			scope := user(t, fmt.Sprint("pair ", i))
			for _, text := range []string{p.a, p.b} {
				e.at(e.now)
				v := e.tell(t.Context(), t, tenet.Note(scope, text))
				if v.Outcome == tenet.Corroborated || v.Outcome == tenet.Superseded {
					t.Errorf("%s: %q is %s", p.kind, text, v.Outcome)
				}
				if v.Outcome.Kept() {
					kept++
				} else {
					held[v.Codes[0]]++
				}
			}
		}
		t.Logf("stored %d of %d sides, merged none; the rest policy held: %v", kept, 2*len(pairs), held)
	})
}

// variants are other spellings of the same words: what normalisation undoes.
func variants(s string) []string {
	return []string{
		strings.ToUpper(s), strings.ToLower(s), "  " + strings.ReplaceAll(s, " ", "   ") + " ", s + ".", s + "!",
		strings.ReplaceAll(s, "'", "\u2019"), strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(s, "don't", "do not"), "won't", "will not"), "can't", "can not"),
		strings.ReplaceAll(s, " mg", "mg"), "Also, " + s, strings.ReplaceAll(s, "I ", "I really "), fullWidth(s),
	}
}

// fullWidth writes digits as full-width forms, which NFKC undoes.
func fullWidth(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r + 0xFEE0
		}
		return r
	}, s)
}

func TestExactNormalisedDuplicatesAreAlwaysMerged(t *testing.T) {
	n, merged := 0, 0
	for _, p := range contradictions() {
		for _, s := range []string{p.a, p.b} {
			if strings.ContainsAny(s, "@/") {
				continue // addresses are compared letter by letter
			}
			for _, v := range variants(s) {
				if v == s {
					continue
				}
				n++
				if gate.Signature(v, false) == gate.Signature(s, false) {
					merged++
				} else {
					t.Errorf("%q and %q differ", s, v)
				}
			}
		}
	}
	t.Logf("merged %d of %d", merged, n)
}

// TestTheSignatureOnSICK puts the rule beside lexical similarity on the
// development half: duplicates merged, contradictions and neutral pairs not.
func TestTheSignatureOnSICK(t *testing.T) {
	type tally struct{ n, equal, stemmed int }
	var dup, contra, neutral tally
	for _, r := range lines[struct {
		A, B        string
		Relatedness float64
		Entailment  string
	}](t, "dedupe/sick.jsonl") {
		var g *tally
		switch {
		case r.Entailment == "CONTRADICTION":
			g = &contra
		case r.Entailment == "NEUTRAL":
			g = &neutral
		case r.Relatedness >= 4.8:
			g = &dup
		default:
			continue
		}
		g.n++
		if gate.Signature(r.A, false) == gate.Signature(r.B, false) {
			g.equal++
		}
		if stemmedJaccard(r.A, r.B) >= .8 {
			g.stemmed++
		}
	}
	for _, x := range []struct {
		name string
		tally
	}{{"duplicates", dup}, {"contradictions", contra}, {"neutral", neutral}} {
		t.Logf("%-14s n %4d: signature merges %3d (%.1f%%), stemmed content Jaccard >= .8 would merge %4d (%.1f%%)",
			x.name, x.n, x.equal, 100*float64(x.equal)/float64(x.n), x.stemmed, 100*float64(x.stemmed)/float64(x.n))
	}
	if contra.equal != 0 || neutral.equal != 0 {
		t.Error("a contradiction or a neutral pair was merged")
	}
	if dup.equal < 90 {
		t.Errorf("only %d duplicates are merged; the reference has 92", dup.equal)
	}
}

// stop is a short stop list, as lexical similarity is usually set up.
var stop = set(`a an the is are was were be been being am in on at of to for with and or by from into out up down over under it its he she they his her
	their this that these those there i you we my your our as not no there's has have had do does did will would can could`)

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

func stemmedJaccard(a, b string) float64 {
	x, y := stems(a), stems(b)
	both := 0
	for w := range x {
		if y[w] {
			both++
		}
	}
	return float64(both) / float64(max(len(x)+len(y)-both, 1))
}

func stems(s string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsFuncSeq(strings.ToLower(s), func(r rune) bool { return r < 'a' || r > 'z' }) {
		if !stop[w] {
			out[english.Stem(w, false)] = true
		}
	}
	return out
}
