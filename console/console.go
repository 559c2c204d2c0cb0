// Package console serves pages on which the people who answer for an agent
// look at its memory: server-rendered, without any script.
//
// One table (routes) names every page and action, and one path (serve) checks
// the session, the token of a form and the principal before an action runs; an
// action calls the engine and holds no rule of its own. Memory text is
// untrusted: pages escape it, never link it, and show what is invisible in it.
package console

import (
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

//go:embed page
var files embed.FS

// Config is what the console is made of. Memory and Authenticate are required.
type Config struct {
	Memory *memory.Memory
	// Authenticate says who a key speaks for. It is asked at every request, so
	// that a revoked key ends its sessions.
	Authenticate memory.Authenticator
	// SignOn is for who has no key. Nil: a key is the only way in.
	SignOn *SignOn
	// Policy is the text of the policy in force; empty: what is built in. Nil: not told.
	Policy func() string
	// Trial judges an operator's last n decisions by a candidate policy's text.
	// Nil: this host compiles none.
	Trial func(ctx context.Context, o *memory.Operator, policy string, n int) (memory.Trial, error)
	// Secure marks cookies for TLS only, beside those of requests that came by it.
	Secure bool
	// Idle and Longest bound a session. Defaults: 30 minutes, 8 hours.
	Idle, Longest time.Duration
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Console is an http.Handler for paths below /console.
type Console struct {
	cfg      Config
	mem      *memory.Memory
	sessions sessions
	ring     ring
	flowKey  []byte // signs what a browser keeps while it is at the issuer
	pages    map[string]*template.Template
	mux      *http.ServeMux
}

// route is one page or action. A POST is a form with a token.
type route struct {
	method, path, page string
	open               func(http.ResponseWriter, *http.Request) // what needs no session
	run                func(*visit) (any, error)
}

// moved is an answer that sends the browser on, always below /console.
type moved string

func (c *Console) routes() []route {
	return []route{
		{"GET", "/console/sign-in", "sign-in", c.signIn, nil},
		{"POST", "/console/sign-in", "sign-in", c.signIn, nil},
		{"GET", "/console/sign-in/leave", "", c.leave, nil},
		{"GET", "/console/sign-in/return", "", c.arrive, nil},
		{"POST", "/console/sign-out", "", nil, c.signOut},
		{"GET", "/console/{$}", "overview", nil, c.overview},
		{"GET", "/console/subjects", "subjects", nil, c.subjects},
		{"GET", "/console/subject", "subject", nil, c.subject},
		{"GET", "/console/fact", "fact", nil, c.fact},
		{"GET", "/console/entries", "entries", nil, c.entries},
		{"GET", "/console/record", "record", nil, c.record},
		{"POST", "/console/pin", "", nil, c.pin},
		{"GET", "/console/sessions", "sessions", nil, c.sessionsOf},
		{"GET", "/console/session", "session", nil, c.conversation},
		{"GET", "/console/window", "window", nil, c.window},
		{"GET", "/console/export", "", nil, c.export},
		{"POST", "/console/erase", "erase", nil, c.erase},
		{"GET", "/console/quarantine", "quarantine", nil, c.quarantine},
		{"POST", "/console/release", "", nil, c.release},
		{"POST", "/console/reject", "", nil, c.reject},
		{"POST", "/console/admit", "", nil, c.admit},
		{"POST", "/console/ask", "ask", nil, c.ask},
		{"POST", "/console/bulk", "bulk", nil, c.bulk},
		{"GET", "/console/taint", "taint", nil, c.taint},
		{"POST", "/console/revoke", "taint", nil, c.revoke},
		{"GET", "/console/policy", "policy", nil, c.policy},
		{"POST", "/console/policy", "policy", nil, c.vet},
		{"POST", "/console/trial", "policy", nil, c.trial},
		{"GET", "/console/try", "try", nil, c.try},
		{"POST", "/console/try", "try", nil, c.say},
		{"GET", "/console/audit", "audit", nil, c.audit},
		{"GET", "/console/extract", "", nil, c.extract},
	}
}

// New makes the console. It returns an Invalid error when a required part is
// missing.
func New(cfg Config) (*Console, error) {
	if cfg.Memory == nil || cfg.Authenticate == nil {
		return nil, tenet.Errorf(tenet.Invalid, "console", "no engine or no authenticator")
	}
	if cfg.Idle == 0 {
		cfg.Idle = 30 * time.Minute
	}
	if cfg.Longest == 0 {
		cfg.Longest = 8 * time.Hour
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if s := cfg.SignOn; s != nil && (s.Issuer == nil || s.Principal == nil) {
		return nil, tenet.Errorf(tenet.Invalid, "console", "a sign-on without an issuer or an authenticator")
	}
	c := &Console{cfg: cfg, mem: cfg.Memory, flowKey: []byte(rand.Text()), pages: map[string]*template.Template{}, mux: http.NewServeMux()}
	c.sessions.now, c.sessions.idle, c.sessions.longest, c.sessions.open = cfg.Now, cfg.Idle, cfg.Longest, map[string]*session{}
	base, err := template.New("").Funcs(template.FuncMap{"shown": shown, "query": query, "time": stamp, "words": inWords, "share": share, "scored": scored}).ParseFS(files, "page/frame.html")
	if err != nil {
		return nil, err
	}
	for _, name := range append(pagesOf(c.routes()), "problem", "signed-in") {
		t, err := base.Clone()
		if err == nil {
			c.pages[name], err = t.ParseFS(files, "page/"+name+".html")
		}
		if err != nil {
			return nil, err
		}
	}
	for _, r := range c.routes() {
		c.mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, q *http.Request) { c.serve(w, q, r) })
	}
	c.mux.HandleFunc("GET /console/style.css", func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=3600")
		http.ServeFileFS(w, q, files, "page/style.css")
	})
	return c, nil
}

// pagesOf are the pages of routes, each once.
func pagesOf(rs []route) []string {
	var out []string
	for _, r := range rs {
		if r.page != "" && !slices.Contains(out, r.page) {
			out = append(out, r.page)
		}
	}
	return out
}

// ServeHTTP implements http.Handler.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	c.mux.ServeHTTP(w, r)
}

// visit is one request of somebody who is signed in.
type visit struct {
	*http.Request
	by      tenet.Principal
	session *session
	w       http.ResponseWriter
}

// operator is the review side of the subject that the request names. The
// tenant is the principal's; no request can name another.
func (c *Console) operator(v *visit) (*memory.Operator, tenet.Scope, error) {
	s, err := tenet.ParseSubject(v.FormValue("subject"))
	if err != nil {
		return nil, tenet.Scope{}, err
	}
	scope, err := tenet.NewScope(v.by.Tenant(), s)
	if err != nil {
		return nil, scope, err
	}
	o, err := c.mem.Operator(v.by, scope)
	return o, scope, err
}

// serve is the one path of every route.
func (c *Console) serve(w http.ResponseWriter, q *http.Request, r route) {
	if r.open != nil {
		r.open(w, q)
		return
	}
	s, by, err := c.who(q)
	if err != nil && tenet.KindOf(err) != tenet.Denied {
		c.problem(w, nil, err)
		return
	}
	if err != nil {
		http.Redirect(w, q, "/console/sign-in", http.StatusSeeOther)
		return
	}
	v := &visit{q, by, s, w}
	var out any
	if r.method == "POST" && !same(s.csrf, q.PostFormValue("csrf")) {
		err = tenet.Errorf(tenet.Denied, "console", "the form's token is missing or not this session's: load the page again")
	} else {
		out, err = r.run(v)
	}
	if tenet.KindOf(err) == tenet.Denied {
		c.mem.Denied(q.Context(), by, r.method+" "+r.path)
	}
	if err != nil {
		c.problem(w, v, err)
		return
	}
	switch out := out.(type) {
	case moved:
		http.Redirect(w, q, string(out), http.StatusSeeOther)
		return
	case download:
		b := &begun{ResponseWriter: w, name: out.name}
		if err := out.write(b); err != nil && !b.yes {
			c.problem(w, v, err)
		}
		return
	}
	c.render(w, http.StatusOK, r.page, v, out)
}

// shell is what the frame of every page shows.
type shell struct {
	Page, CSRF, Tenant, Who string
	Data                    any
}

func (c *Console) render(w http.ResponseWriter, status int, page string, v *visit, data any) {
	s := shell{Page: page, Data: data}
	if v != nil {
		s.CSRF, s.Tenant, s.Who = v.session.csrf, v.by.Tenant(), v.by.String()
	}
	var b bytes.Buffer
	if err := c.pages[page].ExecuteTemplate(&b, "frame", s); err != nil {
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	w.Write(b.Bytes())
}

var statuses = map[tenet.Kind]int{tenet.Invalid: 400, tenet.NotFound: 404, tenet.Conflict: 409, tenet.Refused: 422, tenet.Denied: 403, tenet.Unavailable: 503}

func (c *Console) problem(w http.ResponseWriter, v *visit, err error) {
	status, text := statuses[tenet.KindOf(err)], err.Error()
	if status == 0 {
		status, text = http.StatusInternalServerError, "something failed inside the server"
	}
	c.render(w, status, "problem", v, text)
}

// query makes the query part of a link from name and value pairs. It is encoded
// already, so templates take it as it is.
func query(pairs ...string) template.URL {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	return template.URL(q.Encode())
}

// share is a number from 0 to 1 for people.
func share(f float64) string { return strconv.FormatFloat(f, 'f', 2, 64) }

func stamp(t time.Time) string {
	if t.IsZero() {
		return "open"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// scored are a score and its parts, those that are nothing left out.
func scored(s *tenet.Score) string {
	var sum int32
	var parts []string
	for _, p := range []struct {
		name string
		n    int32
	}{
		{"its words", s.Turn}, {"its neighbours", s.Window}, {"its session", s.Session}, {"words together", s.Near}, {"speaker", s.Speaker},
		{"preference", s.Preference}, {"time", s.Time}, {"standing", s.Standing}, {"meaning", s.Dense}, {"exact", s.Exact},
	} {
		if sum += p.n; p.n != 0 {
			parts = append(parts, p.name+" "+share(float64(p.n)/1e4))
		}
	}
	return share(float64(sum)/1e4) + " = " + strings.Join(parts, " + ")
}
