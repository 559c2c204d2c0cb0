package memtool_test

import (
	"crypto/rand"
	"encoding/base64"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/memtool"
	"github.com/tenet-memory/tenet/policy"
	"github.com/tenet-memory/tenet/store/sqlite"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

// newTool is the tool over a real database file, held by an app's key.
func newTool(t testing.TB, d memtool.Dialect) *memtool.Tool {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "tenet.db"), sqlite.Options{})
	ok(t, err)
	t.Cleanup(func() { db.Close() })
	p, err := policy.New(policy.Config{})
	ok(t, err)
	mem, err := memory.Open(t.Context(), memory.Config{Ledger: db, Sessions: db, Gate: gate.New([]gate.Rule{p}), Debounce: time.Second})
	ok(t, err)
	by, err := tenet.NewPrincipal(tenet.App, "acme", "host")
	ok(t, err)
	scope, err := tenet.NewScope("acme", tenet.User("sarah"))
	ok(t, err)
	return &memtool.Tool{Memory: mem, By: by, Scope: scope, Dialect: d}
}

func p[T any](v T) *T { return &v }

func create(path, text string) memtool.Command {
	return memtool.Command{Command: "create", Path: path, FileText: &text}
}
func view(path string, r ...int) memtool.Command {
	return memtool.Command{Command: "view", Path: path, ViewRange: r}
}
func replace(path, old, new string) memtool.Command {
	return memtool.Command{Command: "str_replace", Path: path, OldStr: &old, NewStr: &new}
}
func insert(path string, line int, text string) memtool.Command {
	return memtool.Command{Command: "insert", Path: path, InsertLine: &line, InsertText: &text}
}
func remove(path string) memtool.Command { return memtool.Command{Command: "delete", Path: path} }
func rename(from, to string) memtool.Command {
	return memtool.Command{Command: "rename", OldPath: from, NewPath: to}
}

// TestRepliesWordForWord: each step's reply in the three dialects; one text is
// meant for all.
func TestRepliesWordForWord(t *testing.T) {
	t.Parallel()
	const (
		good = false
		bad  = true
	)
	same := func(s string) [3]string { return [3]string{s, s, s} }
	list := "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items"
	steps := []struct {
		c    memtool.Command
		bad  bool
		want [3]string // docs, py, ts
	}{
		{view("/memories"), good, [3]string{list + " and node_modules:\n0B\t/memories", list + ":\n0B\t/memories", list + " and node_modules:\n0B\t/memories"}},
		{create("/memories/a.txt", "one\ntwo\nthree\nfour\nfive\nsix"), good, same("File created successfully at: /memories/a.txt")},
		{create("/memories/a.txt", "x"), bad, [3]string{"Error: File /memories/a.txt already exists", "File /memories/a.txt already exists", "File /memories/a.txt already exists"}},
		{view("/memories/a.txt"), good, same("Here's the content of /memories/a.txt with line numbers:\n     1\tone\n     2\ttwo\n     3\tthree\n     4\tfour\n     5\tfive\n     6\tsix")},
		{view("/memories/a.txt", 0, 2), good, same("Here's the content of /memories/a.txt with line numbers:\n     1\tone\n     2\ttwo")},
		{view("/memories/a.txt", 5, -1), good, same("Here's the content of /memories/a.txt with line numbers:\n     5\tfive\n     6\tsix")},
		{view("/memories/none"), bad, same("The path /memories/none does not exist. Please provide a valid path.")},
		{replace("/memories/a.txt", "four", "FOUR"), good, [3]string{
			"The memory file has been edited.\n     2\ttwo\n     3\tthree\n     4\tFOUR\n     5\tfive\n     6\tsix",
			"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     2\ttwo\n     3\tthree\n     4\tFOUR\n     5\tfive\n     6\tsix",
			"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     2\ttwo\n     3\tthree\n     4\tFOUR\n     5\tfive\n     6\tsix",
		}},
		{replace("/memories/a.txt", "gone", "x"), bad, same("No replacement was performed, old_str `gone` did not appear verbatim in /memories/a.txt.")},
		{replace("/memories/a.txt", "i", "x"), bad, same("No replacement was performed. Multiple occurrences of old_str `i` in lines: 5, 6. Please ensure it is unique")},
		{replace("/memories/none", "a", "b"), bad, [3]string{"Error: The path /memories/none does not exist. Please provide a valid path.", "The path /memories/none does not exist. Please provide a valid path.", "The path /memories/none does not exist. Please provide a valid path."}},
		{create("/memories/d/e/f.txt", strings.Repeat("x", 1536)), good, same("File created successfully at: /memories/d/e/f.txt")},
		{create("/memories/d/.hidden", "x"), good, same("File created successfully at: /memories/d/.hidden")},
		{create("/memories/d", "x"), bad, [3]string{"Error: File /memories/d already exists", "File /memories/d already exists", "File /memories/d already exists"}},
		{create("/memories/a.txt/b", "x"), bad, same("The path /memories/a.txt is not a directory.")},
		{view("/memories"), good, [3]string{
			list + " and node_modules:\n1.5K\t/memories\n27B\t/memories/a.txt\n1.5K\t/memories/d/\n1.5K\t/memories/d/e/",
			list + ":\n1.5K\t/memories\n27B\t/memories/a.txt\n1.5K\t/memories/d/\n1.5K\t/memories/d/e/",
			list + " and node_modules:\n1.5K\t/memories\n27B\t/memories/a.txt\n1.5K\t/memories/d/\n1.5K\t/memories/d/e/",
		}},
		{replace("/memories/d", "a", "b"), bad, [3]string{"Error: The path /memories/d does not exist. Please provide a valid path.", "The path /memories/d is not a file.", "The path /memories/d is not a file."}},
		{insert("/memories/a.txt", 9, "x"), bad, [3]string{
			"Error: Invalid `insert_line` parameter: 9. It should be within the range of lines of the file: [0, 6]",
			"Invalid `insert_line` parameter: 9. It should be within the range [0, 6].",
			"Invalid `insert_line` parameter: 9. It should be within the range of lines of the file: [0, 6]",
		}},
		{insert("/memories/a.txt", 0, "zero\n"), good, same("The file /memories/a.txt has been edited.")},
		{insert("/memories/none", 0, "x"), bad, [3]string{"Error: The path /memories/none does not exist", "The path /memories/none does not exist. Please provide a valid path.", "The path /memories/none does not exist. Please provide a valid path."}},
		{view("/memories/a.txt", 1, 2), good, same("Here's the content of /memories/a.txt with line numbers:\n     1\tzero\n     2\tone")},
		{rename("/memories/a.txt", "/memories/d"), bad, [3]string{"Error: The destination /memories/d already exists", "The destination /memories/d already exists", "The destination /memories/d already exists"}},
		{rename("/memories/none", "/memories/x"), bad, [3]string{"Error: The path /memories/none does not exist", "The path /memories/none does not exist", "The path /memories/none does not exist"}},
		{rename("/memories", "/memories/x"), bad, same("Cannot rename the /memories directory itself")},
		{rename("/memories/d", "/memories/d/sub"), bad, same("The path /memories/d cannot be moved into itself.")},
		{rename("/memories/d", "/memories/new/place"), good, same("Successfully renamed /memories/d to /memories/new/place")},
		{view("/memories/new/place/e/f.txt", 1, 0), good, same("Here's the content of /memories/new/place/e/f.txt with line numbers:\n")},
		{remove("/memories"), bad, same("Cannot delete the /memories directory itself")},
		{remove("/memories/d"), bad, [3]string{"Error: The path /memories/d does not exist", "The path /memories/d does not exist", "The path /memories/d does not exist"}},
		{remove("/memories/new"), good, same("Successfully deleted /memories/new")},
		{view("/memories/new"), bad, same("The path /memories/new does not exist. Please provide a valid path.")},
		{memtool.Command{Command: "create", Path: "/memories/x"}, bad, same("Missing required argument: file_text")},
		{memtool.Command{Command: "format"}, bad, same("Unknown command: want view, create, str_replace, insert, delete or rename")},
	}
	for i, d := range []memtool.Dialect{memtool.Docs, memtool.Python, memtool.TypeScript} {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			tool := newTool(t, d)
			for n, s := range steps {
				got, err := tool.Run(t.Context(), s.c)
				if err != nil || got.Content != s.want[i] || got.IsError != s.bad {
					t.Errorf("step %d %s: %q, error %v %v\nwant %q", n, s.c.Command, got.Content, got.IsError, err, s.want[i])
				}
			}
		})
	}
}

// TestDialectsCountDifferently where the vendors' libraries do.
func TestDialectsCountDifferently(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		dialect memtool.Dialect
		text    string
		c       memtool.Command
		fails   bool
		want    string // the text afterwards
	}{
		{memtool.Python, "aa\nb\n", replace("/memories/f", "a", "x"), true, "aa\nb\n"},
		{memtool.TypeScript, "aa\nb\n", replace("/memories/f", "a", "x"), false, "xa\nb\n"},
		{memtool.Python, "a\nb\n", replace("/memories/f", "a\nb", "x"), false, "x\n"},
		{memtool.TypeScript, "a\nb\n", replace("/memories/f", "a\nb", "x"), true, "a\nb\n"},
		{memtool.Python, "a\nb\n", insert("/memories/f", 3, "x"), true, "a\nb\n"},
		{memtool.TypeScript, "a\nb\n", insert("/memories/f", 3, "x"), false, "a\nb\n\nx"},
		{memtool.Python, "a", insert("/memories/f", 1, "x\n\n"), false, "a\nx\n"},
		{memtool.TypeScript, "a", insert("/memories/f", 1, "x\n\n"), false, "a\nx\n"},
		{memtool.Python, "", insert("/memories/f", 0, "x"), false, "x\n"},
		{memtool.Docs, "a", memtool.Command{Command: "str_replace", Path: "/memories/f", OldStr: p("a")}, false, ""},
		{memtool.Docs, "a", replace("/memories/f", "", "x"), true, "a"},
	} {
		tool := newTool(t, k.dialect)
		_, err := tool.Run(t.Context(), create("/memories/f", k.text))
		ok(t, err)
		r, err := tool.Run(t.Context(), k.c)
		ok(t, err)
		d, err := tool.Memory.Document(t.Context(), tool.By, tool.Scope, "memories/f")
		ok(t, err)
		if r.IsError != k.fails || d.Text != k.want {
			t.Errorf("%s %s on %q: %q (%s), want %q, error %v", k.dialect, k.c.Command, k.text, d.Text, r.Content, k.want, k.fails)
		}
	}
}

// TestHostilePaths: whatever a path says, no command leaves /memories, and
// nothing is written.
func TestHostilePaths(t *testing.T) {
	t.Parallel()
	escape := func(p string) string { return "Path " + p + " would escape /memories directory" }
	outside := func(p string) string { return "Path must start with /memories, got: " + p }
	for _, k := range []struct{ path, want string }{
		{"/etc/passwd", outside("/etc/passwd")}, {"memories/a", outside("memories/a")}, {"../memories", outside("../memories")}, {"C:\\memories", outside("C:\\memories")},
		{"/MEMORIES/a", outside("/MEMORIES/a")}, {"//memories/a", outside("//memories/a")}, {" /memories/a", outside(" /memories/a")}, {"./memories/a", outside("./memories/a")},
		{"/memories-evil/a", escape("/memories-evil/a")}, {"/memoriesx", escape("/memoriesx")}, {"/memories.bak", escape("/memories.bak")},
		{"/memories/..", escape("/memories/..")}, {"/memories/../etc", escape("/memories/../etc")}, {"/memories/a/../../b", escape("/memories/a/../../b")}, {"/memories/a/../b", escape("/memories/a/../b")},
		{"/memories/..\\x", escape("/memories/..\\x")}, {"/memories\\..\\x", escape("/memories\\..\\x")}, {"/memories/a\\b", escape("/memories/a\\b")},
		{"/memories/%2e%2e/x", escape("/memories/%2e%2e/x")}, {"/memories/%2e%2e%2fx", escape("/memories/%2e%2e%2fx")}, {"/memories/%2E%2E%5Cx", escape("/memories/%2E%2E%5Cx")},
		{"/memories/%252e%252e%252fx", escape("/memories/%252e%252e%252fx")}, {"/memories/a%2fb", escape("/memories/a%2fb")}, {"/memories/%25252525252e", escape("/memories/%25252525252e")},
		{"/memories/a\x00b", escape("/memories/a\x00b")}, {"/memories/%00", escape("/memories/%00")},
		{"/memories/%2e%2e%2fx%", escape("/memories/%2e%2e%2fx%")}, {"/memories/%zz/%2e%2e/x", escape("/memories/%zz/%2e%2e/x")}, {"/memories/100%/%252e%252e", escape("/memories/100%/%252e%252e")},
		{"/memories/a\nb", "invalid"}, {"/memories/" + strings.Repeat("x", 600), "invalid"}, {"/memories/\xff", "invalid"},
		{"", "Missing required argument: path"},
	} {
		tool := newTool(t, memtool.Python)
		for _, c := range []memtool.Command{create(k.path, "x"), view(k.path), replace(k.path, "a", "b"), insert(k.path, 0, "x"), remove(k.path), rename(k.path, "/memories/ok"), rename("/memories/file", k.path)} {
			if c.Command == "rename" {
				_, err := tool.Run(t.Context(), create("/memories/file", "x"))
				ok(t, err)
			}
			r, err := tool.Run(t.Context(), c)
			ok(t, err)
			if !r.IsError || k.want != "invalid" && r.Content != k.want || k.want == "invalid" && !strings.HasPrefix(r.Content, "invalid: ") {
				t.Errorf("%s %q: %q, want %q", c.Command, k.path, r.Content, k.want)
			}
		}
		ds, err := tool.Memory.Documents(t.Context(), tool.By, tool.Scope, "", "", 10)
		ok(t, err)
		if len(ds) != 1 || ds[0].Path != "memories/file" {
			t.Errorf("%q left %d documents", k.path, len(ds))
		}
	}
	tool := newTool(t, memtool.Docs)
	if r, err := tool.Run(t.Context(), create("/memories/100%.md", "x")); err != nil || r.IsError { // a percent sign alone hides nothing
		t.Errorf("%v %v", r, err)
	}
	for _, same := range []string{"/memories/a/b", "/memories//a/./b", "/memories/a/b/"} { // one file, whatever it is called
		if r, err := tool.Run(t.Context(), create(same, "x")); err != nil || r.IsError != (same != "/memories/a/b") {
			t.Errorf("%s: %v %v", same, r, err)
		}
	}
}

// TestAFileIsTheAgentsWord and keeps every version; content_sha256 is a
// precondition, and secrets stop at the gate.
func TestAFileIsTheAgentsWord(t *testing.T) {
	t.Parallel()
	tool := newTool(t, memtool.Docs)
	one, err := tool.Run(t.Context(), create("/memories/a", "one"))
	ok(t, err)
	c := replace("/memories/a", "one", "two")
	c.SHA256 = one.SHA256
	two, err := tool.Run(t.Context(), c)
	ok(t, err)
	if _, err := tool.Run(t.Context(), c); tenet.KindOf(err) != tenet.Conflict {
		t.Errorf("a stale content_sha256: %v", err)
	}
	for _, c := range []memtool.Command{remove("/memories/a"), rename("/memories/a", "/memories/b"), insert("/memories/a", 0, "x"), create("/memories/new", "x")} {
		c.SHA256 = one.SHA256
		if _, err := tool.Run(t.Context(), c); tenet.KindOf(err) != tenet.Conflict {
			t.Errorf("%s: %v", c.Command, err)
		}
	}
	_, err = tool.Run(t.Context(), create("/memories/dir/kept", "kept"))
	ok(t, err)
	for _, c := range []memtool.Command{remove("/memories/dir"), rename("/memories/dir", "/memories/b"), remove("/memories/nothing")} { // a directory is not the file that was read
		c.SHA256 = one.SHA256
		if _, err := tool.Run(t.Context(), c); tenet.KindOf(err) != tenet.Conflict {
			t.Errorf("%s of a directory: %v", c.Command, err)
		}
	}
	if r, err := tool.Run(t.Context(), view("/memories/dir/kept")); err != nil || r.IsError {
		t.Errorf("a conditional command wiped a directory: %v %v", r, err)
	}
	d, err := tool.Memory.Document(t.Context(), tool.By, tool.Scope, "memories/a")
	ok(t, err)
	if d.Label != tenet.LabelAgentInferred || d.SHA256 != two.SHA256 || d.Text != "two" {
		t.Errorf("%+v", d)
	}
	h, err := tool.Memory.DocumentHistory(t.Context(), tool.By, tool.Scope, "memories/a")
	ok(t, err)
	if h[0].Text != "one" {
		t.Errorf("the first version is not in history: %d rows", len(h))
	}
	random := make([]byte, 27)
	rand.Read(random)
	secret := "ghp_" + strings.NewReplacer("-", "a", "_", "b").Replace(base64.RawURLEncoding.EncodeToString(random)) // made up
	if r, err := tool.Run(t.Context(), create("/memories/s", secret)); err != nil || !r.IsError || !strings.HasPrefix(r.Content, "refused: ") || strings.Contains(r.Content, secret) {
		t.Errorf("a text that holds a key: %v %v", r, err)
	}
	fs, err := tool.Memory.Facts(t.Context(), tool.By, tenet.AsOf{}, tool.Scope)
	ok(t, err)
	if len(fs) != 0 {
		t.Errorf("a file became a fact")
	}
}
