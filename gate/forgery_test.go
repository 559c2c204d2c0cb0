package gate_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store/storetest"
)

// sources is an importer that type-checks this module's own packages from
// their files, in this process, and the standard library from its source. Of
// any other package only the name is known: bodies are not checked.
type sources struct {
	fset *token.FileSet
	std  types.Importer
	done map[string]*types.Package
}

const module = "github.com/tenet-memory/tenet"

func (s *sources) Import(path string) (*types.Package, error) {
	if p := s.done[path]; p != nil {
		return p, nil
	}
	dir, own := strings.CutPrefix(path, module)
	switch {
	case !own && !strings.Contains(strings.SplitN(path, "/", 2)[0], "."):
		return s.std.Import(path)
	case !own:
		p := types.NewPackage(path, path[strings.LastIndex(path, "/")+1:])
		p.MarkComplete()
		s.done[path] = p
		return p, nil
	}
	files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(dir), "*.go"))
	if err != nil {
		return nil, err
	}
	var parsed []*ast.File
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		a, err := parser.ParseFile(s.fset, f, nil, 0)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, a)
	}
	conf := types.Config{Importer: s, IgnoreFuncBodies: true, Error: func(error) {}}
	p, _ := conf.Check(path, s.fset, parsed, nil)
	s.done[path] = p
	return p, nil
}

// compile type-checks a file of another package and returns the first error.
func (s *sources) compile(body string) error {
	src := "package attack\n\nimport (\n\t\"context\"\n\t\"" + module + "\"\n\t\"" + module + "/gate\"\n\t\"" + module + "/store\"\n)\n\n" +
		"var _ context.Context\nvar _ tenet.Scope\nvar _ store.Ledger\n\n" + body
	f, err := parser.ParseFile(s.fset, "attack.go", src, 0)
	if err != nil {
		return err
	}
	conf := types.Config{Importer: s}
	_, err = conf.Check("attack", s.fset, []*ast.File{f}, nil)
	return err
}

func TestForgeriesDoNotCompile(t *testing.T) {
	t.Parallel()
	fset := token.NewFileSet()
	s := &sources{fset, importer.ForCompiler(fset, "source", nil), map[string]*types.Package{}}
	apply := "\nfunc f(l store.Ledger, x T) { l.Apply(context.Background(), []gate.Decision{x}, nil) }\n"
	for name, ok := range map[string]string{ // the same harness compiles what is honest
		"the zero decision":                  "var d gate.Decision\nvar z = d.IsZero()",
		"what the gate made":                 "func f(g *gate.Gate, l store.Ledger, c gate.Case) { d, _ := g.Judge(c); l.Apply(context.Background(), []gate.Decision{d}, nil) }",
		"a plan, which is nothing by itself": "var p = gate.Plan{Kind: gate.Admit}",
	} {
		if err := s.compile(ok); err != nil {
			t.Fatalf("%s does not compile, so the rest proves nothing: %v", name, err)
		}
	}
	for _, c := range []struct{ name, body, wants string }{
		{"a literal with fields", "var d = gate.Decision{plan: &gate.Plan{}}", "plan"},
		{"a positional literal", "var d = gate.Decision{&gate.Plan{}}", "unexported"},
		{"setting the field", "func f() { var d gate.Decision; d.plan = &gate.Plan{} }", "plan"},
		{"reading the field's pointer", "func f(d gate.Decision) *gate.Plan { return d.plan }", "plan"},
		{"writing through Plan", "func f(d gate.Decision) { d.Plan().Kind = gate.Admit }", "assign"},
		{"conversion from a look-alike", "type L struct{ plan *gate.Plan }\nvar d = gate.Decision(L{&gate.Plan{}})", "convert"},
		{"conversion from its plan", "var d = gate.Decision(gate.Plan{})", "convert"},
		{"an embedding wrapper", "type T struct{ gate.Decision }\nfunc (T) Plan() gate.Plan { return gate.Plan{} }" + apply, "cannot use"},
		{"a type defined from it", "type T gate.Decision" + apply, "cannot use"},
		{"an interface of the same methods", "type T interface{ Plan() gate.Plan; IsZero() bool }" + apply, "cannot use"},
		{"a method added to it", "func (d gate.Decision) Forge() {}", "cannot define new methods"},
		{"a scope literal", "var s = tenet.Scope{tenant: \"acme\"}", "tenant"},
		{"a principal literal", "var p = tenet.Principal{kind: tenet.Operator}", "kind"},
		{"Apply on a read-only ledger", "func f(l store.Ledger) { store.ReadOnly(l).Apply(context.Background(), nil, nil) }", "Apply"},
	} {
		if err := s.compile(c.body); err == nil {
			t.Errorf("%s compiles", c.name)
		} else if !strings.Contains(err.Error(), c.wants) {
			t.Errorf("%s fails for another reason: %v", c.name, err)
		}
	}
}

func TestNothingDecodesIntoADecision(t *testing.T) {
	t.Parallel()
	var d gate.Decision
	for _, in := range []string{`{}`, `{"plan":{"Kind":1}}`, `{"Plan":{"Kind":1}}`, `[]`, `null`, `"x"`} {
		_ = json.Unmarshal([]byte(in), &d)
		if !d.IsZero() {
			t.Errorf("%s decodes into a decision", in)
		}
	}
	good, err := gate.New(nil).Judge(gate.Case{By: who(tenet.App), At: noon, Candidate: tenet.Candidate{ID: "c", Scope: sarah, Tier: tenet.TierNote, Text: "x", Quote: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := json.Marshal(good); err != nil || string(b) != "{}" {
		t.Errorf("a decision encodes as %s, %v", b, err)
	}
	var buf bytes.Buffer
	if err := gob.NewEncoder(&buf).Encode(good); err == nil {
		t.Error("gob encodes a decision")
	}
	if err := gob.NewDecoder(bytes.NewReader([]byte{3, 4, 0, 0})).Decode(&d); err == nil || !d.IsZero() {
		t.Error("gob decodes into a decision")
	}
	f := reflect.ValueOf(&d).Elem().Field(0)
	if f.CanSet() || f.CanInterface() {
		t.Error("reflection may set the field")
	}
	typ := reflect.TypeFor[gate.Decision]()
	if typ.Kind() != reflect.Struct || typ.NumField() != 1 || typ.Field(0).IsExported() {
		t.Errorf("a decision is a struct with one private field, not %v", typ)
	}
	for _, m := range []string{"UnmarshalJSON", "UnmarshalText", "UnmarshalBinary", "GobDecode", "Scan"} {
		if _, ok := reflect.PointerTo(typ).MethodByName(m); ok {
			t.Errorf("a decision has a method %s", m)
		}
	}
	if _, err := storetest.NewOracle().Apply(ctx, []gate.Decision{d}, nil); tenet.KindOf(err) != tenet.Refused {
		t.Errorf("a ledger takes the zero decision: %v", err)
	}
	p := good.Plan() // a copy: changing it changes no decision
	p.Kind, p.Verdict.Label = gate.Retract, tenet.LabelOperator
	if good.Plan().Kind != gate.Admit || good.Verdict().Label != tenet.LabelUserStated {
		t.Error("a decision changed with its plan")
	}
}
