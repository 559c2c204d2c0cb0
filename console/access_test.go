package console

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
)

func TestNoRouteWithoutASession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, r := range w.con.routes() {
		resp, body := w.browser().do(r.method, at(r)+"?subject=user:sarah", nil)
		h := resp.Header
		if !strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'none'") || h.Get("X-Frame-Options") != "DENY" {
			t.Errorf("%s %s can be framed", r.method, r.path)
		}
		if r.open == nil && (resp.StatusCode != 303 || h.Get("Location") != "/console/sign-in" || strings.Contains(body, "sarah")) {
			t.Errorf("%s %s answers %d to a stranger", r.method, r.path, resp.StatusCode)
		}
	}
}

func TestOnlyOperatorsSignIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.keyd["nobody"] = "tenet_nothing"
	for who := range w.keyd {
		b := w.browser()
		resp, _ := b.signIn(who)
		if in := resp.StatusCode == 303; in != strings.HasSuffix(who, "/operator") {
			t.Errorf("%s: %d", who, resp.StatusCode)
		}
	}
	b := w.browser()
	b.do("GET", "/console/sign-in", nil)
	if resp, _ := b.do("POST", "/console/sign-in", url.Values{"key": {w.keyd["acme/operator"]}}); resp.StatusCode != 403 {
		t.Errorf("signed in without the form's token: %d", resp.StatusCode)
	}
}

func TestASessionIsNewEndsAndLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.browser()
	u, _ := url.Parse(w.url + "/console/")
	b.Jar.SetCookies(u, []*http.Cookie{{Name: cookieName, Value: "planted", Path: "/console"}})
	_, body := b.do("GET", "/console/sign-in?next=https://evil.example", nil)
	resp, _ := b.do("POST", "/console/sign-in?next=https://evil.example", url.Values{"csrf": {token(body)}, "key": {w.keyd["acme/operator"]}, "next": {"//evil.example"}})
	if l := resp.Header.Get("Location"); l != "/console/" {
		t.Errorf("sign-in leads to %q", l)
	}
	first := b.session()
	if first == "" || first == "planted" {
		t.Fatal("the planted session id was kept")
	}
	for _, c := range resp.Cookies() {
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode {
			t.Errorf("cookie %s is not HttpOnly and Strict", c.Name)
		}
	}
	b.signIn("acme/operator")
	if b.session() == first || w.con.sessions.find(first) != nil {
		t.Error("the id before a second sign-in still works")
	}
	id := b.session()
	_, body = b.do("GET", "/console/", nil)
	if resp, _ := b.do("POST", "/console/sign-out", url.Values{"csrf": {token(body)}}); resp.StatusCode != 303 || w.con.sessions.find(id) != nil {
		t.Error("signed out, and still in")
	}
	b.signIn("acme/operator")
	w.now = w.now.Add(31 * time.Minute)
	if resp, _ := b.do("GET", "/console/", nil); resp.Header.Get("Location") != "/console/sign-in" {
		t.Error("an idle session lives on")
	}
}

func TestEveryFormNeedsItsToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.remember("acme", "allergy", "Severe shellfish.")
	b, other := w.browser(), w.browser()
	b.signIn("acme/operator")
	other.signIn("acme/operator")
	_, theirs := other.do("GET", "/console/", nil)
	for _, r := range w.con.routes() {
		if r.method != "POST" || r.open != nil {
			continue
		}
		for _, tok := range []string{"", "wrong", token(theirs)} {
			resp, _ := b.do("POST", r.path+"?csrf="+tok, url.Values{"csrf": {tok}, "subject": {"user:sarah"}, "sure": {"user:sarah"}})
			if resp.StatusCode != 403 {
				t.Errorf("%s with a bad token: %d", r.path, resp.StatusCode)
			}
		}
	}
	if _, body := b.do("GET", "/console/subject?subject=user:sarah", nil); !strings.Contains(body, "shellfish") {
		t.Error("the fact is gone")
	}
}

func TestAnotherTenantsMemoryIsOutOfReach(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.populate(t)
	held := w.remember("acme", "seat", attack)
	own := w.browser()
	own.signIn("acme/operator")
	if _, body := own.do("GET", "/console/quarantine?subject=user:sarah", nil); !strings.Contains(body, "exfil") || !strings.Contains(body, "<mark>") {
		t.Error("its own operator does not see what was refused, and why")
	}
	scope, op := w.scope("acme", "sarah"), w.principal(tenet.Operator, "acme", "test")
	o, err := w.mem.Operator(op, scope)
	ok(t, err)
	es, err := o.Entries(t.Context(), "", 10)
	ok(t, err)
	rs, err := o.Receipts(t.Context(), "chat-8")
	ok(t, err)
	before, err := o.Audit(t.Context(), 1, 1000)
	ok(t, err)
	b := w.browser()
	b.signIn("globex/operator")
	_, body := b.do("GET", "/console/", nil)
	csrf := token(body)
	for _, r := range w.con.routes() {
		if r.open != nil || strings.HasSuffix(r.path, "sign-out") {
			continue
		}
		for _, subject := range []string{"user:sarah", "acme/user:sarah", "4:acme/user/5:sarah", "tenant", "project:acme"} {
			for _, id := range []string{string(held.Candidate), string(es[0].Record.ID), string(es[0].Record.Message)} {
				form := url.Values{"csrf": {csrf}, "tenant": {"acme"}}
				for k, v := range fields {
					form.Set(k, v)
				}
				form.Set("subject", subject)
				form.Set("sure", subject)
				form.Set("id", id)
				form.Set("name", id)
				form.Set("after", id)
				form.Set("kind", map[bool]string{true: "message", false: "record"}[id == string(es[0].Record.Message)])
				form.Set("receipt", rs[0].ID)
				_, body := b.do(r.method, at(r)+"?"+form.Encode(), form)
				for _, theirs := range []string{"shellfish", "exfil", "Tirana", "Initech", "Braga"} {
					if strings.Contains(body, theirs) {
						t.Errorf("%s %s shows another tenant's memory", r.method, r.path)
					}
				}
			}
		}
	}
	after, err := o.Audit(t.Context(), 1, 1000)
	ok(t, err)
	if len(after) != len(before) {
		t.Errorf("another tenant's operator left %d entries", len(after)-len(before))
	}
}

// TestCookiesAreSecureBehindAProxyThatIs.
func TestCookiesAreSecureBehindAProxyThatIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for proto, want := range map[string]bool{"": false, "http": false, "https": true, "HTTPS, http": true, "http, https": false} {
		q := httptest.NewRequest("GET", "/console/sign-in", nil)
		q.Header.Set("X-Forwarded-Proto", proto)
		rec := httptest.NewRecorder()
		w.con.ServeHTTP(rec, q)
		for _, c := range rec.Result().Cookies() {
			if c.Secure != want {
				t.Errorf("%q: %v", proto, c)
			}
		}
	}
}

// TestWhatTheConsoleDeniesIsOnRecord in the tenant of who tried.
func TestWhatTheConsoleDeniesIsOnRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.browser().signIn("acme/app")
	b := w.browser()
	b.signIn("acme/operator")
	b.do("POST", "/console/release", url.Values{"csrf": {"wrong"}, "subject": {"user:sarah"}, "id": {"x"}})
	op, err := tenet.NewPrincipal(tenet.Operator, "acme", "test")
	ok(t, err)
	scope, err := tenet.NewScope("acme", tenet.WholeTenant())
	ok(t, err)
	o, err := w.mem.Operator(op, scope)
	ok(t, err)
	es, err := o.Audit(t.Context(), 1, 100)
	ok(t, err)
	var refs []string
	for _, e := range es {
		if e.Action == "deny" {
			refs = append(refs, e.Ref)
		}
	}
	if want := []string{"console sign-in", "POST /console/release"}; !slices.Equal(refs, want) {
		t.Errorf("on record: %q, want %q", refs, want)
	}
}

// TestAnOperatorOfOneSubjectReachesNoOther on any route.
func TestAnOperatorOfOneSubjectReachesNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.populate(t)
	b := w.browser()
	b.signIn("acme, of one/operator")
	_, body := b.do("GET", "/console/", nil)
	form := url.Values{"csrf": {token(body)}}
	for k, v := range fields {
		form.Set(k, v)
	}
	form.Set("sure", "user:sarah")
	for _, r := range w.con.routes() {
		if r.open != nil || strings.HasSuffix(r.path, "sign-out") || at(r) == "/console/" || r.path == "/console/subjects" {
			continue
		}
		if resp, body := b.do(r.method, at(r)+"?"+form.Encode(), form); resp.StatusCode != 403 || strings.Contains(body, "Braga") {
			t.Errorf("%s %s answers %d", r.method, r.path, resp.StatusCode)
		}
	}
	if resp, body := b.do("GET", "/console/subjects", nil); resp.StatusCode != 200 || strings.Contains(body, "sarah") {
		t.Errorf("the list of subjects: %d", resp.StatusCode)
	}
}
