package recall_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tenet-memory/tenet/recall"
	"pgregory.net/rapid"
)

func tokenizer(tb testing.TB, language string) *recall.Tokenizer {
	tb.Helper()
	tok, err := recall.NewTokenizer(language)
	if err != nil {
		tb.Fatal(err)
	}
	return tok
}

func terms(tok *recall.Tokenizer, text string) []string {
	var out []string
	for _, k := range tok.Tokens(text) {
		if !k.Stop {
			out = append(out, k.Term)
		}
	}
	return out
}

func TestTokensOfEveryScript(t *testing.T) {
	t.Parallel()
	tok := tokenizer(t, "english")
	for _, c := range []struct{ text, want string }{
		{"She paints sunrises", "paint sunris"},
		{"I bought two BIKES", "buy two bike"},
		{"ﬁle ＡＢＣ １２", "file abc 12"},
		{"İstanbul", "istanbul"},
		{"ISTANBUL", "istanbul"},
		{"ΣΟΦΟΣ σοφος", "σοφοσ σοφοσ"},
		{"हिन्दी में", "हिन्दी में"},
		{"東京都", "東京 京都"},
		{"猫", "猫"},
		{"カメラ", "カメ メラ"},
		{"한국어", "한국 국어"},
		{"ไทย", "ไท ทย"},
		{"iPhoneを買う", "iphon を買 買う"},
		{"café", "café"},
		{"cafe\u0301", "café"},
		{"أحمد", "احمد"},
		{"مُحَمَّد", "محمد"},
		{"order_id 4711", "order_id 4711"},
		{"👍🏽 ❤️", ""},
		{"the and of", ""},
		{"", ""},
	} {
		if got := strings.Join(terms(tok, c.text), " "); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

func TestNegatorsAreNeverStopWords(t *testing.T) {
	t.Parallel()
	tok := tokenizer(t, "")
	for _, text := range []string{"I don't eat fish", "I don’t eat fish", "I do not eat fish", "she CAN'T"} {
		if !slices.Contains(terms(tok, text), "not") {
			t.Errorf("%q: %q", text, terms(tok, text))
		}
	}
	for _, w := range []string{"no", "nor", "not", "never", "without"} {
		if len(terms(tok, w)) != 1 {
			t.Errorf("%q is not searched for", w)
		}
	}
}

func TestAnotherLanguageStemsItsOwnWay(t *testing.T) {
	t.Parallel()
	if a, b := terms(tokenizer(t, "spanish"), "canciones"), terms(tokenizer(t, "spanish"), "canción"); a[0] != b[0] {
		t.Errorf("%q %q", a, b)
	}
	if got := terms(tokenizer(t, "none"), "running"); got[0] != "running" {
		t.Errorf("%q", got)
	}
	if _, err := recall.NewTokenizer("klingon"); err != recall.ErrParams {
		t.Errorf("%v", err)
	}
}

func TestOffsetsPointIntoTheOriginalText(t *testing.T) {
	t.Parallel()
	tok := tokenizer(t, "english")
	text := "Ich mag ﬁsh, İzmir und cafe\u0301 — 東京都."
	var got []string
	for _, k := range tok.Tokens(text) {
		got = append(got, text[k.Start:k.End])
	}
	want := []string{"Ich", "mag", "ﬁsh", "İzmir", "und", "cafe\u0301", "東京", "京都"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestHighlightMarksWordsInTheTextAsItIs(t *testing.T) {
	t.Parallel()
	tok := tokenizer(t, "english")
	text := "She painted a sunrise in 東京都!"
	var got []string
	for _, s := range tok.Highlight(text, "the paintings of 東京都") {
		got = append(got, text[s.Start:s.End])
	}
	if want := []string{"painted", "東京都"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// checkTokens holds for any bytes.
func checkTokens(tok *recall.Tokenizer, text string) string {
	last := 0
	for _, k := range tok.Tokens(text) {
		switch {
		case k.Start < last || k.End <= k.Start || k.End > len(text):
			return "offsets out of order"
		case k.Term == "" || !utf8.ValidString(k.Term):
			return "term empty or not UTF-8"
		}
		last = k.Start
	}
	return ""
}

func TestAnyTextHasOrderedTokens(t *testing.T) {
	t.Parallel()
	tok := tokenizer(t, "english")
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
		if bad := checkTokens(tok, text); bad != "" {
			t.Fatalf("%q: %s", text, bad)
		}
	})
}

func TestHugeTextsAreRead(t *testing.T) {
	t.Parallel()
	tok := tokenizer(t, "english")
	for _, text := range []string{
		strings.Repeat("a", 1<<20),
		strings.Repeat("e\u0301", 1<<18),
		strings.Repeat("\u0301", 1<<18),
		strings.Repeat("\xff\x00", 1<<18),
		strings.Repeat("東", 1<<18),
		strings.Repeat("\u200d👩", 1<<16),
	} {
		if bad := checkTokens(tok, text); bad != "" {
			t.Errorf("%.8q...: %s", text, bad)
		}
	}
}

func FuzzTokens(f *testing.F) {
	for _, s := range []string{"don't", "İ\u0307", "ﬁ\xff\x00東\u0301", "\u3099カ", "e\u0301\u0301"} {
		f.Add(s)
	}
	tok := tokenizer(f, "english")
	f.Fuzz(func(t *testing.T, text string) {
		if bad := checkTokens(tok, text); bad != "" {
			t.Errorf("%q: %s", text, bad)
		}
	})
}
