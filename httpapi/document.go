package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tenet-memory/tenet"
)

const about = `Governed memory for AI agents.

**Who may what** follows from the key's kind; each operation lists the kinds. The tenant is the key's, the subject
is in the path, and no body or header names either.

**Idempotency-Key** (RFC draft-ietf-httpapi-idempotency-key-header): quoted or bare, 1 to 255 printable ASCII
characters. It is recorded in the same transaction as the call's effect and remembered for 24 hours
(` + "`Idempotency-Retention`" + `, in seconds, says how long). A repetition is answered with what the first call
decided and ` + "`Idempotency-Replayed: true`" + `; the key with another request is 422 ONCE_PAYLOAD; while the first is
being answered, 409 ONCE_IN_FLIGHT. A call that changed nothing (4xx other than a verdict) is not recorded. Keys of
different tenants, callers and operations never meet.

**Versions.** A fact's ETag is the id of its open version, a document's the SHA-256 of its text. A PUT of a fact names
what it replaces (If-Match, or If-None-Match: *): 428 without, 412 when another was faster. An end or a retraction may: If-Match is
the same as record.

**Problems** are RFC 9457 and never repeat what was sent.`

// newDocument starts the OpenAPI 3.1 document.
func newDocument(version string) (huma.Registry, *huma.OpenAPI) {
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	registry.RegisterTypeAlias(reflect.TypeFor[tenet.Scope](), reflect.TypeFor[Scope]())
	registry.RegisterTypeAlias(reflect.TypeFor[judged](), reflect.TypeFor[tenet.Verdict]())
	return registry, &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{Title: "Tenet", Version: version, Description: about,
			License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"}},
		Components: &huma.Components{
			Schemas: registry,
			SecuritySchemes: map[string]*huma.SecurityScheme{
				"bearer": {Type: "http", Scheme: "bearer", Description: "an API key (tenet_...) or a token of the configured OIDC issuer"},
				"key":    {Type: "apiKey", In: "header", Name: "X-API-Key"},
			},
		},
		Security: []map[string][]string{{"bearer": {}}, {"key": {}}},
	}
}

// Scope is how a tenet.Scope is written.
type Scope struct {
	Tenant  string `json:"tenant"`
	Subject string `json:"subject"`
}

func schemaOf[T any](r huma.Registry) *huma.Schema {
	t := reflect.TypeFor[T]()
	if t == reflect.TypeFor[empty]() || t == reflect.TypeFor[streamed]() {
		return nil
	}
	return r.Schema(t, true, t.Name())
}

// describe adds the operation to the document: what it takes, what it answers,
// and every status it can come to.
func (a *API) describe(op operation, p place, in *decoder, answer *huma.Schema) {
	o := &huma.Operation{
		OperationID: string(op.id), Method: op.method, Path: op.path, Summary: op.summary,
		Description: "Kinds of key: " + op.who.String() + ".",
		Responses:   map[string]*huma.Response{},
	}
	if p.param != "" {
		o.Parameters = append(o.Parameters, idParam(p.param, "the subject, as the host names it"))
	}
	for _, q := range in.params {
		o.Parameters = append(o.Parameters, &huma.Param{Name: q.name, In: q.in, Required: q.required, Schema: q.schema, Description: q.doc})
	}
	if op.once != onceIgnored {
		one, most := 1, maxOnceKey
		o.Parameters = append(o.Parameters, &huma.Param{Name: onceHeader, In: "header", Required: op.once == onceRequired,
			Description: "makes a retry harmless for 24 hours", Schema: &huma.Schema{Type: huma.TypeString, MinLength: &one, MaxLength: &most, Pattern: `^[ -~]*$`}})
	}
	statuses := map[int]bool{}
	for _, s := range []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable} {
		statuses[s] = true
	}
	for _, s := range op.also {
		statuses[s] = true
	}
	if in.hasBody {
		o.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: in.schema}}}
		for _, s := range []int{http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType} {
			statuses[s] = true
		}
	}
	if op.once != onceIgnored {
		statuses[http.StatusConflict], statuses[http.StatusUnprocessableEntity] = true, true
	}
	problem := &huma.MediaType{Schema: a.registry.Schema(reflect.TypeFor[Problem](), true, "Problem")}
	for s := range statuses {
		r := &huma.Response{Description: http.StatusText(s)}
		if s != http.StatusNotModified {
			r.Content = map[string]*huma.MediaType{"application/problem+json": problem}
		}
		o.Responses[strconv.Itoa(s)] = r
	}
	good := &huma.Response{Description: http.StatusText(op.status)}
	switch {
	case op.media != "":
		good.Content = map[string]*huma.MediaType{op.media: {Schema: &huma.Schema{Type: huma.TypeString}}}
	case answer != nil:
		good.Content = map[string]*huma.MediaType{"application/json": {Schema: answer}}
	}
	o.Responses[strconv.Itoa(op.status)] = good
	if op.later || op.waits != nil {
		accepted := *good
		if op.waits != nil {
			accepted.Content = map[string]*huma.MediaType{"application/json": {Schema: a.registry.Schema(op.waits, true, op.waits.Name())}}
		}
		accepted.Description = http.StatusText(http.StatusAccepted)
		o.Responses[strconv.Itoa(http.StatusAccepted)] = &accepted
	}
	a.document.AddOperation(o)
}

func idParam(name, doc string) *huma.Param {
	one, most := 1, tenet.MaxID
	return &huma.Param{Name: name, In: "path", Required: true, Description: doc,
		Schema: &huma.Schema{Type: huma.TypeString, MinLength: &one, MaxLength: &most}}
}

// nullableBytes documents what encoding/json does with absent bytes in answers.
// Requests have types of this package, where null is no bytes.
func nullableBytes(r huma.Registry) {
	own := reflect.TypeFor[API]().PkgPath()
	for name, s := range r.Map() {
		if r.TypeFromRef("#/components/schemas/"+name).PkgPath() == own {
			continue
		}
		for _, p := range s.Properties {
			p.Nullable = p.Nullable || p.ContentEncoding == "base64"
		}
	}
}

// serveDocument writes the finished document once and serves it.
func (a *API) serveDocument() error {
	nullableBytes(a.registry)
	raw, err := json.Marshal(a.document)
	if err != nil {
		return tenet.Errorf(tenet.Internal, "openapi", "the document does not encode: %s", fmt.Sprintf("%T", err))
	}
	a.raw = raw
	a.router.Method(http.MethodGet, "/openapi.json", a.route("openapi", func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Content-Type", "application/vnd.oai.openapi+json;version=3.1")
		w.Write(a.raw)
		return nil
	}))
	return nil
}

// Document is the OpenAPI document as it is served.
func (a *API) Document() []byte { return slices.Clone(a.raw) }
