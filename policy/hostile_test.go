package policy

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// costly are runs made to have as many expressions as possible look at as much
// text as possible.
func costly(t testing.TB) map[string]string {
	var data struct {
		Rules []struct {
			Keywords []string `json:"keywords"`
		} `json:"rules"`
	}
	if err := json.Unmarshal(gitleaksData, &data); err != nil {
		t.Fatal(err)
	}
	var shaped, spoken []string
	for _, r := range data.Rules {
		shaped = append(shaped, r.Keywords...)
	}
	for _, r := range spokenRules() {
		spoken = append(spoken, r.words...)
	}
	return map[string]string{
		"every keyword in one run": strings.Join(shaped, "="), "every keyword with a value": strings.Join(shaped, `="abcdefg" `), "every spoken word": strings.Join(spoken, ":"),
		"a word as its own value": "password:", "a word after a word": "password is ", "keys": "key=eyjeyj", "users in addresses": "https://a:b@", "keys in lines": "-----begin private key-----",
	}
}

// TestAHostileRunIsScreenedInBoundedTime: what it costs grows with the text and
// no faster, whatever stands in it, and what was not looked through for that is
// taken for a secret. Before there was a bound the worst of these took two
// minutes.
func TestAHostileRunIsScreenedInBoundedTime(t *testing.T) {
	Redact("compile what is compiled when first needed: key=x")
	for name, unit := range costly(t) {
		text := strings.Repeat(unit, (256<<10)/len(unit)+1)[:256<<10] + " and my wifi password is Tulip!Field92 ok"
		start := time.Now()
		out, _ := Redact(text)
		d := time.Since(start)
		t.Logf("%-28s 256 KiB: %v", name, d)
		if d > 20*time.Second {
			t.Errorf("%s: %v", name, d)
		}
		if strings.Contains(out, "Tulip!Field92") {
			t.Errorf("%s: a secret behind it is kept", name)
		}
	}
}

// TestHonestTextIsReadToItsEnd: long texts that people and machines write stay
// far from the bound.
func TestHonestTextIsReadToItsEnd(t *testing.T) {
	line := `2026-01-02T03:04:05Z INFO api key=checkout token_count=412 code=200 secret_name=none url=https://shop.example/cart?code=44 user=ann password=*** pin=none "auth":"ok" github slack stripe aws` + "\n"
	for name, text := range map[string]string{"a log": strings.Repeat(line, (512<<10)/len(line)), "the corpora": long(t, "corpora", 1<<20)} {
		if _, codes := Redact(text); slices.Contains(codes, codeUnread) {
			t.Errorf("%s: not read to its end", name)
		}
	}
}
