package console

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

var memoryBudget = memory.Budget{Tokens: 2000}

const axeFile = "../.cache/axe/axe.min.js" // scripts/test-deps.sh brings it

// shows gets the browser to each page that a route has, by its method and path.
func shows(b *tab) map[string]func() {
	open := func(path string) func() { return func() { b.open(path) } }
	at := func(path string, do func()) func() {
		return func() { b.open(path); do() }
	}
	return map[string]func(){
		"GET /console/sign-in": open("/console/sign-in"),
		"POST /console/sign-in": at("/console/sign-in", func() {
			b.write("#key", "not a key")
			b.click("main button")
		}),
		"GET /console/{$}":        open("/console/"),
		"GET /console/subjects":   open("/console/subjects"),
		"GET /console/subject":    open("/console/subject?subject=user:sarah"),
		"GET /console/fact":       open("/console/fact?subject=user:sarah&key=home_city"),
		"GET /console/entries":    open("/console/entries?subject=user:sarah"),
		"GET /console/record":     at("/console/entries?subject=user:sarah", func() { b.click("link Open") }),
		"GET /console/sessions":   open("/console/sessions?subject=user:sarah"),
		"GET /console/session":    open("/console/session?subject=user:sarah&session=chat-8"),
		"GET /console/window":     at("/console/session?subject=user:sarah&session=chat-8", func() { b.click("a[href*='/console/window']") }),
		"GET /console/quarantine": open("/console/quarantine?subject=user:sarah"),
		"GET /console/taint":      open("/console/taint?subject=user:sarah&kind=session&name=chat-7"),
		"GET /console/policy":     open("/console/policy?subject=user:sarah"),
		"GET /console/try":        open("/console/try?subject=user:sarah"),
		"GET /console/audit":      open("/console/audit?subject=user:sarah&verify=1"),
		"POST /console/policy": at("/console/policy?subject=user:sarah", func() {
			b.write("#t", attack)
			b.click("form[action='/console/policy'] button")
		}),
		"POST /console/trial": at("/console/policy?subject=user:sarah", func() {
			b.fill("#p", strictPolicy)
			b.click("form[action='/console/trial'] button")
		}),
		"POST /console/try": at("/console/try?subject=user:sarah", func() {
			b.write("#t", "Where do I live?")
			b.click("form[action='/console/try'] button")
		}),
		"POST /console/ask": at("/console/quarantine?subject=user:sarah", func() { b.click("form[action='/console/ask'] button") }),
		"POST /console/bulk": at("/console/quarantine?subject=user:sarah", func() {
			b.press("summary")
			b.click("form[action='/console/bulk'] .danger")
		}),
		"POST /console/revoke": at("/console/taint?subject=user:sarah&kind=session&name=chat-7", func() {
			b.write("#why", "a test")
			b.click("main button.danger")
		}),
		"POST /console/erase": at("/console/subject?subject=user:sarah", func() { b.click("form[action='/console/erase'] button") }),
	}
}

// strictPolicy holds whatever speaks of pork: the world's host takes a condition in CEL.
const strictPolicy = `text.contains("pork")`

// TestEveryPageLooksRightAndIsAccessible opens each page of the route table in
// light and dark, on a desktop and a phone: nothing is wider than the screen,
// and axe-core finds nothing serious. make screenshots keeps the pictures.
func TestEveryPageLooksRightAndIsAccessible(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile(axeFile)
	if err != nil {
		require(t, "axe", "there is no "+axeFile)
	}
	w := newWorld(t)
	w.populate(t)
	w.withIssuer() // the sign-in page leads there, too
	b := w.tab(t, true)
	pages := shows(b)
	routes := w.con.routes()
	slices.SortStableFunc(routes, func(a, b route) int { return strings.Compare(a.method, b.method) })
	signedIn := false
	for _, r := range routes {
		if r.page == "" {
			continue // it leads to another
		}
		name := r.method + " " + r.path
		show := pages[name]
		if show == nil {
			t.Errorf("%s has no way to be shown in this test", name)
			continue
		}
		if r.open == nil && !signedIn {
			b.signIn("acme/operator")
			signedIn = true
		}
		b.as(looks[0])
		show()
		for _, l := range looks {
			b.as(l)
			b.presentable(string(axe), fmt.Sprintf("%s, %v", name, l))
			if dir := os.Getenv("TENET_SCREENSHOTS"); dir != "" {
				file := strings.Trim(regexp.MustCompile(`[^a-z]+`).ReplaceAllString(strings.ToLower(name), "-"), "-")
				ok(t, os.WriteFile(filepath.Join(dir, file+"-"+l.String()+".png"), b.picture(), 0o644))
			}
		}
	}
	// The checker finds what it is there for.
	b.run(`document.querySelector('main').innerHTML = '<input><button></button>'`, nil)
	if found := b.serious(string(axe)); len(found) < 2 {
		t.Errorf("a field and a button without names are not found: %v", found)
	}
}

func (b *tab) presentable(axe, name string) {
	b.Helper()
	var over []string
	b.run(`const w = document.documentElement.clientWidth;
		if (document.documentElement.scrollWidth <= w) return [];
		return [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > w + 1 && !e.closest('.wide')).map(e => e.tagName + '.' + e.className + ' ' + e.getBoundingClientRect().right)`, &over)
	if len(over) > 0 {
		b.Errorf("%s: wider than the screen: %q", name, over)
	}
	for _, v := range b.serious(axe) {
		b.Errorf("%s: %s", name, v)
	}
}

// serious are the violations of axe-core that are serious or critical.
func (b *tab) serious(axe string) []string {
	b.Helper()
	var there bool
	if b.run(`return typeof axe !== 'undefined'`, &there); !there {
		b.run(axe, nil)
	}
	b.call("POST", "/timeouts", map[string]int{"script": 60000}, nil)
	var found []string
	b.call("POST", "/execute/async", map[string]any{"args": []any{}, "script": `const done = arguments[0];
		axe.run(document, {resultTypes: ['violations']}).then(r => done(r.violations.filter(v => v.impact === 'serious' || v.impact === 'critical')
		.map(v => v.impact + ' ' + v.id + ': ' + v.help + ': ' + v.nodes.slice(0, 3).map(n => n.html + ' ' + n.failureSummary).join(' | '))), e => done(['axe: ' + e]))`}, &found)
	return found
}

const listener = `window.violations = []; addEventListener('securitypolicyviolation', e => violations.push(e.violatedDirective + ' ' + e.blockedURI));
	for (const f of ['alert', 'confirm', 'prompt']) window[f] = () => violations.push(f)`

// listens has every page of the tab count what its policy had to stop.
func (b *tab) listens() {
	b.Helper()
	b.cdp("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": listener}, nil)
}

func (b *tab) stopped() []string {
	b.Helper()
	var v []string
	b.run("return window.violations", &v)
	return append(v, b.blocked()...)
}

// attackTexts are those beside the checkout, and our own, which stand without.
func attackTexts(t testing.TB) []string {
	texts := []string{"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "{{.}}", "</svg></style><a href=javascript:alert(1)>",
		`' onmouseover='alert(1)`, "javascript:alert(1)", "</textarea><script>alert(1)</script>", "<style>@import 'https://evil.example'</style>",
		"<meta http-equiv=refresh content='0;url=https://evil.example'>", "<base href=https://evil.example>", "<form action=https://evil.example><button>x",
		"a\u202eb\u2066c\u200bd\u001b[31m", "<iframe srcdoc='<script>alert(1)</script>'>", "<svg onload=alert(1)>"}
	names, _ := filepath.Glob("../../shared/data/gate/*.jsonl")
	for _, name := range names {
		f, err := os.Open(name)
		ok(t, err)
		defer f.Close()
		for s := bufio.NewScanner(f); s.Scan(); {
			var x struct{ Text, Label string }
			if json.Unmarshal(s.Bytes(), &x) == nil && x.Text != "" && x.Label != "benign" {
				texts = append(texts, x.Text)
			}
		}
	}
	return texts
}

// TestNoStoredTextMakesABrowserAct stores every attack text wherever one can be
// stored and follows every link of every page with scripts on: the policy has
// nothing to stop, and nothing opens a dialogue.
func TestNoStoredTextMakesABrowserAct(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.tab(t, true)
	b.listens()
	evil := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, q *http.Request) {
		w.con.ServeHTTP(rw, q)
		rw.Write([]byte("<script>alert(1)</script><img src=x onerror=alert(1)>"))
	}))
	t.Cleanup(evil.Close)
	b.open(evil.URL + "/console/sign-in")
	if v := b.stopped(); len(v) < 3 {
		t.Fatalf("the listener hears nothing: %q", v)
	}

	texts := attackTexts(t)
	perKind := 40
	if testing.Short() {
		texts, perKind = texts[:min(len(texts), 40)], 10
	}
	w.store(t, texts)
	b.signIn("acme/operator")
	b.stopped()
	path := regexp.MustCompile(`^[^?]*`)
	onward := regexp.MustCompile(`^/console/(quarantine|entries)\?after=`) // what is held, and what was let in, to the end
	seen, next, kinds := map[string]bool{}, []string{"/console/"}, map[string]int{}
	shown := map[string]bool{}
	for len(next) > 0 {
		to := next[0]
		next = next[1:]
		b.open(to)
		if v := b.stopped(); len(v) > 0 {
			t.Errorf("%s: %q", to, v)
		}
		var page struct {
			Text  string
			Links []string
		}
		b.run(`return {Text: document.querySelector('main').textContent, Links: [...document.querySelectorAll('a')].map(a => a.getAttribute('href'))}`, &page)
		for _, s := range texts {
			if n := []rune(s); !shown[s] && strings.Contains(page.Text, string(n[:min(len(n), 8)])) {
				shown[s] = true
			}
		}
		for _, l := range page.Links {
			kind := path.FindString(l)
			if kind == "#main" || seen[l] || kinds[kind] >= perKind && !onward.MatchString(l) {
				continue
			}
			seen[l] = true
			kinds[kind]++
			next = append(next, l)
		}
	}
	t.Logf("%d texts, %d of them seen on a page, %d pages: %v", len(texts), len(shown), len(seen), kinds)
	if len(shown) < len(texts)*9/10 {
		t.Errorf("only %d of %d texts were on a page", len(shown), len(texts))
	}
	// What is typed comes back on a page, too.
	for _, s := range texts[:min(len(texts), perKind)] {
		b.open("/console/policy?subject=user:sarah")
		b.fill("#t", s)
		b.fill("#k", s)
		b.click("main button")
		if v := b.stopped(); len(v) > 0 {
			t.Errorf("%q on the policy page: %q", s, v)
		}
	}
}

// fill sets a field's text without typing it: some characters have no key.
func (b *tab) fill(selector, text string) {
	b.Helper()
	b.run(`document.querySelector(arguments[0]).value = arguments[1]`, nil, selector, text)
}

// store puts each text into every field of memory that takes it.
func (w *world) store(t testing.TB, texts []string) {
	t.Helper()
	scope := w.scope("acme", "sarah")
	app, agent := w.principal(tenet.App, "acme", "app"), w.principal(tenet.Agent, "acme", "bot")
	for i, s := range texts {
		for _, c := range []tenet.Candidate{tenet.Note(scope, s), tenet.Fact(scope, fmt.Sprintf("k%d", i), s), tenet.Fact(scope, s, "x")} {
			_, err := w.mem.Remember(t.Context(), app, c.Quoting(s))
			if k := tenet.KindOf(err); err != nil && k != tenet.Refused && k != tenet.Invalid {
				t.Fatal(err)
			}
			if i > 40 {
				break
			}
		}
		if i > 40 {
			continue // the rest is held and refused, and told apart by its text
		}
		if sub, err := tenet.NewScope("acme", tenet.User(s)); err == nil {
			_, err = w.mem.Remember(t.Context(), app, tenet.Fact(sub, "k", "x").Quoting("x"))
			ok(t, err)
		}
		m := tenet.UserMessage(s)
		m.Speaker = s
		if ms, err := w.mem.Append(t.Context(), app, scope, tenet.SessionID(s), m); err == nil {
			_, err = w.mem.Propose(t.Context(), agent, tenet.SessionID(s), tenet.Fact(scope, "seat", s).Citing(ms[0].ID))
			if err != nil && tenet.KindOf(err) != tenet.Invalid {
				t.Fatal(err)
			}
			_, err = w.mem.Consolidate(t.Context(), app, scope, tenet.SessionID(s))
			ok(t, err)
		}
	}
}
