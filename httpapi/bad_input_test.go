package httpapi_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet/httpapi"
)

// silent is a text that no answer may repeat.
const silent = "my PIN is 4711"

// untouched demands that nothing was written for sarah.
func (w *world) untouched() {
	w.Helper()
	if n := len(w.want(w.as("operator").do("GET", "/v1/users/sarah/audit", nil), 200).at("items").([]any)); n != 0 {
		w.Errorf("%d entries were written", n)
	}
	w.want(w.as("app").do("GET", "/v1/users/sarah/sessions/s", nil), 404)
}

func TestMalformedBodiesWriteNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.as("app")
	messages, memories := "/v1/users/sarah/sessions/s/messages", "/v1/users/sarah/memories"
	for name, c := range map[string]struct {
		path, body string
		status     int
	}{
		"empty":                  {messages, ``, 400},
		"not JSON":               {messages, silent, 400},
		"cut":                    {messages, `{"messages":[{"role":"user","text":"` + silent, 400},
		"trailing":               {messages, `{"messages":[{"role":"user","text":"x"}]} {}`, 400},
		"an array":               {messages, `[]`, 400},
		"null":                   {messages, `null`, 400},
		"no messages":            {messages, `{"messages":[]}`, 400},
		"null messages":          {messages, `{"messages":null}`, 400},
		"wrong type":             {messages, `{"messages":[{"role":"user","text":{"a":"` + silent + `"}}]}`, 400},
		"unknown role":           {messages, `{"messages":[{"role":"` + silent + `","text":"x"}]}`, 400},
		"unknown field":          {messages, `{"messages":[{"role":"user","text":"x","` + silent + `":1}]}`, 400},
		"a field in other case":  {messages, `{"Messages":[{"role":"user","text":"x"}]}`, 400},
		"a key twice":            {messages, `{"messages":[],"messages":[{"role":"user","text":"x"}]}`, 400},
		"a lone surrogate":       {messages, `{"messages":[{"role":"user","text":"\ud800"}]}`, 400},
		"not UTF-8":              {messages, "{\"messages\":[{\"role\":\"user\",\"text\":\"\xff\"}]}", 400},
		"NUL":                    {messages, `{"messages":[{"role":"user","text":"a\u0000b"}]}`, 400},
		"too deep":               {memories, `{"tier":"note","text":"x","value":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, 400},
		"a huge number":          {memories, `{"tier":"note","text":"x","valid_from":1e999}`, 400},
		"empty text":             {messages, `{"messages":[{"role":"user","text":""}]}`, 400},
		"one bad of many":        {messages, `{"messages":[{"role":"user","text":"fine"},{"role":"user","text":""}]}`, 400},
		"an unknown tier":        {memories, `{"tier":"episode","text":"x"}`, 400},
		"a bad date":             {memories, `{"tier":"note","text":"x","valid_from":"yesterday"}`, 400},
		"time that runs back":    {memories, `{"tier":"note","text":"x","valid_from":"2026-02-01T00:00:00Z","valid_to":"2026-01-01T00:00:00Z"}`, 400},
		"an id over the limit":   {memories, `{"tier":"note","text":"x","id":"` + strings.Repeat("x", 257) + `"}`, 400},
		"a control character id": {memories, `{"tier":"note","text":"x","id":"a\u0007b"}`, 400},
		"a null for a text":      {memories, `{"tier":"note","text":null}`, 400},
	} {
		t.Run(name, func(t *testing.T) {
			a := app.do("POST", c.path, c.body, w.key())
			if a.status != c.status {
				t.Errorf("got %v, want %d", a, c.status)
			}
			if strings.Contains(string(a.body), "4711") {
				t.Errorf("the answer repeats what was sent: %v", a)
			}
			if a.at("type") == nil || a.at("status") != float64(c.status) || a.at("request_id") == nil {
				t.Errorf("not a problem: %v", a)
			}
		})
	}
	t.Run("another content type", func(t *testing.T) {
		for _, ct := range []string{"text/plain", "application/x-www-form-urlencoded", "application/json, text/plain", ";"} {
			w.want(app.do("POST", messages, say("user", "x"), w.key(), with{"Content-Type", ct}), 415)
		}
	})
	w.untouched()
}

func TestMalformedPathsQueriesAndHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.as("app")
	long := strings.Repeat("x", 257)
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/v1/users/" + long + "/facts", 400},
		{"GET", "/v1/users/%FF/facts", 400},
		{"GET", "/v1/users/a%00b/facts", 400},
		{"GET", "/v1/users/a%0Ab/facts", 400},
		{"GET", "/v1/users//facts", 400},
		{"GET", "/v1/users/sarah/fact", 404},
		{"GET", "/v2/users/sarah/facts", 404},
		{"GET", "/v1/users/sarah/sessions/" + long, 400},
		{"GET", "/v1/users/sarah/sessions/nobody", 404},
		{"GET", "/v1/users/sarah/sessions/nobody/messages", 404},
		{"GET", "/v1/users/sarah/sessions/s/messages?limit=0", 400},
		{"GET", "/v1/users/sarah/sessions/s/messages?limit=1001", 400},
		{"GET", "/v1/users/sarah/sessions/s/messages?limit=x", 400},
		{"GET", "/v1/users/sarah/sessions/s/messages?after=9999999999999999999", 400},
		{"GET", "/v1/users/sarah/sessions/s/messages?limit=1&limit=2", 400},
		{"GET", "/v1/users/sarah/facts?tennant=true", 400},
		{"GET", "/v1/users/sarah/facts?tenant=yes", 400},
		{"GET", "/v1/users/sarah/facts?valid_at=now", 400},
		{"GET", "/v1/users/sarah/facts?a=%zz", 400},
		{"GET", "/v1/users/sarah/facts/" + strings.Repeat("k", 129), 400},
		{"GET", "/v1/users/sarah/documents?cursor=AAAA", 400},
		{"GET", "/v1/users/sarah/documents?cursor=%21", 400},
		{"PATCH", "/v1/users/sarah/facts", 405},
		{"POST", "/v1/users/sarah/facts", 405},
		{"PROPFIND", "/v1/users/sarah/facts", 405},
		{"DELETE", "/v1/me", 405},
	} {
		a := app.do(c.method, c.path, nil)
		if a.status != c.status {
			t.Errorf("%s %s: got %v, want %d", c.method, c.path[:min(len(c.path), 80)], a, c.status)
		}
		if c.status == 405 && a.header.Get("Allow") == "" {
			t.Errorf("%s %s: no Allow", c.method, c.path)
		}
	}
	w.want(app.do("GET", "/v1/users/sarah/facts", obj{"a": 1}), 400) // a read takes no body
	for body, status := range map[string]int{"x": 400, "": 404} {    // nor does a call whose body comes in pieces
		req, err := http.NewRequest("DELETE", w.url+"/v1/users/sarah/facts/seat", io.MultiReader(strings.NewReader(body)))
		ok(t, err)
		req.TransferEncoding = []string{"chunked"}
		req.Header.Set("Authorization", "Bearer "+app.secret)
		resp, err := http.DefaultClient.Do(req)
		ok(t, err)
		resp.Body.Close()
		if resp.StatusCode != status {
			t.Errorf("a body of %d bytes in chunks: %d, want %d", len(body), resp.StatusCode, status)
		}
	}
	for _, name := range []string{"If-Match", "If-None-Match"} { // a condition that nobody looks at
		w.want(app.do("DELETE", "/v1/users/sarah/sessions/s", nil, with{name, `"x"`}), 400)
	}
	w.want(app.do("GET", "/v1/users/sarah/facts?If-None-Match=x", nil), 400)
	w.want(app.do("POST", "/v1/users/sarah/memories", obj{"tier": "note", "text": "x"}, with{"Content-Type", "application/json; charset=latin1"}), 415)
	for _, id := range []string{"", strings.Repeat("x", 65), "a b", "a\"b"} {
		a := app.do("GET", "/v1/me", nil, with{"X-Request-Id", id})
		if got := a.header.Get("X-Request-Id"); got == "" || got == id {
			t.Errorf("request id %q became %q", id, got)
		}
	}
	if got := app.do("GET", "/v1/me", nil, with{"X-Request-Id", "abc-1"}).header.Get("X-Request-Id"); got != "abc-1" {
		t.Errorf("request id became %q", got)
	}
	w.untouched()
}

// A cursor is good for the list, the scope and the tenant that it came from.
func TestACursorOfAnotherListIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.as("app")
	for _, u := range []string{"sarah", "bob"} {
		for i := range 3 {
			w.want(app.do("PUT", fmt.Sprintf("/v1/users/%s/documents/%d", u, i), obj{"text": "x"}), 200)
		}
	}
	next := w.want(app.do("GET", "/v1/users/sarah/documents?limit=1", nil), 200).at("next").(string)
	w.want(app.do("GET", "/v1/users/sarah/documents?limit=1&cursor="+next, nil), 200)
	for _, c := range []struct{ who, path string }{
		{"app", "/v1/users/bob/documents?limit=1&cursor="}, {"app", "/v1/users/sarah/documents?prefix=x&cursor="},
		{"app", "/v1/projects/sarah/documents?cursor="}, {"operator", "/v1/users/sarah/audit?cursor="}, {"globex/app", "/v1/users/sarah/documents?limit=1&cursor="},
		{"admin", "/v1/keys?cursor="},
	} {
		if a := w.want(w.as(c.who).do("GET", c.path+next, nil), 400); a.at("code") != "CURSOR" {
			t.Errorf("%s: %v", c.path, a)
		}
	}
	flipped := []byte(next)
	flipped[3] ^= 1
	w.want(app.do("GET", "/v1/users/sarah/documents?cursor="+string(flipped), nil), 400)
}

func TestOverTheLimitIsA413WithTheLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *httpapi.Config) { c.MaxBody = 10_000 })
	path := "/v1/users/sarah/sessions/s/messages"
	big := say("user", strings.Repeat("x", 10_000))
	a := w.want(w.as("app").do("POST", path, big, w.key()), 413)
	if a.at("limit") != 10_000.0 {
		t.Errorf("got %v", a)
	}
	// Without a Content-Length the body is counted as it comes.
	r, _ := http.NewRequest("POST", w.url+path, io.MultiReader(strings.NewReader(strings.Repeat(" ", 10_001))))
	r.Header.Set("Authorization", "Bearer "+w.as("app").secret)
	r.Header.Set("Content-Type", "application/json")
	r.ContentLength = -1
	resp, err := http.DefaultClient.Do(r)
	ok(t, err)
	resp.Body.Close()
	if resp.StatusCode != 413 {
		t.Errorf("chunked: %d", resp.StatusCode)
	}
	w.untouched()
}

// A client that stops in the middle writes nothing and holds nobody up.
func TestSlowHalfOpenAndCutClients(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.as("app")
	head := "POST /v1/users/sarah/sessions/s/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + app.secret +
		"\r\nIdempotency-Key: slow\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
	whole := `{"messages":[{"role":"user","text":"never"}]}`
	dial := func() net.Conn {
		c, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
		ok(t, err)
		t.Cleanup(func() { c.Close() })
		return c
	}
	var open []net.Conn
	for range 20 { // half-open: a head and some of the body, then silence
		c := dial()
		fmt.Fprint(c, head+whole[:20])
		open = append(open, c)
	}
	fmt.Fprint(dial(), head[:50]) // not even a head

	start := time.Now()
	for i := range 20 { // others write meanwhile, at their usual speed
		w.want(app.do("POST", "/v1/users/bob/sessions/b/messages", say("user", fmt.Sprint("hello ", i)), w.key()), 201)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("20 appends took %v beside half-open clients", took)
	}
	cut := dial() // a whole JSON value, but not the promised length
	fmt.Fprint(cut, head+whole)
	cut.(*net.TCPConn).CloseWrite()
	if resp, err := http.ReadResponse(bufio.NewReader(cut), nil); err == nil && resp.StatusCode != 400 {
		t.Errorf("a cut body got %d", resp.StatusCode)
	}
	for _, c := range open {
		c.Close()
	}
	w.untouched()
}

// Over the server's own time-out a half-sent body is a 408, not a hanging
// connection.
func TestABodyThatDoesNotArriveIsA408(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	srv := w.api.Server()
	srv.ReadTimeout = 300 * time.Millisecond
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	go srv.Serve(ln)
	t.Cleanup(func() { srv.Close() })
	c, err := net.Dial("tcp", ln.Addr().String())
	ok(t, err)
	defer c.Close()
	fmt.Fprint(c, "POST /v1/users/sarah/sessions/s/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+w.as("app").secret+
		"\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
	c.SetReadDeadline(time.Now().Add(5 * time.Second))
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	ok(t, err)
	if resp.StatusCode != 408 {
		t.Errorf("got %d", resp.StatusCode)
	}
	w.untouched()
}

// Shutdown answers what has begun.
func TestTheServerDrains(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	srv := w.api.Server()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	go srv.Serve(ln)
	c, err := net.Dial("tcp", ln.Addr().String())
	ok(t, err)
	defer c.Close()
	body := `{"messages":[{"role":"user","text":"late but whole"}]}`
	fmt.Fprintf(c, "POST /v1/users/sarah/sessions/s/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nIdempotency-Key: d\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		w.as("app").secret, len(body), body[:10])
	time.Sleep(50 * time.Millisecond)
	done := make(chan error, 1)
	go func() { done <- srv.Shutdown(t.Context()) }()
	time.Sleep(50 * time.Millisecond)
	fmt.Fprint(c, body[10:])
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	ok(t, err)
	if resp.StatusCode != 201 {
		t.Errorf("got %d", resp.StatusCode)
	}
	ok(t, <-done)
}
