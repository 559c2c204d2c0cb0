package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/trace"
)

// Problem is the body of every answer that is not a success (RFC 9457). It
// names fields and codes and never repeats what was sent.
type Problem struct {
	Type      string         `json:"type" doc:"a URN that names the class of problem"`
	Title     string         `json:"title"`
	Status    int            `json:"status"`
	Detail    string         `json:"detail,omitempty"`
	Code      string         `json:"code,omitempty" doc:"a stable reason code, such as ONCE_PAYLOAD or PERSISTENT_FULL"`
	RequestID string         `json:"request_id,omitempty"`
	Limit     int64          `json:"limit,omitempty" doc:"the limit that was passed"`
	Errors    []FieldProblem `json:"errors,omitempty"`
	Verdict   *tenet.Verdict `json:"verdict,omitempty" doc:"what the gate decided, when it refused"`
}

// FieldProblem says what one field should have been.
type FieldProblem struct {
	Location string `json:"location"`
	Message  string `json:"message"`
}

// statusOf is the one table from kinds to statuses.
var statusOf = [...]int{
	tenet.Internal:    http.StatusInternalServerError,
	tenet.Invalid:     http.StatusBadRequest,
	tenet.NotFound:    http.StatusNotFound,
	tenet.Conflict:    http.StatusConflict,
	tenet.Refused:     http.StatusUnprocessableEntity,
	tenet.Denied:      http.StatusForbidden,
	tenet.Unavailable: http.StatusServiceUnavailable,
}

// problemError is an error that HTTP itself makes.
type problemError struct {
	status int
	code   tenet.Code
	detail string
	limit  int64
	fields []FieldProblem
	header http.Header
}

func (e *problemError) Error() string { return e.detail }

// kindOf is the kind of an error, of those too that HTTP itself makes.
func kindOf(err error) tenet.Kind {
	var pe *problemError
	if !errors.As(err, &pe) {
		return tenet.KindOf(err)
	}
	for kind, status := range statusOf {
		if status == pe.status {
			return tenet.Kind(kind)
		}
	}
	switch {
	case pe.status == http.StatusUnauthorized:
		return tenet.Denied
	case pe.status >= http.StatusInternalServerError:
		return tenet.Internal
	}
	return tenet.Invalid
}

// retryAfter is in whole seconds, at least one.
func retryAfter(e *tenet.Error) string {
	if e == nil || e.After <= time.Second {
		return "1"
	}
	return strconv.Itoa(int((e.After + time.Second - 1) / time.Second))
}

// maxFields bounds how many fields one problem lists.
const maxFields = 16

func (e *problemError) add(location, message string) {
	if len(e.fields) < maxFields {
		e.fields = append(e.fields, FieldProblem{location, message})
	}
}

// refusedError carries the verdict of a refusal.
type refusedError struct {
	error
	verdict tenet.Verdict
}

func (e *refusedError) Unwrap() error { return e.error }

// explained adds what an answer holds even when its call failed.
func explained(resp any, err error) error {
	if d, ok := resp.(decision); ok && d.Verdict.RuleSet != "" {
		return &refusedError{err, d.Verdict}
	}
	return err
}

// writeProblem answers an error.
func (a *API) writeProblem(w http.ResponseWriter, r *http.Request, err error) int {
	p := Problem{RequestID: w.Header().Get(trace.RequestHeader)}
	var (
		pe *problemError
		te *tenet.Error
		re *refusedError
	)
	h := w.Header()
	switch {
	case errors.As(err, &pe):
		p.Status, p.Code, p.Detail, p.Limit, p.Errors = pe.status, string(pe.code), pe.detail, pe.limit, pe.fields
		for k, vs := range pe.header {
			h[k] = vs
		}
	case errors.As(err, &te):
		p.Status, p.Code, p.Detail = statusOf[te.Kind], string(te.Code), te.Reason
	default:
		p.Status = statusOf[tenet.KindOf(err)]
	}
	if errors.As(err, &re) {
		p.Verdict = &re.verdict
	}
	switch {
	case te != nil && te.Code == memory.CodeOncePayload:
		p.Status = http.StatusUnprocessableEntity
	case te != nil && te.Kind == tenet.Conflict && conditional(r):
		p.Status = http.StatusPreconditionFailed
	case memory.OverQuota(err) != "": // no Retry-After: waiting makes no room
		p.Status = http.StatusTooManyRequests
	case te != nil && te.Code == memory.CodeTooMany:
		p.Status = http.StatusTooManyRequests
		h.Set("Retry-After", retryAfter(te))
	case p.Status == http.StatusServiceUnavailable:
		h.Set("Retry-After", retryAfter(te))
	case p.Status == http.StatusInternalServerError:
		p.Detail = "" // an internal error's words are for the log
	}
	p.Title = http.StatusText(p.Status)
	p.Type = "urn:tenet:problem:" + strconv.Itoa(p.Status)
	data, _ := json.Marshal(p)
	h.Set("Content-Type", "application/problem+json")
	h.Del("ETag")
	w.WriteHeader(p.Status)
	w.Write(data)
	return p.Status
}
