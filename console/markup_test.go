package console

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// fields are what a form of the console can be sent, with a value that belongs there.
var fields = map[string]string{"subject": "user:sarah", "key": "home_city", "id": "x", "session": "chat-8", "receipt": "x", "after": "", "from": "1", "kind": "session",
	"name": "chat-7", "text": "hello", "why": "a test", "sure": "", "code": "STYLE", "do": "reject", "policy": strictPolicy, "n": "5", "query": "hotel", "tokens": "500",
	"pinned": "", "since": "", "until": "", "actor": "", "action": "", "verify": ""}

// TestNothingTypedComesBackAsMarkup sends each route of the table each field with
// markup in it, one at a time, as an operator may be made to by a link: no page
// has an element or an address that it has not without, and nothing leads away.
func TestNothingTypedComesBackAsMarkup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.populate(t)
	b := w.browser()
	b.signIn("acme/operator")
	_, body := b.do("GET", "/console/", nil)
	csrf := token(body)
	evil := []string{`"><script>alert(1)</script>`, `javascript:alert(1)`, `//evil.example/`, `https://evil.example`, `'><img src=x onerror=alert(1)>`, "</textarea><script>", "\r\nLocation: https://evil.example"}
	if testing.Short() {
		evil = evil[:3]
	}
	for _, r := range w.con.routes() {
		if strings.HasSuffix(r.path, "/sign-out") {
			continue // it ends the session
		}
		for name := range fields {
			for _, s := range evil {
				form := url.Values{"csrf": {csrf}}
				for k, v := range fields {
					form.Set(k, v)
				}
				form.Set(name, s)
				resp, body := b.do(r.method, at(r)+"?"+form.Encode(), form)
				if l := resp.Header.Get("Location"); l != "" && !strings.HasPrefix(l, "/console/") {
					t.Fatalf("%s %s with %s=%q leads to %q", r.method, r.path, name, s, l)
				}
				if resp.StatusCode >= 500 && resp.StatusCode != 503 {
					t.Errorf("%s %s with %s=%q answers %d", r.method, r.path, name, s, resp.StatusCode)
				}
				if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
					continue
				}
				for _, tag := range tags(t, strings.NewReader(body)) {
					if el, _, _ := strings.Cut(tag, "/"); slices.Contains([]string{"script", "img", "iframe", "object", "base"}, el) || strings.Contains(tag, "/on") {
						t.Fatalf("%s %s with %s=%q has a %s", r.method, r.path, name, s, tag)
					}
				}
			}
		}
	}
}

// TestEveryFieldOfAFormIsTried: a field that a page has and the tests do not know
// would not be tried.
func TestEveryFieldOfAFormIsTried(t *testing.T) {
	t.Parallel()
	names := regexp.MustCompile(` name="([a-z]+)"`)
	pages, err := files.ReadDir("page")
	ok(t, err)
	n := 0
	for _, p := range pages {
		text, err := files.ReadFile("page/" + p.Name())
		ok(t, err)
		for _, m := range names.FindAllStringSubmatch(string(text), -1) {
			n++
			if _, known := fields[m[1]]; !known && m[1] != "csrf" && m[1] != "viewport" && m[1] != "color" {
				t.Errorf("%s has the field %s", p.Name(), m[1])
			}
		}
	}
	if n < 40 {
		t.Errorf("only %d fields", n)
	}
}

// TestNothingInvisibleIsShownAsNothing: what the rules call invisible has a name
// on the page, fillers that Unicode counts as letters and marks included.
func TestNothingInvisibleIsShownAsNothing(t *testing.T) {
	t.Parallel()
	n := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !tenet.Invisible(r) && !(unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp, unicode.Variation_Selector) && r != '\n' && r != '\t') {
			continue
		}
		n++
		if ps := shown("a" + string(r) + "b"); len(ps) != 3 || !ps[1].Blind || ps[1].Text != fmt.Sprintf("[U+%04X]", r) {
			t.Errorf("%U is shown as %v", r, ps)
		}
	}
	if n < 4000 {
		t.Errorf("only %d characters", n)
	}
}

// TestMemoryTextIsOnlyText renders every attack text, in the pieces of a page
// that show memory, and demands the tags of harmless text.
func TestMemoryTextIsOnlyText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	texts := []string{"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "{{.}}", "</svg></style><a href=javascript:x>", "a\u202eb\u2066c\u200bd\x00\x1b[31m"}
	shared := "../../shared/data/gate" // beside the checkout; the texts above stand without it
	names, _ := filepath.Glob(shared + "/*.jsonl")
	for _, name := range names {
		f, err := os.Open(name)
		ok(t, err)
		defer f.Close()
		for s := bufio.NewScanner(f); s.Scan(); {
			var x struct{ Text string }
			if json.Unmarshal(s.Bytes(), &x) == nil && x.Text != "" {
				texts = append(texts, x.Text)
			}
		}
	}
	page := func(text string) []string {
		v := &visit{session: &session{csrf: "t"}}
		h := tenet.Held{State: tenet.HoldOpen, By: text, Candidate: tenet.Candidate{Text: text, Key: text},
			Verdict: tenet.Verdict{Candidate: tenet.CandidateID(text), Outcome: tenet.Quarantined}}
		f := memory.Fact{Record: tenet.Record{Text: text, Key: text, Label: tenet.LabelExternal, Origins: []tenet.Origin{{Principal: text}}}}
		var all []string
		for name, data := range map[string]any{
			"quarantine": review{listed: listed[hold]{Subject: text, Items: []hold{{Held: h, Replaces: f.Record}}, Next: text}, Codes: []coded{{Code: "STYLE", N: 1}}},
			"entries":    listed[memory.Entry]{Subject: text, Items: []memory.Entry{{Record: f.Record}}, Next: text},
			"session": struct {
				listed[turn]
				Session tenet.Session
			}{listed[turn]{Subject: text, Items: []turn{{tenet.Message{Text: text, Speaker: text, RecordedBy: text, ID: tenet.MessageID(text)}, []tenet.Receipt{{ID: text}}}}, Next: text}, tenet.Session{ID: tenet.SessionID(text)}},
			"ask": struct {
				Subject string
				Prompt  memory.Prompt
			}{text, memory.Prompt{Key: text, Text: text, Current: text, Origin: text}},
			"try":      played{Subject: text, Text: text, Query: text, Window: &memory.Window{System: text, Messages: []tenet.Message{{Text: text}}}},
			"subject":  listed[memory.Fact]{Subject: text, Items: []memory.Fact{f}},
			"subjects": listed[string]{Items: []string{text}, Next: text},
			"problem":  text,
		} {
			rec := httptest.NewRecorder()
			w.con.render(rec, 200, name, v, data)
			all = append(all, name+" "+strings.Join(tags(t, rec.Body), " "))
		}
		slices.Sort(all)
		return all
	}
	want := page("harmless")
	for i, text := range texts {
		if testing.Short() && i > 20 && i%20 > 0 {
			continue
		}
		if got := page(text); !slices.Equal(got, want) {
			t.Errorf("%q changes the page's tags", text)
		}
	}
	t.Logf("%d texts", len(texts))
}

// tags are the elements and attribute names of a page, without the marks that
// stand for invisible characters.
func tags(t testing.TB, r io.Reader) (out []string) {
	doc, err := html.Parse(r)
	ok(t, err)
	for n := range doc.Descendants() {
		if n.Type == html.TextNode && strings.ContainsFunc(n.Data, func(r rune) bool { return unicode.In(r, unicode.Cf, unicode.Co) || r == 0x1b || r == 0 }) {
			t.Errorf("invisible characters in %q", n.Data)
		}
		if n.Type != html.ElementNode || slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "class" && a.Val == "blind" }) {
			continue
		}
		s := n.Data
		for _, a := range n.Attr {
			s += fmt.Sprint("/", a.Key)
			if a.Key == "href" && !strings.HasPrefix(a.Val, "/console/") && a.Val != "#main" {
				t.Errorf("a link to %q", a.Val)
			}
		}
		out = append(out, s)
	}
	return out
}
