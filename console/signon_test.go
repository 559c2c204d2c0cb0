package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet/console/signon/issuertest"
)

// leave follows the link and returns where the issuer sends the browser back to.
func (b browser) leave() string {
	b.Helper()
	resp, _ := b.do("GET", "/console/sign-in/leave?next=https://evil.example&redirect_uri=https://evil.example", nil)
	to, err := url.Parse(resp.Header.Get("Location"))
	ok(b, err)
	if resp.StatusCode != 303 || to.Path != "/authorize" || to.Query().Get("redirect_uri") != b.url+"/console/sign-in/return" || strings.Contains(to.RawQuery, "evil") {
		b.Fatalf("the way to the issuer: %d %s", resp.StatusCode, to)
	}
	r, err := b.Get(to.String())
	ok(b, err)
	r.Body.Close()
	back := r.Header.Get("Location")
	if r.StatusCode != 302 || !strings.HasPrefix(back, b.url) {
		b.Fatalf("the way back: %d %q", r.StatusCode, back)
	}
	return strings.TrimPrefix(back, b.url)
}

func (b browser) cookies(path string) map[string]*http.Cookie {
	u, err := url.Parse(b.url + path)
	ok(b, err)
	out := map[string]*http.Cookie{}
	for _, c := range b.Jar.Cookies(u) {
		out[c.Name] = c
	}
	return out
}

func (b browser) plant(name, value, path string) {
	u, err := url.Parse(b.url + path)
	ok(b, err)
	b.Jar.SetCookies(u, []*http.Cookie{{Name: name, Value: value, Path: path}})
}

func operatorAccount(i *issuertest.Issuer, more map[string]any) {
	claims := map[string]any{"kind": "operator"}
	for k, v := range more {
		claims[k] = v
	}
	i.Account("olga@example.com", claims)
}

func TestAnOperatorSignsInAtTheIssuer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.withIssuer()
	operatorAccount(i, nil)
	b := w.browser()
	b.plant(cookieName, "planted", "/console")
	if _, body := b.do("GET", "/console/sign-in", nil); !strings.Contains(body, `href="/console/sign-in/leave"`) {
		t.Error("the sign-in page does not lead to the issuer")
	}
	back := b.leave()
	resp, body := b.do("GET", back+"&next=https://evil.example", nil)
	if resp.StatusCode != 200 || resp.Header.Get("Refresh") != "0; url=/console/" || strings.Contains(body, "evil") {
		t.Fatalf("back from the issuer: %d %v", resp.StatusCode, resp.Header)
	}
	for _, c := range resp.Cookies() {
		want := map[string]http.SameSite{cookieName: http.SameSiteStrictMode, knockName: http.SameSiteStrictMode, flowName: http.SameSiteLaxMode}[c.Name]
		if !c.HttpOnly || c.SameSite != want || c.Name == flowName && c.MaxAge >= 0 {
			t.Errorf("cookie %v", c)
		}
	}
	id := b.session()
	if id == "" || id == "planted" {
		t.Errorf("the session's id was there before: %q", id)
	}
	_, body = b.do("GET", "/console/", nil)
	if !strings.Contains(body, "operator:olga@example.com") {
		t.Error("signed in, and not in")
	}
	if resp, _ := b.do("POST", "/console/sign-out", url.Values{"csrf": {token(body)}}); resp.StatusCode != 303 || w.con.sessions.find(id) != nil {
		t.Error("signed out, and still in")
	}

	operatorAccount(i, map[string]any{"exp": time.Now().Add(2 * time.Second).Unix()})
	b.do("GET", b.leave(), nil)
	if resp, _ := b.do("GET", "/console/", nil); resp.StatusCode != 200 {
		t.Fatalf("a short token does not sign in: %d", resp.StatusCode)
	}
	time.Sleep(3 * time.Second)
	if resp, _ := b.do("GET", "/console/", nil); resp.Header.Get("Location") != "/console/sign-in" {
		t.Error("a session outlives its token")
	}
}

// TestTheIssuersWayInIsTheBrowsersOwn: nobody comes back who did not leave, nor
// twice, nor with another's code.
func TestTheIssuersWayInIsTheBrowsersOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.withIssuer()
	operatorAccount(i, nil)
	part := func(path, name string) string {
		u, err := url.Parse(path)
		ok(t, err)
		return u.Query().Get(name)
	}
	for name, come := range map[string]func(b, attacker browser) (*http.Response, string){
		"one that did not leave, with the attacker's code and state": func(b, attacker browser) (*http.Response, string) {
			return b.do("GET", attacker.leave(), nil)
		},
		"one that left, with the attacker's code and state": func(b, attacker browser) (*http.Response, string) {
			b.leave()
			return b.do("GET", attacker.leave(), nil)
		},
		"one that left, with the attacker's code and its own state": func(b, attacker browser) (*http.Response, string) {
			own, theirs := b.leave(), attacker.leave()
			return b.do("GET", "/console/sign-in/return?"+url.Values{"state": {part(own, "state")}, "code": {part(theirs, "code")}}.Encode(), nil)
		},
		"no state": func(b, _ browser) (*http.Response, string) {
			return b.do("GET", "/console/sign-in/return?code="+part(b.leave(), "code"), nil)
		},
		"another state": func(b, _ browser) (*http.Response, string) {
			return b.do("GET", strings.Replace(b.leave(), "state=", "state=X", 1), nil)
		},
		"a cookie of the attacker's making": func(b, _ browser) (*http.Response, string) {
			back := b.leave()
			sealed := strings.Split(b.cookies("/console/sign-in/return")[flowName].Value, ".")
			sealed[1] = "NONCE"
			b.plant(flowName, strings.Join(sealed, "."), "/console/sign-in")
			return b.do("GET", back, nil)
		},
		"a flow that the attacker made up whole": func(b, attacker browser) (*http.Response, string) {
			verifier := strings.Repeat("V", 52)
			to, err := w.cfg.SignOn.Leave(t.Context(), "STATE", "NONCE", verifier)
			ok(t, err)
			r, err := attacker.Get(to)
			ok(t, err)
			r.Body.Close()
			b.plant(flowName, strings.Join([]string{"STATE", "NONCE", verifier, "99999999999", strings.Repeat("00", 32)}, "."), "/console/sign-in")
			return b.do("GET", strings.TrimPrefix(r.Header.Get("Location"), b.url), nil)
		},
		"a cookie that is none": func(b, _ browser) (*http.Response, string) {
			back := b.leave()
			b.plant(flowName, part(back, "state"), "/console/sign-in")
			return b.do("GET", back, nil)
		},
		"late": func(b, _ browser) (*http.Response, string) {
			back := b.leave()
			w.now = w.now.Add(11 * time.Minute)
			return b.do("GET", back, nil)
		},
		"twice": func(b, _ browser) (*http.Response, string) {
			back := b.leave()
			b.do("GET", back, nil)
			b.signOutQuietly()
			return b.do("GET", back, nil)
		},
		"twice, with the cookie of the first time": func(b, _ browser) (*http.Response, string) {
			back := b.leave()
			sealed := b.cookies("/console/sign-in/return")[flowName].Value
			b.do("GET", back, nil)
			b.signOutQuietly()
			b.plant(flowName, sealed, "/console/sign-in")
			return b.do("GET", back, nil)
		},
		"an error with markup": func(b, _ browser) (*http.Response, string) {
			i.Change(func(q url.Values) {
				q.Del("code")
				q.Set("error", "access_denied")
				q.Set("error_description", "<script>1</script>")
			})
			defer i.Change(nil)
			return b.do("GET", b.leave(), nil)
		},
		"the answer of another client": func(b, _ browser) (*http.Response, string) {
			i.Account("olga@example.com", map[string]any{"kind": "operator", "aud": "shop"})
			defer operatorAccount(i, nil)
			return b.do("GET", b.leave(), nil)
		},
		"the answer of another sign-in": func(b, _ browser) (*http.Response, string) {
			i.Account("olga@example.com", map[string]any{"kind": "operator", "nonce": "another"})
			defer operatorAccount(i, nil)
			return b.do("GET", b.leave(), nil)
		},
		"an agent": func(b, _ browser) (*http.Response, string) {
			i.Account("bot", map[string]any{"kind": "agent"})
			defer operatorAccount(i, nil)
			return b.do("GET", b.leave(), nil)
		},
		"a user": func(b, _ browser) (*http.Response, string) {
			i.Account("sarah", map[string]any{"kind": "user"})
			defer operatorAccount(i, nil)
			return b.do("GET", b.leave(), nil)
		},
		"nobody in particular": func(b, _ browser) (*http.Response, string) {
			i.Account("x", nil)
			defer operatorAccount(i, nil)
			return b.do("GET", b.leave(), nil)
		},
	} {
		b := w.browser()
		resp, body := come(b, w.browser())
		if resp.StatusCode != 403 || resp.Header.Get("Refresh") != "" || strings.Contains(body, "<script>") || b.session() != "" {
			t.Errorf("%s: %d, session %q", name, resp.StatusCode, b.session())
		}
		if again, _ := b.do("GET", "/console/", nil); again.Header.Get("Location") != "/console/sign-in" {
			t.Errorf("%s is in", name)
		}
	}
	if n := len(w.con.sessions.open); n != 0 {
		t.Errorf("%d sessions are open", n)
	}
}

// signOutQuietly has the server forget the browser's session.
func (b browser) signOutQuietly() {
	_, body := b.do("GET", "/console/", nil)
	if resp, _ := b.do("POST", "/console/sign-out", url.Values{"csrf": {token(body)}}); resp.StatusCode != 303 {
		b.Fatalf("there was no session: %d", resp.StatusCode)
	}
}

// TestWithoutAnIssuerThereIsNoSuchWay, and one that is away is said to be.
func TestWithoutAnIssuerThereIsNoSuchWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, path := range []string{"/console/sign-in/leave", "/console/sign-in/return?code=x&state=y"} {
		if resp, _ := w.browser().do("GET", path, nil); resp.StatusCode != 404 {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
	i := w.withIssuer()
	operatorAccount(i, nil)
	b := w.browser()
	back := b.leave()
	i.Stop()
	if resp, _ := b.do("GET", back, nil); resp.StatusCode != 503 || b.session() != "" {
		t.Errorf("an issuer that is away: %d", resp.StatusCode)
	}
	if _, err := New(Config{Memory: w.mem, Authenticate: w.cfg.Authenticate, SignOn: &SignOn{}}); err == nil {
		t.Error("a console with half an issuer")
	}
}

// TestABrowserComesBackFromTheIssuersSite in Chromium, without scripts: a Strict
// cookie that is set on the way back reaches the page after.
func TestABrowserComesBackFromTheIssuersSite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	operatorAccount(w.withIssuer(), nil)
	b := w.tab(t, false)
	b.open("/console/sign-in")
	b.click("a[href='/console/sign-in/leave']")
	b.see("Overview", "Held for review")
	b.click("form[action='/console/sign-out'] button")
	b.see("Operator key")
	b.open("/console/")
	b.see("Operator key")
}
