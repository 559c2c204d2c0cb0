package console

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// Issuer is where people sign in who have no key.
type Issuer interface {
	// Leave is where to send a browser that is to come back with a code. Errors: Unavailable.
	Leave(ctx context.Context, state, nonce, verifier string) (string, error)
	// Return exchanges the code for a token about who came. Errors: Denied, Unavailable.
	Return(ctx context.Context, code, nonce, verifier string) (token string, err error)
}

// SignOn is the sign-in of an issuer.
type SignOn struct {
	Issuer
	// Principal says who the issuer's token speaks for. It is asked at every
	// request, so that a session ends with its token.
	Principal memory.Authenticator
}

const (
	flowName = "tenet_console_issuer" // what is kept with the browser while it is away
	flowAge  = 10 * time.Minute
)

// flow is one sign-in that is under way. The browser keeps it, signed.
type flow struct {
	state, nonce, verifier string
	until                  time.Time
}

func (c *Console) sealFlow(f flow) string {
	text := strings.Join([]string{f.state, f.nonce, f.verifier, strconv.FormatInt(f.until.Unix(), 10)}, ".")
	return text + "." + hex.EncodeToString(c.flowMAC(text))
}

func (c *Console) openFlow(sealed string) (flow, bool) {
	parts := strings.Split(sealed, ".")
	if len(parts) != 5 {
		return flow{}, false
	}
	mac, err := hex.DecodeString(parts[4])
	if err != nil || !hmac.Equal(mac, c.flowMAC(strings.Join(parts[:4], "."))) {
		return flow{}, false
	}
	until, err := strconv.ParseInt(parts[3], 10, 64)
	f := flow{parts[0], parts[1], parts[2], time.Unix(until, 0)}
	return f, err == nil && c.cfg.Now().Before(f.until)
}

func (c *Console) flowMAC(text string) []byte {
	h := hmac.New(sha256.New, c.flowKey)
	h.Write([]byte(flowName + " " + text))
	return h.Sum(nil)
}

// setFlow keeps the flow where the browser brings it back from another site: a
// Strict cookie would stay away.
func (c *Console) setFlow(w http.ResponseWriter, q *http.Request, value string, age int) {
	http.SetCookie(w, &http.Cookie{Name: flowName, Value: value, Path: "/console/sign-in", MaxAge: age, HttpOnly: true,
		SameSite: http.SameSiteLaxMode, Secure: c.secure(q)})
}

const issuerAway = "The issuer cannot be asked now. Try again later, or sign in with a key."

// leave sends the browser to the issuer. It is a link and not a form, since the
// page's policy lets forms go nowhere else.
func (c *Console) leave(w http.ResponseWriter, q *http.Request) {
	if c.cfg.SignOn == nil {
		c.problem(w, nil, tenet.Errorf(tenet.NotFound, "console", "no issuer is set up"))
		return
	}
	f := flow{rand.Text(), rand.Text(), rand.Text() + rand.Text(), c.cfg.Now().Add(flowAge)}
	to, err := c.cfg.SignOn.Leave(q.Context(), f.state, f.nonce, f.verifier)
	if err != nil {
		c.showSignIn(w, q, http.StatusServiceUnavailable, issuerAway)
		return
	}
	c.setFlow(w, q, c.sealFlow(f), int(flowAge.Seconds()))
	http.Redirect(w, q, to, http.StatusSeeOther)
}

// arrive takes the browser back: the one that left, once, with the issuer's code.
func (c *Console) arrive(w http.ResponseWriter, q *http.Request) {
	if c.cfg.SignOn == nil {
		c.problem(w, nil, tenet.Errorf(tenet.NotFound, "console", "no issuer is set up"))
		return
	}
	f, mine := c.openFlow(cookie(q, flowName))
	c.setFlow(w, q, "", -1)
	if !mine || !same(f.state, q.URL.Query().Get("state")) {
		c.showSignIn(w, q, http.StatusForbidden, "This sign-in was not begun in this browser, or too long ago. Try again.")
		return
	}
	token, err := "", error(nil)
	if code := q.URL.Query().Get("code"); code == "" { // what the issuer says of it is not repeated here
		err = tenet.Errorf(tenet.Denied, "sign in", "the issuer sent no code")
	} else {
		token, err = c.cfg.SignOn.Return(q.Context(), code, f.nonce, f.verifier)
	}
	if err != nil {
		status, text := http.StatusForbidden, "The issuer did not sign you in."
		if tenet.KindOf(err) != tenet.Denied {
			status, text = http.StatusServiceUnavailable, issuerAway
		}
		c.showSignIn(w, q, status, text)
		return
	}
	if !c.begin(w, q, c.cfg.SignOn.Principal, token, "That is not the account of an operator.") {
		return
	}
	// Not a redirect: the browser would count it to the issuer's site and leave
	// the session's cookie behind.
	w.Header().Set("Refresh", "0; url=/console/")
	c.render(w, http.StatusOK, "signed-in", nil, nil)
}
