package console

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// tab is a real Chromium, headless, driven by the WebDriver protocol: plain HTTP
// to the distribution's chromedriver, so that no library is needed.
type tab struct {
	*world
	at string // the session's address at the driver
}

// require fails where a part must be there (TENET_TEST_REQUIRE names it), and
// skips elsewhere.
func require(t testing.TB, name, missing string) {
	t.Helper()
	if strings.Contains(os.Getenv("TENET_TEST_REQUIRE"), name) {
		t.Fatalf("%s, and TENET_TEST_REQUIRE names %s: scripts/test-deps.sh installs it", missing, name)
	}
	t.Skipf("SKIPPED, NOTHING TESTED: %s; scripts/test-deps.sh installs it", missing)
}

// tab opens a browser on the console. Scripts of pages run in it only when asked for.
func (w *world) tab(t testing.TB, scripts bool) *tab {
	t.Helper()
	driver, err := exec.LookPath("chromedriver")
	if err != nil {
		require(t, "chromium", "there is no chromedriver")
	}
	cmd := exec.Command(driver, "--port=0")
	out, err := cmd.StdoutPipe()
	ok(t, err)
	ok(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	port := ""
	for s := bufio.NewScanner(out); port == "" && s.Scan(); {
		if m := regexp.MustCompile(`successfully on port (\d+)`).FindStringSubmatch(s.Text()); m != nil {
			port = m[1]
		}
	}
	if port == "" {
		t.Fatal("chromedriver did not start")
	}
	go io.Copy(io.Discard, out)
	b := &tab{w, "http://127.0.0.1:" + port}
	var made struct{ SessionID string }
	b.call("POST", "/session", map[string]any{"capabilities": map[string]any{"alwaysMatch": map[string]any{
		"browserName": "chrome",
		// In a container there is no user namespace for the sandbox; the only pages are the console's.
		"goog:chromeOptions": map[string]any{"args": []string{"--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars"}},
		"goog:loggingPrefs":  map[string]string{"browser": "ALL"},
	}}}, &made)
	b.at += "/session/" + made.SessionID
	t.Cleanup(func() { b.call("DELETE", "", nil, nil) })
	if !scripts {
		b.cdp("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	}
	return b
}

func (b *tab) call(method, path string, in, out any) {
	b.Helper()
	var body bytes.Buffer
	if method == "POST" {
		if in == nil {
			in = struct{}{}
		}
		ok(b, json.NewEncoder(&body).Encode(in))
	}
	q, err := http.NewRequest(method, b.at+path, &body)
	ok(b, err)
	q.Header.Set("Content-Type", "application/json")
	r, err := http.DefaultClient.Do(q)
	ok(b, err)
	defer r.Body.Close()
	var answer struct{ Value json.RawMessage }
	ok(b, json.NewDecoder(r.Body).Decode(&answer))
	if r.StatusCode != 200 {
		b.Fatalf("webdriver %s %s: %s", method, path, answer.Value)
	}
	if out != nil {
		ok(b, json.Unmarshal(answer.Value, out))
	}
}

func (b *tab) cdp(cmd string, params map[string]any, out any) {
	b.Helper()
	b.call("POST", "/goog/cdp/execute", map[string]any{"cmd": cmd, "params": params}, out)
}

// open loads a page of the console, or another server's by its full address.
func (b *tab) open(path string) {
	b.Helper()
	if strings.HasPrefix(path, "/") {
		path = b.url + path
	}
	b.call("POST", "/url", map[string]any{"url": path}, nil)
}

// path is where the browser is.
func (b *tab) path() string {
	b.Helper()
	var s string
	b.call("GET", "/url", nil, &s)
	u, err := url.Parse(s)
	ok(b, err)
	return u.RequestURI()
}

type element map[string]string

func (e element) at() string {
	for _, id := range e {
		return "/element/" + id
	}
	return ""
}

// find returns the one element for a CSS selector, or a link by its text when
// the selector begins with "link ".
func (b *tab) find(selector string) element {
	b.Helper()
	using, value := "css selector", selector
	if s, is := strings.CutPrefix(selector, "link "); is {
		using, value = "link text", s
	}
	var found []element
	b.call("POST", "/elements", map[string]any{"using": using, "value": value}, &found)
	if len(found) == 0 {
		var page string
		b.call("GET", "/source", nil, &page)
		b.Fatalf("%s: nothing is %q on the page:\n%s", b.path(), selector, page)
	}
	return found[0]
}

// press clicks what leads nowhere.
func (b *tab) press(selector string) {
	b.Helper()
	b.call("POST", b.find(selector).at()+"/click", nil, nil)
}

// click follows a link or sends a form, and waits until the next page is there:
// every action of the console leads to one.
func (b *tab) click(selector string) {
	b.Helper()
	page := b.find("html").at()
	b.press(selector)
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		r, err := http.Get(b.at + page + "/name")
		ok(b, err)
		r.Body.Close()
		if state := ""; r.StatusCode == http.StatusNotFound { // the element is of a page that is gone
			if b.run(`return document.readyState + (document.querySelector('main') ? '' : ' and empty')`, &state); state == "complete" {
				return
			}
		}
		if time.Now().After(until) {
			b.Fatalf("%s: %q leads nowhere", b.path(), selector)
		}
	}
}

func (b *tab) write(selector, text string) {
	b.Helper()
	e := b.find(selector)
	b.call("POST", e.at()+"/clear", nil, nil)
	b.call("POST", e.at()+"/value", map[string]any{"text": text}, nil)
}

// text is what a person reads in an element.
func (b *tab) text(selector string) string {
	b.Helper()
	var s string
	b.call("GET", b.find(selector).at()+"/text", nil, &s)
	return s
}

// see demands words on the page.
func (b *tab) see(words ...string) {
	b.Helper()
	page := b.text("main")
	for _, w := range words {
		if !strings.Contains(page, w) {
			b.Errorf("%s does not show %q:\n%s", b.path(), w, page)
		}
	}
}

// run evaluates a script in the page, with the driver's rights, and decodes what it returns.
func (b *tab) run(script string, out any, args ...any) {
	b.Helper()
	if args == nil {
		args = []any{}
	}
	b.call("POST", "/execute/sync", map[string]any{"script": script, "args": args}, out)
}

// signIn signs an operator in by the form.
func (b *tab) signIn(who string) {
	b.Helper()
	b.open("/console/sign-in")
	b.write("#key", b.keyd[who])
	b.click("main button")
	if p := b.path(); p != "/console/" {
		b.Fatalf("signed in, and at %s: %s", p, b.text("main"))
	}
}

// look is how a page is looked at.
type look struct {
	theme string
	width int
	phone bool
}

func (l look) String() string {
	if l.phone {
		return l.theme + "-phone"
	}
	return l.theme + "-desktop"
}

var looks = []look{{"light", 1280, false}, {"dark", 1280, false}, {"light", 390, true}, {"dark", 390, true}}

func (b *tab) as(l look) {
	b.Helper()
	b.cdp("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": l.theme}}}, nil)
	b.cdp("Emulation.setDeviceMetricsOverride", map[string]any{"width": l.width, "height": 800, "deviceScaleFactor": 1, "mobile": l.phone}, nil)
}

// picture is the whole page as a PNG.
func (b *tab) picture() []byte {
	b.Helper()
	var shot struct{ Data string }
	b.cdp("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}, &shot)
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	ok(b, err)
	return png
}

// blocked are the content-policy violations that the browser's own log has
// since it was read last.
func (b *tab) blocked() (out []string) {
	b.Helper()
	var log []struct{ Level, Message string }
	b.call("POST", "/se/log", map[string]any{"type": "browser"}, &log)
	for _, l := range log {
		if strings.Contains(l.Message, "Content Security Policy") {
			out = append(out, fmt.Sprintf("%.300s", l.Message))
		}
	}
	return out
}
