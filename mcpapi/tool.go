package mcpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/trace"
)

// tools registers Tenet's tools on one SDK server.
type tools struct {
	*Server
	srv   *mcp.Server
	fixed *caller
	err   error // the first schema that could not be made: a defect
}

// hints are the four annotations; none is left to a default.
type hints struct{ reads, destroys, idempotent bool }

func (h hints) annotations(title string) *mcp.ToolAnnotations {
	open := false // memory is a closed world
	return &mcp.ToolAnnotations{Title: title, ReadOnlyHint: h.reads, DestructiveHint: &h.destroys, IdempotentHint: h.idempotent, OpenWorldHint: &open}
}

// answer is what a tool gives back: data, and the same for a model to read.
type answer[Out any] struct {
	out  Out
	text string // empty: the data as JSON
}

// repeatable is an input that may carry an idempotency key.
type repeatable interface{ once() string }

// keyed is the argument of calls that may be repeated harmlessly.
type keyed struct {
	Key string `json:"idempotency_key,omitempty" jsonschema:"repeating the call with the same key and arguments has no second effect; remembered for 24 hours"`
}

func (k keyed) once() string { return k.Key }

// bounds are what a struct tag can't say of a schema.
type bounds map[string]func(*jsonschema.Schema)

func chars(least, most int) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.MinLength, s.MaxLength = &least, &most }
}

func between(least, most float64) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.Minimum, s.Maximum = &least, &most }
}

func oneOf(words ...any) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.Enum = words }
}

func items(most int) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.MaxItems = &most; s.Types, s.Type = nil, "array" }
}

// common are the bounds of arguments that many tools have.
var common = bounds{
	"session": chars(1, 256), "idempotency_key": chars(1, 255), "path": chars(1, memory.MaxPath), "sha256": chars(4, 64),
}

// add registers a tool. The SDK's generic way is not used: its errors repeat
// the argument that did not fit, which may be memory text.
func add[In, Out any](t *tools, name trace.Word, title, doc string, h hints, b bounds, do func(context.Context, *caller, *In) (answer[Out], error)) {
	in, err := jsonschema.For[In](nil)
	if err == nil {
		err = bound(in, b)
	}
	var out *jsonschema.Schema
	if err == nil {
		out, err = jsonschema.For[Out](nil)
	}
	var check arguments
	if err == nil {
		portable(in)
		portable(out)
		check, err = newArguments(in)
	}
	if err != nil {
		t.err = errors.Join(t.err, tenet.Errorf(tenet.Internal, "mcp", "the schema of %s: %v", string(name), err))
		return
	}
	tool := &mcp.Tool{Name: string(name), Title: title, Description: doc, Annotations: h.annotations(title), InputSchema: in, OutputSchema: out}
	t.srv.AddTool(tool, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var err error // of the call: the protocol answers it with a result
		defer func() { did(ctx, name, err) }()
		ctx, cancel := context.WithTimeout(ctx, t.cfg.Timeout)
		defer cancel()
		var c *caller
		if c, err = t.caller(req.Extra); err != nil {
			return failure(err), nil
		}
		var arg In
		if err = check.decode(req.Params.Arguments, &arg); err != nil {
			return failure(err), nil
		}
		if r, ok := any(&arg).(repeatable); ok && r.once() != "" {
			ctx = memory.WithCall(ctx, &memory.Call{Route: "mcp " + string(name), Key: r.once(), Fingerprint: fingerprint(string(name), c, &arg), KeepFor: t.cfg.OnceFor})
		}
		var a answer[Out]
		if a, err = do(ctx, c, &arg); err != nil {
			t.denied(ctx, c, string(name), err)
			return failure(err), nil
		}
		return success(a)
	})
}

func bound(s *jsonschema.Schema, b bounds) error {
	for name := range b {
		if s.Properties[name] == nil {
			return fmt.Errorf("no argument %q", name)
		}
	}
	for name, p := range s.Properties {
		if f := b[name]; f != nil {
			f(p)
		} else if f := common[name]; f != nil {
			f(p)
		}
	}
	return nil
}

// portable gives every schema one type: what may be null is absent instead, and
// clients that map schemas onto a smaller dialect keep the constraint.
func portable(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if i := slices.Index(s.Types, "null"); i >= 0 && len(s.Types) == 2 {
		s.Type, s.Types = s.Types[1-i], nil
	}
	portable(s.Items)
	for _, p := range s.Properties {
		portable(p)
	}
}

func success[Out any](a answer[Out]) (*mcp.CallToolResult, error) {
	if a.text == "" {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(a.out); err != nil {
			return failure(tenet.Errorf(tenet.Internal, "mcp", "the answer does not encode")), nil
		}
		a.text = strings.TrimSuffix(b.String(), "\n")
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: a.text}}, StructuredContent: a.out}, nil
}

// advice is the one table from kinds to what a model is told of a failure. The
// reason stands beside it, but for a defect's, which is for the log.
var advice = [...]string{
	tenet.Internal:    "a defect in the server; trying again will not help",
	tenet.Invalid:     "the call cannot be understood as it is",
	tenet.NotFound:    "there is no such thing in this memory",
	tenet.Conflict:    "the state has moved; read again, then decide",
	tenet.Refused:     "the write boundary refused it; do not rephrase it to get it through",
	tenet.Denied:      "this key may not do that",
	tenet.Unavailable: "a store is away or a part is switched off; it may work later",
}

// failure is a tool's error as the protocol wants it: a result.
func failure(err error) *mcp.CallToolResult {
	var unknown unknownEntity
	if errors.As(err, &unknown) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: unknown.Error()}}}
	}
	kind := tenet.KindOf(err)
	text := kind.String() + ": " + advice[kind]
	var te *tenet.Error
	if errors.As(err, &te) && kind != tenet.Internal {
		if te.Reason != "" {
			text += " (" + te.Reason + ")"
		}
		if te.Code != "" {
			text += " [" + string(te.Code) + "]"
		}
	}
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// denied puts a denial on record in the caller's tenant.
func (s *Server) denied(ctx context.Context, c *caller, tool string, err error) {
	if tenet.KindOf(err) == tenet.Denied {
		s.mem.Denied(ctx, c.key, "mcp "+tool)
	}
}

// fingerprint is of all that decides about a call's effect.
func fingerprint(tool string, c *caller, arg any) []byte {
	data, _ := json.Marshal(arg)
	h := sha256.New()
	for _, s := range []string{tool, c.scope.Key(), string(data)} {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return h.Sum(nil)
}

// arguments checks what a call was given against its schema, field by field, so
// that what does not fit can be named without being repeated.
type arguments struct {
	whole  *jsonschema.Resolved
	fields map[string]*jsonschema.Resolved
	needed []string
}

func newArguments(s *jsonschema.Schema) (arguments, error) {
	a := arguments{fields: map[string]*jsonschema.Resolved{}, needed: s.Required}
	var err error
	if a.whole, err = s.CloneSchemas().Resolve(nil); err != nil {
		return a, err
	}
	for name, p := range s.Properties {
		if a.fields[name], err = p.CloneSchemas().Resolve(nil); err != nil {
			return a, err
		}
	}
	return a, nil
}

const maxArguments = 2 << 20

func (a arguments) decode(raw json.RawMessage, into any) error {
	if len(raw) > maxArguments {
		return tenet.Errorf(tenet.Invalid, "arguments", "over the limit of %d bytes", maxArguments)
	}
	if len(raw) == 0 || string(raw) == "null" {
		raw = json.RawMessage("{}")
	}
	if err := tenet.CheckJSON(raw); err != nil {
		return err
	}
	var v map[string]any
	if err := json.Unmarshal(raw, &v); err != nil {
		return tenet.Errorf(tenet.Invalid, "arguments", "not an object")
	}
	var bad []string
	for name, field := range v {
		switch check := a.fields[name]; {
		case check == nil: // its name is the caller's text
			bad = append(bad, "an argument that the tool does not have")
		case check.Validate(field) != nil:
			bad = append(bad, name)
		}
	}
	for _, name := range a.needed {
		if _, given := v[name]; !given {
			bad = append(bad, name+" is missing")
		}
	}
	if len(bad) > 0 {
		slices.Sort(bad)
		return tenet.Errorf(tenet.Invalid, "arguments", "what does not fit the tool's input schema: %s", strings.Join(slices.Compact(bad), ", "))
	}
	if a.whole.Validate(v) != nil || json.Unmarshal(raw, into) != nil {
		return tenet.Errorf(tenet.Invalid, "arguments", "they do not fit the tool's input schema")
	}
	return nil
}
