package tenet_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/tenet-memory/tenet"

// imports is the import table of docs/design.md: for each package the packages
// of this module, and the families of outside ones, that its code may import.
// The standard library is always allowed. Tests may import more, but never a
// package that would make a cycle of meaning (see testImports).
var imports = map[string]struct{ own, outside []string }{
	"":       {},
	"gate":   {own: []string{""}, outside: []string{"golang.org/x/text"}},
	"policy": {own: []string{"", "gate"}, outside: []string{"golang.org/x/text"}},
	// The API of OpenTelemetry, not its SDK: what a span may carry is decided in one place.
	"trace":            {own: []string{""}, outside: []string{"go.opentelemetry.io/otel"}},
	"store":            {own: []string{"", "gate"}},
	"store/column":     {own: []string{""}, outside: []string{"github.com/klauspost/compress"}},
	"store/sealing":    {own: []string{"", "store"}},
	"store/erasing":    {own: []string{"", "gate", "store", "store/column", "store/sealing"}},
	"store/archiving":  {own: []string{"", "gate", "store", "store/column", "store/erasing"}},
	"store/cutting":    {own: []string{"", "gate", "store", "store/column", "store/erasing"}},
	"store/storetest":  {own: []string{"", "gate", "store", "store/erasing"}, outside: []string{"github.com/google/go-cmp", "pgregory.net/rapid"}},
	"store/sqlite":     {own: []string{"", "gate", "store", "store/column", "store/sealing", "store/erasing", "store/archiving", "store/cutting", "trace"}, outside: []string{"modernc.org/sqlite", "github.com/pressly/goose"}},
	"store/postgres":   {own: []string{"", "gate", "store", "store/column", "store/sealing", "store/erasing", "store/archiving", "store/cutting", "trace"}, outside: []string{"github.com/jackc/pgx/v5"}},
	"store/redis":      {own: []string{"", "store", "store/column", "trace"}, outside: []string{"github.com/redis/go-redis/v9"}},
	"recall":           {outside: []string{"golang.org/x/text", "github.com/kljensen/snowball", "github.com/clipperhouse/uax29", "golang.org/x/sys"}},
	"model":            {own: []string{""}},
	"forget":           {},
	"model/rules":      {own: []string{"", "model"}, outside: []string{"golang.org/x/text"}},
	"model/prompted":   {own: []string{"", "model"}},
	"model/anthropic":  {own: []string{"", "model/prompted"}, outside: []string{"github.com/anthropics/anthropic-sdk-go/v2"}},
	"model/openai":     {own: []string{"", "model", "model/prompted"}, outside: []string{"github.com/openai/openai-go/v3"}},
	"model/inproc":     {own: []string{"", "model"}, outside: []string{"golang.org/x/text", "golang.org/x/sys"}},
	"memory":           {own: []string{"", "gate", "store", "recall", "forget", "model", "trace"}, outside: []string{"github.com/google/uuid", "golang.org/x/time"}},
	"httpapi":          {own: []string{"", "memory", "memtool", "trace"}, outside: []string{"github.com/danielgtaylor/huma/v2", "github.com/go-chi/chi/v5", "github.com/prometheus/client_golang"}},
	"httpapi/spectest": {}, // requests for tests
	"memtool":          {own: []string{"", "memory"}},
	"mcpapi":           {own: []string{"", "memory", "trace"}, outside: []string{"github.com/modelcontextprotocol/go-sdk", "github.com/google/jsonschema-go"}},
	"roots":            {own: []string{"", "store"}, outside: []string{"golang.org/x/mod"}},
	"transcript":       {own: []string{""}},
	"console":          {own: []string{"", "memory"}},
	"console/signon":   {own: []string{""}, outside: []string{"github.com/coreos/go-oidc/v3", "golang.org/x/oauth2"}},

	"console/signon/issuertest": {outside: []string{"github.com/go-jose/go-jose/v4"}}, // an issuer for tests
	"eval":                      {own: []string{"", "memory", "model", "transcript", "policy", "gate"}},
	"eval/...":                  {own: []string{"", "gate", "memory", "model", "model/rules", "eval", "store", "store/sqlite", "store/storetest"}},
	"cmd/tenet":                 {own: []string{"*"}, outside: []string{"*"}},
	"model/inproc/...":          {own: []string{"", "model", "model/inproc", "model/inproc/pack"}, outside: []string{"golang.org/x/text", "golang.org/x/sys"}},
	"policy/cel":                {own: []string{"", "gate"}, outside: []string{"cel.dev/cel-go"}},
	"policy/...":                {own: []string{"", "gate", "policy"}, outside: []string{"*"}}, // generators, not linked
}

// TestImportTableHolds parses every file in this process: a test that asked the
// go command would be cached and miss changes.
func TestImportTableHolds(t *testing.T) {
	t.Parallel()
	files := 0
	for path, dir := range goFiles(t) {
		files++
		row, ok := imports[dir]
		if !ok {
			row, ok = nearest(dir)
		}
		if !ok {
			t.Errorf("%s: package %q is not in the import table", path, dir)
			continue
		}
		for _, imp := range importsOf(t, path) {
			switch own, isOwn := strings.CutPrefix(imp, module); {
			case isOwn:
				if own = strings.TrimPrefix(own, "/"); !allowed(row.own, own, false) {
					t.Errorf("%s imports %q, which the table does not allow", path, imp)
				}
			case strings.Contains(strings.SplitN(imp, "/", 2)[0], "."):
				if !allowed(row.outside, imp, true) {
					t.Errorf("%s imports %q, which the table does not allow", path, imp)
				}
			}
		}
	}
	if files < 20 {
		t.Fatalf("saw only %d files: the walk is broken", files)
	}
}

// TestOnlyCmdAndTestsMakeAGate keeps admission rules in one place: a gate with
// other rules, made elsewhere, would be another door.
func TestOnlyCmdAndTestsMakeAGate(t *testing.T) {
	t.Parallel()
	for path, dir := range goFiles(t) {
		if strings.HasPrefix(dir, "cmd/") || strings.HasPrefix(dir, "store/storetest") || dir == "gate" || strings.HasPrefix(dir, "eval") {
			continue
		}
		src := readFile(t, path)
		if strings.Contains(src, "gate.New(") {
			t.Errorf("%s makes a gate; only cmd, eval and tests may", path)
		}
	}
}

// TestNoInitAndNoRegistry: state comes from constructors, nothing registers
// itself by being imported.
func TestNoInitAndNoRegistry(t *testing.T) {
	t.Parallel()
	for path := range goFiles(t) {
		if strings.Contains(readFile(t, path), "\nfunc init()") {
			t.Errorf("%s has an init function", path)
		}
	}
}

// TestNamesSayWhatThingsAre bans the words that say nothing.
func TestNamesSayWhatThingsAre(t *testing.T) {
	t.Parallel()
	for path := range goFiles(t) {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for name := range f.Scope.Objects {
			for _, bad := range []string{"Manager", "Helper", "Util", "Impl", "DAO"} {
				if strings.Contains(name, bad) {
					t.Errorf("%s declares %s: name it after what it is", path, name)
				}
			}
		}
	}
}

// TestNoTextBecomesAWordOfASpan: a trace.Word is a constant. A conversion is how
// a name or a text could become one; package trace makes one of a statement's
// verb and table.
func TestNoTextBecomesAWordOfASpan(t *testing.T) {
	t.Parallel()
	seen := 0
	for path, dir := range goFiles(t) {
		src := readFile(t, path)
		seen += strings.Count(src, "trace.Word")
		if dir != "trace" && strings.Contains(src, "trace.Word(") {
			t.Errorf("%s converts a text into a trace.Word", path)
		}
		if dir != "trace" && dir != "cmd/tenet" && strings.Contains(src, `"go.opentelemetry.io/`) {
			t.Errorf("%s speaks to OpenTelemetry itself", path)
		}
	}
	if seen < 5 {
		t.Fatalf("trace.Word is in %d places: the search is broken", seen)
	}
}

func nearest(dir string) (struct{ own, outside []string }, bool) {
	for d := filepath.Dir(dir); d != "."; d = filepath.Dir(d) {
		if row, ok := imports[d+"/..."]; ok {
			return row, true
		}
	}
	return struct{ own, outside []string }{}, false
}

func allowed(list []string, imp string, prefix bool) bool {
	for _, a := range list {
		if a == "*" || a == imp || prefix && strings.HasPrefix(imp, a) {
			return true
		}
	}
	return false
}

// goFiles yields the module's own non-test files with their package folder.
func goFiles(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			if path != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules" || name == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			dir := filepath.ToSlash(filepath.Dir(path))
			if dir == "." {
				dir = ""
			}
			out[path] = dir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func importsOf(t *testing.T, path string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, i := range f.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}
