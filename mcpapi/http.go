package mcpapi

import (
	"context"
	"encoding/json"
	"math"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/trace"
)

// callerInfo is where a request's caller rides in what the SDK passes on.
const callerInfo = "tenet caller"

// caller is who makes the request: the fixed one, or the one whose credential
// the HTTP request carried.
func (t *tools) caller(e *mcp.RequestExtra) (*caller, error) {
	if t.fixed != nil {
		return t.fixed, nil
	}
	if e != nil && e.TokenInfo != nil {
		if c, ok := e.TokenInfo.Extra[callerInfo].(*caller); ok {
			return c, nil
		}
	}
	return nil, tenet.Errorf(tenet.Denied, "mcp", "no caller")
}

type callerKey struct{}

// Handler serves the streamable HTTP transport at prefix and below it:
// prefix for a key that is narrowed to one subject, and prefix/users/{user},
// prefix/projects/{project} and prefix/tenant for keys that reach several. The
// host configures the address; a model never chooses it.
func (s *Server) Handler(prefix string) http.Handler {
	stream := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		if c, ok := r.Context().Value(callerKey{}).(*caller); ok && c.reportsOutcomes() {
			return s.hosts
		}
		return s.agents
	}, &mcp.StreamableHTTPOptions{Stateless: !s.cfg.Stateful, SessionTimeout: time.Hour})
	// The SDK carries who called from here to the tools; who it is was found below.
	inner := auth.RequireBearerToken(func(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
		c := ctx.Value(callerKey{}).(*caller)
		return &auth.TokenInfo{UserID: c.key.Tenant() + "\x00" + c.key.String() + "\x00" + c.scope.Key(), Extra: map[string]any{callerInfo: c}}, nil
	}, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(stream)
	return trace.Requests(nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		trace.Current(r.Context()).Name("mcp")
		c, err := s.admit(r, prefix)
		if err != nil {
			trace.Current(r.Context()).Failed(tenet.KindOf(err))
			s.cfg.Log.InfoContext(r.Context(), "request", "operation", "mcp connect", "kind", tenet.KindOf(err).String())
			s.refuse(w, err)
			return
		}
		r = r.WithContext(context.WithValue(r.Context(), callerKey{}, c))
		r.Header = r.Header.Clone()
		r.Header.Set("Authorization", "Bearer admitted") // the key goes no further
		r.Header.Del("X-API-Key")
		inner.ServeHTTP(w, r)
	}))
}

// errStranger is a request without a usable credential.
type errStranger struct{ error }

func (s *Server) admit(r *http.Request, prefix string) (*caller, error) {
	if !ownHost(r) {
		return nil, tenet.Errorf(tenet.Denied, "mcp", "a server on a loopback address answers to its own name only: a proxy on the same machine must send that as Host")
	}
	credential := memory.Credential(r.Header.Get("Authorization"), r.Header.Get("X-API-Key"))
	if credential == "" || s.cfg.Authenticate == nil {
		return nil, errStranger{tenet.Errorf(tenet.Denied, "mcp", "give an API key: Authorization: Bearer tenet_..., or X-API-Key")}
	}
	key, err := s.cfg.Authenticate(r.Context(), credential)
	if tenet.KindOf(err) == tenet.Denied {
		return nil, errStranger{tenet.Errorf(tenet.Denied, "mcp", "the key is not known, or not any more")}
	}
	if err != nil {
		return nil, err
	}
	subject, err := subjectAt(strings.TrimPrefix(r.URL.EscapedPath(), prefix), key)
	if err != nil {
		return nil, err
	}
	scope, err := tenet.NewScope(key.Tenant(), subject)
	if err != nil {
		return nil, err
	}
	c, err := callerFor(key, scope)
	if err != nil {
		s.denied(r.Context(), &caller{key: key}, "connect", err)
	}
	return c, err
}

// ownHost is what the protocol asks of a server on a loopback address, against
// names that an attacker points at it. The SDK looks, too, and repeats the name.
func ownHost(r *http.Request) bool {
	at, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return at == nil || !loopback(at.String()) || loopback(r.Host)
}

func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = strings.Trim(addr, "[]")
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// subjectAt is whom the address is about.
func subjectAt(path string, key tenet.Principal) (tenet.Subject, error) {
	kind, id, _ := strings.Cut(strings.Trim(path, "/"), "/")
	id, err := url.PathUnescape(id)
	switch {
	case err != nil:
	case kind == "":
		if sub, ok := key.Only(); ok {
			return sub, nil
		}
		return tenet.Subject{}, tenet.Errorf(tenet.Denied, "mcp", "the key reaches several subjects: connect to .../mcp/users/{user}, or use a key that is narrowed to one")
	case kind == "users" && id != "":
		return tenet.User(id), nil
	case kind == "projects" && id != "":
		return tenet.Project(id), nil
	case kind == "tenant" && id == "":
		return tenet.WholeTenant(), nil
	}
	return tenet.Subject{}, tenet.Errorf(tenet.NotFound, "mcp", "no such path")
}

// statuses is the table from kinds to statuses for requests that no protocol
// message answers.
var statuses = [...]int{
	tenet.Internal: http.StatusInternalServerError, tenet.Invalid: http.StatusBadRequest, tenet.NotFound: http.StatusNotFound,
	tenet.Conflict: http.StatusConflict, tenet.Refused: http.StatusUnprocessableEntity, tenet.Denied: http.StatusForbidden,
	tenet.Unavailable: http.StatusServiceUnavailable,
}

func (s *Server) refuse(w http.ResponseWriter, err error) {
	status, detail := statuses[tenet.KindOf(err)], ""
	if te, ok := err.(*tenet.Error); ok && te.Kind != tenet.Internal {
		detail = te.Reason
		if te.Code == memory.CodeTooMany {
			status = http.StatusTooManyRequests
			w.Header().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(te.After.Seconds())))))
		}
	}
	if stranger, ok := err.(errStranger); ok {
		status, detail = http.StatusUnauthorized, stranger.error.(*tenet.Error).Reason
		challenge := `Bearer realm="tenet"`
		if s.cfg.Metadata != "" {
			challenge += ", resource_metadata=" + strconv.Quote(s.cfg.Metadata)
		}
		w.Header().Set("WWW-Authenticate", challenge)
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]any{
		"type": "urn:tenet:problem:" + strconv.Itoa(status), "title": http.StatusText(status), "status": status, "detail": detail,
	})
}
