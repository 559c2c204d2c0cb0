package memtool_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memtool"
)

// folder is a directory as the tool promises it: a map of paths to texts.
type folder map[string]string

func (f folder) under(dir string) (out []string) {
	for p := range f {
		if strings.HasPrefix(p, dir+"/") {
			out = append(out, p)
		}
	}
	return out
}

func (f folder) exists(p string) bool {
	_, file := f[p]
	return p == "/memories" || file || len(f.under(p)) > 0
}

func (f folder) belowFile(p string) bool {
	for q := range f {
		if strings.HasPrefix(p, q+"/") {
			return true
		}
	}
	return false
}

// apply says whether the command succeeds, and does it.
func (f folder) apply(c memtool.Command) bool {
	text, file := f[c.Path]
	switch c.Command {
	case "view":
		return f.exists(c.Path)
	case "create":
		if f.exists(c.Path) || f.belowFile(c.Path) {
			return false
		}
		f[c.Path] = *c.FileText
	case "str_replace":
		if !file || strings.Count(text, *c.OldStr) != 1 {
			return false
		}
		f[c.Path] = strings.Replace(text, *c.OldStr, *c.NewStr, 1)
	case "insert":
		lines := strings.Split(text, "\n")
		if n := *c.InsertLine; !file || n < 0 || n > len(lines) {
			return false
		}
		head, tail := lines[:*c.InsertLine:*c.InsertLine], lines[*c.InsertLine:]
		f[c.Path] = strings.Join(append(append(head, strings.TrimSuffix(*c.InsertText, "\n")), tail...), "\n")
	case "delete":
		if c.Path == "/memories" || !f.exists(c.Path) {
			return false
		}
		delete(f, c.Path)
		for _, p := range f.under(c.Path) {
			delete(f, p)
		}
	case "rename":
		if c.OldPath == "/memories" || !f.exists(c.OldPath) || f.exists(c.NewPath) || strings.HasPrefix(c.NewPath+"/", c.OldPath+"/") || f.belowFile(c.NewPath) {
			return false
		}
		for p, text := range maps.Clone(f) {
			if p == c.OldPath || strings.HasPrefix(p, c.OldPath+"/") {
				delete(f, p)
				f[c.NewPath+strings.TrimPrefix(p, c.OldPath)] = text
			}
		}
	}
	return true
}

// TestAnySequenceOfCommandsIsADirectory: after any commands the documents are
// what a directory would hold, byte for byte, and each command succeeded when it
// would have there.
func TestAnySequenceOfCommandsIsADirectory(t *testing.T) {
	t.Parallel()
	shared := newTool(t, memtool.Docs)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		tool, model := *shared, folder{}
		scope, err := tenet.NewScope("acme", tenet.User(fmt.Sprintf("user-%d", n)))
		if err != nil {
			rt.Fatal(err)
		}
		tool.Scope = scope
		path := rapid.SampledFrom([]string{"/memories", "/memories/a", "/memories/b", "/memories/a/b", "/memories/a/c", "/memories/b/d/e", "/memories/ä _%.md", "/memories/a%"})
		text := rapid.SampledFrom([]string{"", "x", "one\ntwo\n", "one one", "two\n\nthree", "é\tü"})
		for range rapid.IntRange(1, 14).Draw(rt, "commands") {
			c := memtool.Command{Command: rapid.SampledFrom([]string{"view", "create", "create", "str_replace", "insert", "delete", "rename"}).Draw(rt, "command")}
			switch c.Command {
			case "rename":
				c.OldPath, c.NewPath = path.Draw(rt, "from"), path.Draw(rt, "to")
			default:
				c.Path = path.Draw(rt, "path")
			}
			c.FileText, c.NewStr, c.InsertText = p(text.Draw(rt, "text")), p(text.Draw(rt, "new")), p(text.Draw(rt, "insert"))
			c.OldStr, c.InsertLine = p(rapid.SampledFrom([]string{"one", "two", "x", "e\nt"}).Draw(rt, "old")), p(rapid.IntRange(-1, 4).Draw(rt, "line"))
			want := model.apply(c)
			r, err := tool.Run(context.Background(), c)
			if err != nil || r.IsError == want {
				rt.Fatalf("%+v: %+v %v, a directory: %v", c, r, err, want)
			}
		}
		ds, err := tool.Memory.Documents(context.Background(), tool.By, tool.Scope, "", "", 500)
		if err != nil {
			rt.Fatal(err)
		}
		got := folder{}
		for _, d := range ds {
			got["/"+d.Path] = d.Text
			if d.Label != tenet.LabelAgentInferred {
				rt.Fatalf("a file of label %s", d.Label)
			}
		}
		if !maps.Equal(got, model) {
			rt.Fatalf("got %q, want %q", got, model)
		}
	})
}
