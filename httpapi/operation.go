package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/trace"
)

// operation declares one call of the API.
type operation struct {
	id      trace.Word // the operation's name in documents, logs, metrics and spans
	method  string
	path    string // below the scope's prefix when who is a scoped access
	summary string
	who     access
	once    onceRule
	status  int          // of success
	also    []int        // further statuses it may answer
	wait    bool         // may take longer than other calls
	later   bool         // may answer 202: accepted, see Location for what became of it
	media   string       // of an answer that is written as it is made; empty: JSON
	body    int64        // the largest body, where it is more than the server's limit
	waits   reflect.Type // what a 202 says instead of the answer that is not there yet
}

// onceRule says what a call does with an Idempotency-Key.
type onceRule uint8

const (
	onceIgnored  onceRule = iota // a read, or naturally idempotent
	onceAccepted                 // honoured when given
	onceRequired                 // 400 without
)

// call is one authenticated request as a handler sees it.
type call struct {
	by    tenet.Principal
	scope tenet.Scope // zero for calls without one
}

// empty is the request without parameters or the answer without a body.
type empty struct{}

// add registers an operation: once, or, for a scoped one, under the prefix of
// each kind of subject.
func add[Req, Resp any](a *API, op operation, do func(context.Context, call, *Req) (Resp, error)) {
	if !op.who.scoped() {
		addAt(a, op, place{}, do)
		return
	}
	for _, p := range places {
		here := op
		here.id, here.path = op.id+p.suffix, p.prefix+op.path
		addAt(a, here, p, do)
	}
}

// place is where scopes of one kind of subject live.
type place struct {
	prefix  string
	suffix  trace.Word
	param   string
	subject func(id string) tenet.Subject
}

var places = []place{
	{"/v1/users/{user}", "", "user", tenet.User},
	{"/v1/projects/{project}", "OfProject", "project", tenet.Project},
	{"/v1/tenant", "OfTenant", "", func(string) tenet.Subject { return tenet.WholeTenant() }},
}

func addAt[Req, Resp any](a *API, op operation, p place, do func(context.Context, call, *Req) (Resp, error)) {
	orElse(&op.status, http.StatusOK)
	in := newDecoder[Req](a.registry)
	a.describe(op, p, in, schemaOf[Resp](a.registry))
	a.router.Method(op.method, op.path, a.route(op.id, func(w http.ResponseWriter, r *http.Request) error {
		c, err := a.admit(r, op, p)
		if err != nil {
			return err
		}
		body, err := a.readBody(w, r, in.hasBody, max(a.cfg.MaxBody, op.body))
		if err != nil {
			return err
		}
		var req Req
		if err := in.decode(r, body, &req); err != nil {
			return err
		}
		ctx, end, err := a.begin(w, r, op, c, body)
		if err != nil {
			return err
		}
		defer end() // after the answer, and after a panic, too
		resp, err := do(ctx, c, &req)
		if memory.AnsweredBefore(ctx) {
			w.Header().Set(replayedHeader, "true")
		}
		if err != nil {
			return a.failed(r, op, c, explained(resp, err))
		}
		if s, is := any(resp).(streamed); is {
			return a.failed(r, op, c, stream(w, s))
		}
		return encode(w, r, op.status, resp)
	}))
}

// admit says who asks and where, or why not. Nothing of the body is read yet.
func (a *API) admit(r *http.Request, op operation, p place) (call, error) {
	by, err := a.authenticate(r)
	if err != nil {
		return call{}, err
	}
	c := call{by: by}
	if !op.who.allows(by.Kind()) {
		return c, a.failed(r, op, c, tenet.Errorf(tenet.Denied, string(op.id), "%s keys may not do this", by.Kind()))
	}
	if p.subject == nil {
		return c, nil
	}
	id := ""
	if p.param != "" {
		if id, err = pathParam(r, p.param); err != nil {
			return c, err
		}
	}
	if c.scope, err = tenet.NewScope(by.Tenant(), p.subject(id)); err != nil {
		return c, err
	}
	if !by.MayReach(c.scope) {
		return c, a.failed(r, op, c, tenet.Errorf(tenet.Denied, string(op.id), "the key may not act for this subject"))
	}
	return c, nil
}

// begin bounds the call's time and applies its Idempotency-Key, until end.
func (a *API) begin(w http.ResponseWriter, r *http.Request, op operation, c call, body []byte) (_ context.Context, end func(), _ error) {
	d := a.cfg.Timeout
	if op.wait {
		d += 30 * time.Second
	}
	ctx, cancel := context.WithTimeout(r.Context(), d)
	ctx, landed, err := a.onceFor(ctx, w, r, op, c, body)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	return ctx, func() { landed(); cancel() }, nil
}

// failed puts a denial on record in the caller's tenant.
func (a *API) failed(r *http.Request, op operation, c call, err error) error {
	if tenet.KindOf(err) == tenet.Denied {
		a.mem.Denied(r.Context(), c.by, string(op.id))
	}
	return err
}

func pathParam(r *http.Request, name string) (string, error) {
	v := chi.URLParam(r, name)
	if r.URL.RawPath == "" {
		return v, nil // nothing was escaped
	}
	v, err := url.PathUnescape(v)
	if err != nil {
		return "", tenet.Errorf(tenet.Invalid, "path", "a parameter is not percent-encoded text")
	}
	return v, nil
}

// An answer may set headers, its ETag among them.
type headed interface{ header(http.Header) }

// encode writes the answer. A read whose ETag the client has is a 304.
func encode(w http.ResponseWriter, r *http.Request, status int, resp any) error {
	h := w.Header()
	if v, ok := resp.(headed); ok {
		v.header(h)
	}
	if v, ok := resp.(interface{ accepted() bool }); ok && v.accepted() {
		status = http.StatusAccepted
	}
	if tag := h.Get("ETag"); r.Method == http.MethodGet && tag != "" && noneMatch(r.Header.Values("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if _, none := resp.(empty); none {
		w.WriteHeader(status)
		return nil
	}
	h.Set("Content-Type", "application/json")
	if v, ok := resp.(appender); ok {
		buf := buffers.Get().(*[]byte)
		*buf = append(v.appendJSON((*buf)[:0]), '\n')
		err := send(w, status, *buf)
		if cap(*buf) <= 64<<10 {
			buffers.Put(buf)
		}
		return err
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // memory text is read by people and models, not by browsers
	if err := enc.Encode(resp); err != nil {
		return tenet.Errorf(tenet.Internal, "encode", "the answer does not encode")
	}
	return send(w, status, buf.Bytes())
}

// buffers are what appended answers are written into.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4096); return &b }}

// send gives the length, so that a long answer does not go out in chunks.
func send(w http.ResponseWriter, status int, data []byte) error {
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(status)
	w.Write(data)
	return nil
}
