package console

import (
	"crypto/rand"
	"crypto/subtle"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

const (
	cookieName = "tenet_console"
	knockName  = "tenet_console_sign_in" // guards the sign-in form, before there is a session
	// maxSessions bounds what sign-ins hold in memory; the one idle longest goes.
	maxSessions = 1000
)

// session is one sign-in. It lives in this process only.
type session struct {
	ask              memory.Authenticator // who the credential speaks for
	credential, csrf string
	began, seen      time.Time
}

type sessions struct {
	mu            sync.Mutex
	open          map[string]*session
	now           func() time.Time
	idle, longest time.Duration
}

// begin opens a session under a new id, whatever the browser had before.
func (s *sessions) begin(ask memory.Authenticator, credential, before string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, before)
	if len(s.open) >= maxSessions {
		var oldest string
		for id, x := range s.open {
			if oldest == "" || x.seen.Before(s.open[oldest].seen) {
				oldest = id
			}
		}
		delete(s.open, oldest)
	}
	id, now := rand.Text(), s.now()
	s.open[id] = &session{ask: ask, credential: credential, csrf: rand.Text(), began: now, seen: now}
	return id
}

func (s *sessions) find(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	x, now := s.open[id], s.now()
	if x == nil {
		return nil
	}
	if now.Sub(x.seen) > s.idle || now.Sub(x.began) > s.longest {
		delete(s.open, id)
		return nil
	}
	x.seen = now
	return x
}

func (s *sessions) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, id)
}

func cookie(q *http.Request, name string) string {
	c, err := q.Cookie(name)
	if err != nil {
		return ""
	}
	return c.Value
}

// secure reports whether the browser came by TLS. A proxy that ends it says so;
// whoever says so falsely only keeps their own cookie from coming back.
func (c *Console) secure(q *http.Request) bool {
	proto, _, _ := strings.Cut(q.Header.Get("X-Forwarded-Proto"), ",")
	return c.cfg.Secure || q.TLS != nil || strings.EqualFold(strings.TrimSpace(proto), "https")
}

func (c *Console) setCookie(w http.ResponseWriter, q *http.Request, name, value string, age int) {
	http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: "/console", MaxAge: age, HttpOnly: true,
		SameSite: http.SameSiteStrictMode, Secure: c.secure(q)})
}

// who is the session of the request; Denied when there is none. The key or token
// is looked at again: one that is revoked or has run out ends the session.
func (c *Console) who(q *http.Request) (*session, tenet.Principal, error) {
	id := cookie(q, cookieName)
	s := c.sessions.find(id)
	if s == nil {
		return nil, tenet.Principal{}, tenet.Errorf(tenet.Denied, "console", "not signed in")
	}
	by, err := s.ask(q.Context(), s.credential)
	if err == nil && by.Kind() != tenet.Operator {
		err = tenet.Errorf(tenet.Denied, "console", "not an operator")
	}
	if err != nil && tenet.KindOf(err) == tenet.Denied {
		c.sessions.end(id)
	}
	return s, by, err
}

type signingIn struct {
	Knock, Problem string
	Issuer         bool
}

func (c *Console) showSignIn(w http.ResponseWriter, q *http.Request, status int, problem string) {
	knock := rand.Text()
	c.setCookie(w, q, knockName, knock, 3600)
	c.render(w, status, "sign-in", nil, signingIn{knock, problem, c.cfg.SignOn != nil})
}

// signIn shows the form and takes it. Where it leads is fixed.
func (c *Console) signIn(w http.ResponseWriter, q *http.Request) {
	switch {
	case q.Method != http.MethodPost:
		c.showSignIn(w, q, http.StatusOK, "")
	case !same(cookie(q, knockName), q.PostFormValue("csrf")):
		c.showSignIn(w, q, http.StatusForbidden, "The form was too old, or not from this page. Try again.")
	case c.begin(w, q, c.cfg.Authenticate, q.PostFormValue("key"), "That is not the key of an operator."):
		http.Redirect(w, q, "/console/", http.StatusSeeOther)
	}
}

// begin opens a session for an operator; anybody else sees why not.
func (c *Console) begin(w http.ResponseWriter, q *http.Request, ask memory.Authenticator, credential, refusal string) bool {
	by, err := ask(q.Context(), credential)
	switch {
	case err != nil && tenet.KindOf(err) != tenet.Denied:
		c.showSignIn(w, q, http.StatusServiceUnavailable, "Who that is cannot be checked now.")
	case err != nil || by.Kind() != tenet.Operator:
		if err == nil {
			c.mem.Denied(q.Context(), by, "console sign-in")
		}
		c.showSignIn(w, q, http.StatusForbidden, refusal)
	default:
		c.setCookie(w, q, cookieName, c.sessions.begin(ask, credential, cookie(q, cookieName)), 0)
		c.setCookie(w, q, knockName, "", -1)
		return true
	}
	return false
}

func (c *Console) signOut(v *visit) (any, error) {
	c.sessions.end(cookie(v.Request, cookieName))
	c.setCookie(v.w, v.Request, cookieName, "", -1)
	return moved("/console/sign-in"), nil
}

func same(want, got string) bool {
	return want != "" && subtle.ConstantTimeCompare([]byte(want), []byte(got)) == 1
}
