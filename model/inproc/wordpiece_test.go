package inproc

import (
	"strings"
	"testing"
)

func TestOnlyTextsMostlyInAnotherScriptAreForeign(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "crab": false, "Şu karidesi yiyemem": false, "Zoë żyje w Łodzi": false, "Việt Nam": false, "12:30 🙂": false,
		"She wrote 贝类过敏 on the card": false, "贝类过敏": true, "У меня аллергия на shrimp": true, "αλλεργία": true, "アレルギー": true,
	} {
		if got := foreign(text); got != want {
			t.Errorf("%q: foreign is %v", text, got)
		}
	}
}

func FuzzTokens(f *testing.F) {
	w := tiny()
	words, err := newWordpiece(w.Vocabulary)
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{"", "crab no!", "贝类\xff\u0301İ", strings.Repeat("a", 300)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ids := words.append(nil, s, 50)
		if len(ids) > 50 {
			t.Fatalf("%d tokens where 50 are allowed", len(ids))
		}
		for _, id := range ids {
			if id < 0 || int(id) >= len(w.Vocabulary) {
				t.Fatalf("token %d is outside the vocabulary", id)
			}
		}
	})
}
