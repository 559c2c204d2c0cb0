package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tenet-memory/tenet"
)

// remote is a Tenet server as the commands see it: each method is one request.
type remote struct {
	base, key string
	http      *http.Client
}

func (a *app) remote() (*remote, error) {
	u, err := url.Parse(a.set.values["server"])
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, tenet.Errorf(tenet.Invalid, "config", "server: want a URL such as http://127.0.0.1:7766")
	}
	if a.set.asGiven {
		return nil, tenet.Errorf(tenet.Invalid, "usage", "--as: at a server, who acts follows from the key")
	}
	key := a.set.values["api_key"]
	if key == "" {
		return nil, tenet.Errorf(tenet.Invalid, "usage", "give the server's API key: --key, or TENET_API_KEY")
	}
	return &remote{base: strings.TrimSuffix(u.String(), "/"), key: key, http: &http.Client{Timeout: 2 * time.Minute}}, nil
}

// request is one call.
type request struct {
	method, path string
	query        url.Values
	body         any
	header       map[string]string
	once         string // the Idempotency-Key; "new" makes one
}

// scoped is the path of a scope's thing: parts are escaped one by one.
func scoped(s tenet.Scope, parts ...string) string {
	var b strings.Builder
	switch sub := s.Subject(); sub.Kind() {
	case tenet.SubjectUser:
		b.WriteString("/v1/users/" + url.PathEscape(sub.ID()))
	case tenet.SubjectProject:
		b.WriteString("/v1/projects/" + url.PathEscape(sub.ID()))
	default:
		b.WriteString("/v1/tenant")
	}
	for _, p := range parts {
		b.WriteString("/" + url.PathEscape(p))
	}
	return b.String()
}

const newKey = "new"

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 20

// call sends a request and decodes the answer into out. A write is tried twice
// under one key, so that a broken connection does not double it.
func (r *remote) call(ctx context.Context, q request, out any) (http.Header, error) {
	if q.once == newKey {
		q.once = uuid.NewString()
	}
	h, err := r.try(ctx, q, out)
	var lost *lostError
	if errors.As(err, &lost) && (q.once != "" || q.method == http.MethodGet) && ctx.Err() == nil {
		h, err = r.try(ctx, q, out)
	}
	if errors.As(err, &lost) {
		return h, tenet.Errorf(tenet.Unavailable, "server", "the server does not answer")
	}
	return h, err
}

// lostError is a request whose fate is unknown.
type lostError struct{ error }

func (r *remote) try(ctx context.Context, q request, out any) (http.Header, error) {
	var body io.Reader
	if q.body != nil {
		data, err := json.Marshal(q.body)
		if err != nil {
			return nil, tenet.Errorf(tenet.Invalid, "server", "the request does not encode")
		}
		body = bytes.NewReader(data)
	}
	target := r.base + q.path
	if len(q.query) > 0 {
		target += "?" + q.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, q.method, target, body)
	if err != nil {
		return nil, tenet.Errorf(tenet.Invalid, "server", "the request cannot be made")
	}
	req.Header.Set("Authorization", "Bearer "+r.key)
	if q.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if q.once != "" {
		req.Header.Set("Idempotency-Key", strconv.Quote(q.once))
	}
	for k, v := range q.header {
		req.Header.Set(k, v)
	}
	resp, err := r.http.Do(req)
	if err != nil {
		return nil, &lostError{err}
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, &lostError{err}
	}
	if resp.StatusCode >= 300 {
		return resp.Header, problem(resp.StatusCode, data, out)
	}
	if out == nil || resp.StatusCode == http.StatusNoContent {
		return resp.Header, nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return resp.Header, tenet.Errorf(tenet.Unavailable, "server", "the answer is not one of this version of Tenet")
	}
	return resp.Header, nil
}

// kindOf is the way back of the server's table from kinds to statuses.
func kindOf(status int, code string) tenet.Kind {
	switch {
	case code == "ONCE_PAYLOAD":
		return tenet.Conflict
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return tenet.Denied
	case status == http.StatusNotFound:
		return tenet.NotFound
	case status == http.StatusConflict, status == http.StatusPreconditionFailed, status == http.StatusPreconditionRequired:
		return tenet.Conflict
	case status == http.StatusUnprocessableEntity:
		return tenet.Refused
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable, status == http.StatusBadGateway, status == http.StatusGatewayTimeout:
		return tenet.Unavailable
	case status >= 500:
		return tenet.Internal
	}
	return tenet.Invalid
}

// problem makes the engine's error back from an RFC 9457 body. A refusal's
// verdict goes into out when there is a place for it.
func problem(status int, data []byte, out any) error {
	var p struct {
		Detail  string          `json:"detail"`
		Code    tenet.Code      `json:"code"`
		Verdict json.RawMessage `json:"verdict"`
		Errors  []struct {
			Location string `json:"location"`
			Message  string `json:"message"`
		} `json:"errors"`
	}
	json.Unmarshal(data, &p)
	if v, ok := out.(*verdictOut); ok && len(p.Verdict) > 0 {
		json.Unmarshal(p.Verdict, &v.Verdict)
	}
	for _, f := range p.Errors {
		p.Detail += "; " + f.Location + ": " + f.Message
	}
	if p.Detail == "" {
		p.Detail = http.StatusText(status)
	}
	return &tenet.Error{Kind: kindOf(status, string(p.Code)), Op: "server", Reason: p.Detail, Code: p.Code}
}

type verdictOut struct {
	Verdict tenet.Verdict `json:"verdict"`
}
