package httpapi

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"github.com/tenet-memory/tenet"
)

// decoder fills a request struct: fields tagged path, query or header, and a
// field Body from the JSON body. What the document says of a field is what is
// checked, because it is one schema.
type decoder struct {
	registry huma.Registry
	params   []param
	hasBody  bool
	body     int // index of the field Body
	schema   *huma.Schema
	known    map[string]bool // query.NAME and header.NAME
}

type param struct {
	field    int
	in, name string
	required bool
	schema   *huma.Schema
	doc      string
}

func newDecoder[Req any](registry huma.Registry) *decoder {
	d := &decoder{registry: registry, known: map[string]bool{}}
	t := reflect.TypeFor[Req]()
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Name == "Body" {
			d.hasBody, d.body = true, i
			d.schema = registry.Schema(f.Type, true, t.Name()+"Body")
			continue
		}
		for _, in := range []string{"path", "query", "header"} {
			name := f.Tag.Get(in)
			if name == "" {
				continue
			}
			s := huma.SchemaFromField(registry, f, "")
			s.Nullable = false
			d.params = append(d.params, param{i, in, name, in == "path" || f.Tag.Get("required") == "true", s, f.Tag.Get("doc")})
			if in != "path" {
				d.known[in+"."+name] = true
			}
		}
	}
	return d
}

// readBody takes the whole body in before any store is touched, so that a slow
// or broken client holds nothing but its own connection.
func (a *API) readBody(w http.ResponseWriter, r *http.Request, wanted bool, limit int64) ([]byte, error) {
	if !wanted {
		if r.ContentLength == 0 {
			return nil, nil
		}
		var one [1]byte // a body in chunks does not say its length
		if _, err := io.ReadFull(r.Body, one[:]); err != io.EOF {
			return nil, tenet.Errorf(tenet.Invalid, "body", "this call takes no body")
		}
		return nil, nil
	}
	if ct := r.Header.Get("Content-Type"); ct != "" {
		media, params, err := mime.ParseMediaType(ct)
		if charset := params["charset"]; err != nil || media != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
			return nil, &problemError{status: http.StatusUnsupportedMediaType, detail: "the body must be application/json in UTF-8"}
		}
	}
	tooLarge := &problemError{status: http.StatusRequestEntityTooLarge, limit: limit,
		detail: "the body is over the limit of " + strconv.FormatInt(limit, 10) + " bytes"}
	if r.ContentLength > limit {
		return nil, tooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &problemError{status: http.StatusRequestTimeout, detail: "the body did not arrive in time"}
	case err != nil:
		return nil, tenet.Errorf(tenet.Invalid, "body", "the body ended early")
	}
	return body, nil
}

// decode fills req or says, by field, what does not fit.
func (d *decoder) decode(r *http.Request, body []byte, req any) error {
	v := reflect.ValueOf(req).Elem()
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return tenet.Errorf(tenet.Invalid, "query", "the query string is malformed")
	}
	var bad problemError
	for name, values := range query {
		switch {
		case !d.known["query."+name]:
			bad.add("query", "unknown parameter")
		case len(values) > 1:
			bad.add("query."+name, "given more than once")
		}
	}
	// A condition that is not looked at would be taken for one that held.
	for _, name := range []string{"If-Match", "If-None-Match"} {
		if r.Method != http.MethodGet && r.Header.Values(name) != nil && !d.known["header."+name] {
			bad.add("header."+name, "this call takes no such condition")
		}
	}
	for _, p := range d.params {
		raw, given, err := p.read(r, query)
		if err != nil {
			bad.add(p.in+"."+p.name, err.Error())
			continue
		}
		if !given {
			if p.required {
				bad.add(p.in+"."+p.name, "required")
			}
			continue
		}
		d.set(&bad, p, raw, v.Field(p.field))
	}
	if d.hasBody && len(bad.fields) == 0 {
		d.decodeBody(&bad, body, v.Field(d.body))
	}
	if len(bad.fields) > 0 {
		bad.status, bad.detail = http.StatusBadRequest, "the request does not fit the document"
		return &bad
	}
	return nil
}

func (p param) read(r *http.Request, query url.Values) (raw string, given bool, err error) {
	switch p.in {
	case "path":
		raw, err = pathParam(r, p.name)
		return raw, true, err
	case "query":
		vs, ok := query[p.name]
		if !ok {
			return "", false, nil
		}
		raw = vs[0]
		given = true
	default:
		vs := r.Header.Values(p.name)
		if len(vs) == 0 {
			return "", false, nil
		}
		raw, given = strings.Join(vs, ", "), true
	}
	if !utf8.ValidString(raw) {
		return "", true, errors.New("not valid UTF-8")
	}
	return raw, given, nil
}

func (d *decoder) set(bad *problemError, p param, raw string, f reflect.Value) {
	var v any = raw
	where := p.in + "." + p.name
	switch f.Kind() {
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(raw, 10, 64)
		if err != nil {
			bad.add(where, "expected integer")
			return
		}
		f.SetInt(n)
		v = float64(n)
	case reflect.Bool:
		if raw != "true" && raw != "false" {
			bad.add(where, "expected true or false")
			return
		}
		f.SetBool(raw == "true")
		v = raw == "true"
	case reflect.String:
		f.SetString(raw)
	default:
		t, err := time.Parse(time.RFC3339Nano, raw)
		if err != nil {
			bad.add(where, validation.MsgExpectedRFC3339DateTime)
			return
		}
		f.Set(reflect.ValueOf(t))
	}
	d.check(bad, p.schema, where, v)
}

func (d *decoder) decodeBody(bad *problemError, body []byte, f reflect.Value) {
	if len(body) == 0 {
		bad.add("body", "required")
		return
	}
	if err := tenet.CheckJSON(body); err != nil {
		var te *tenet.Error
		errors.As(err, &te)
		bad.add("body", te.Reason)
		return
	}
	var any any
	if err := json.Unmarshal(body, &any); err != nil {
		bad.add("body", "a number is out of range")
		return
	}
	d.check(bad, d.schema, "body", any)
	d.checkStrictly(bad, d.schema, "body", any)
	if len(bad.fields) > 0 {
		return
	}
	if err := json.Unmarshal(body, f.Addr().Interface()); err != nil {
		where := "body"
		var te *json.UnmarshalTypeError
		if errors.As(err, &te) {
			where += "." + te.Field
		}
		bad.add(where, "does not fit")
	}
}

// check holds a value against its schema. huma's messages name what was
// expected; the values it collects beside them are left behind.
func (d *decoder) check(bad *problemError, s *huma.Schema, where string, v any) {
	path := huma.NewPathBuffer([]byte(where), len(where))
	res := &huma.ValidateResult{}
	huma.Validate(d.registry, s, path, huma.ModeWriteToServer, v, res)
	for _, e := range res.Errors {
		var detail huma.ErrorDetailer
		if !errors.As(e, &detail) {
			bad.add(where, "does not fit")
			continue
		}
		at, message := detail.ErrorDetail().Location, detail.ErrorDetail().Message
		if message == validation.MsgUnexpectedProperty { // its name is the client's text
			if i := strings.LastIndexByte(at, '.'); i > 0 {
				at = at[:i]
			}
		}
		bad.add(at, message)
	}
}

// checkStrictly finds what huma's check lets pass and the document does not: a
// null for an absent optional field, and a field in other letters, which Go's
// decoder would take for the real one.
func (d *decoder) checkStrictly(bad *problemError, s *huma.Schema, where string, v any) {
	if s.Ref != "" {
		s = d.registry.SchemaFromRef(s.Ref)
	}
	switch x := v.(type) {
	case nil:
		if s.Type != "" && !s.Nullable {
			bad.add(where, "null is not a "+s.Type)
		}
	case map[string]any:
		for name, member := range x {
			if p, known := s.Properties[name]; known {
				d.checkStrictly(bad, p, where+"."+name, member)
			} else if s.AdditionalProperties == false && len(bad.fields) == 0 {
				bad.add(where, validation.MsgUnexpectedProperty)
			}
		}
	case []any:
		if s.Items != nil {
			for i, item := range x {
				d.checkStrictly(bad, s.Items, where+"["+strconv.Itoa(i)+"]", item)
			}
		}
	}
}
