// Package memtool is the backend of Anthropic's memory tool
// (memory_20250818): its six commands over Tenet's documents, with the replies
// and errors that the tool's clients expect, word for word.
//
// A file is a document: read back exactly, the agent's own word whoever's key
// is used, every version kept, recalled only in the lane of its label, never a
// fact. Directories are what paths imply: one exists while a file is in it. A
// command that touches several files (deleting or renaming a directory) does so
// one by one. A deletion that was cut short leaves the rest, and repeating it
// goes on; a renaming leaves copies beside what is not deleted yet, so that
// repeating it finds the destination taken: delete one of the two.
//
// Replies name the caller's own arguments, as the contract wants; errors that
// come from Tenet name nothing.
package memtool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// Dialect is whose wording the replies have: the documentation's, or that of
// the vendor's Python or TypeScript library, which differ.
type Dialect string

const (
	Docs       Dialect = "docs"
	Python     Dialect = "py"
	TypeScript Dialect = "ts"
)

// Tool is the memory tool for one scope. Memory, By and Scope are required; the
// zero Dialect is Docs.
type Tool struct {
	Memory  *memory.Memory
	By      tenet.Principal // a model speaks through it, whatever its kind
	Scope   tenet.Scope
	Dialect Dialect
}

// Command is the tool's input as a model writes it.
type Command struct {
	Command    string  `json:"command"`
	Path       string  `json:"path,omitempty"`
	ViewRange  []int   `json:"view_range,omitempty"`
	FileText   *string `json:"file_text,omitempty"`
	OldStr     *string `json:"old_str,omitempty"`
	NewStr     *string `json:"new_str,omitempty"`
	InsertLine *int    `json:"insert_line,omitempty"`
	InsertText *string `json:"insert_text,omitempty"`
	OldPath    string  `json:"old_path,omitempty"`
	NewPath    string  `json:"new_path,omitempty"`
	// SHA256 is the digest that the file's content must have, or "none" for a new
	// one: otherwise nothing happens and the error is Conflict. Not part of the
	// vendor's tool.
	SHA256 string `json:"content_sha256,omitempty"`
}

// Reply is what the tool's result holds.
type Reply struct {
	Content string `json:"content"`
	IsError bool   `json:"is_error"`
	SHA256  string `json:"content_sha256,omitempty"` // of the file as it is now, when the command was about one
}

// toolError is an error whose words are part of the tool's contract.
type toolError string

func (e toolError) Error() string { return string(e) }

func replyf(format string, args ...any) error { return toolError(fmt.Sprintf(format, args...)) }

// Run carries out one command. What the contract has words for, and what the
// gate refuses, is a Reply with IsError; the error is for the host: Conflict for
// content_sha256, Denied, Unavailable.
func (t *Tool) Run(ctx context.Context, c Command) (Reply, error) {
	if t.Memory == nil || t.Scope.IsZero() {
		return Reply{}, tenet.Errorf(tenet.Invalid, "memory tool", "no engine or no scope")
	}
	r, err := t.run(ctx, c)
	var words toolError
	var te *tenet.Error
	switch {
	case errors.As(err, &words):
		return Reply{Content: string(words), IsError: true}, nil
	case errors.As(err, &te) && (te.Kind == tenet.Refused || te.Kind == tenet.Invalid):
		return Reply{Content: te.Kind.String() + ": " + te.Reason, IsError: true}, nil
	}
	return r, err
}

func (t *Tool) run(ctx context.Context, c Command) (Reply, error) {
	need := func(what string, given bool) error {
		if given {
			return nil
		}
		return replyf("Missing required argument: %s", what)
	}
	switch c.Command {
	case "view":
		return t.view(ctx, c)
	case "create":
		if err := need("file_text", c.FileText != nil); err != nil {
			return Reply{}, err
		}
		return t.create(ctx, c)
	case "str_replace":
		if err := need("old_str", c.OldStr != nil); err != nil {
			return Reply{}, err
		}
		return t.strReplace(ctx, c)
	case "insert":
		if err := errors.Join(need("insert_line", c.InsertLine != nil), need("insert_text", c.InsertText != nil)); err != nil {
			return Reply{}, toolError(err.Error())
		}
		return t.insert(ctx, c)
	case "delete":
		return t.delete(ctx, c)
	case "rename":
		return t.rename(ctx, c)
	}
	return Reply{}, replyf("Unknown command: want view, create, str_replace, insert, delete or rename")
}

// errorPrefix is what the documentation puts before some errors.
func (t *Tool) errorPrefix() string {
	if t.Dialect == Docs || t.Dialect == "" {
		return "Error: "
	}
	return ""
}

func (t *Tool) by() tenet.Principal { return t.By.AsAgent() }

// file reads a document, or says that there is none.
func (t *Tool) file(ctx context.Context, p path) (d tenet.Document, found bool, err error) {
	if p.root() {
		return d, false, nil
	}
	d, err = t.Memory.Document(ctx, t.by(), t.Scope, p.document())
	if tenet.KindOf(err) == tenet.NotFound {
		return d, false, nil
	}
	return d, err == nil, err
}

// maxFiles bounds how many files one directory command reads.
const maxFiles = 10_000

// under lists the files below a directory, by path.
func (t *Tool) under(ctx context.Context, p path, most int) ([]tenet.Document, error) {
	var out []tenet.Document
	for after := ""; len(out) < most; {
		limit := min(500, most-len(out))
		ds, err := t.Memory.Documents(ctx, t.by(), t.Scope, p.document()+"/", after, limit)
		if err != nil {
			return nil, err
		}
		out = append(out, ds...)
		if len(ds) < limit {
			return out, nil
		}
		after = ds[len(ds)-1].Path
	}
	if most == maxFiles {
		return nil, tenet.Errorf(tenet.Invalid, "memory tool", "over %d files", maxFiles)
	}
	return out, nil
}

// isDir reports whether a directory is implied at the path.
func (t *Tool) isDir(ctx context.Context, p path) (bool, error) {
	if p.root() {
		return true, nil
	}
	ds, err := t.under(ctx, p, 1)
	return len(ds) > 0, err
}

// exists reports whether there is a file or directory at the path.
func (t *Tool) exists(ctx context.Context, p path) (bool, error) {
	if _, found, err := t.file(ctx, p); found || err != nil {
		return found, err
	}
	return t.isDir(ctx, p)
}

// noFileAbove refuses a path below a file: a file system would, too.
func (t *Tool) noFileAbove(ctx context.Context, p path) error {
	for i := 1; i < len(p.parts); i++ {
		above := path{parts: p.parts[:i]}
		above.given = above.String()
		if _, found, err := t.file(ctx, above); err != nil {
			return err
		} else if found {
			return replyf("The path %s is not a directory.", above)
		}
	}
	return nil
}

func (t *Tool) create(ctx context.Context, c Command) (Reply, error) {
	p, err := parsePath(c.Path)
	if err != nil {
		return Reply{}, err
	}
	exists, err := t.exists(ctx, p)
	if err != nil {
		return Reply{}, err
	}
	there := replyf("%sFile %s already exists", t.errorPrefix(), c.Path)
	if exists {
		return Reply{}, there
	}
	if err := t.noFileAbove(ctx, p); err != nil {
		return Reply{}, err
	}
	if c.SHA256 != "" && c.SHA256 != memory.NoContent {
		return Reply{}, changed()
	}
	d, err := t.put(ctx, p, *c.FileText, memory.NoContent)
	if tenet.KindOf(err) == tenet.Conflict {
		return Reply{}, there // somebody was faster
	}
	return Reply{Content: "File created successfully at: " + c.Path, SHA256: d.SHA256}, err
}

func changed() error {
	return tenet.Errorf(tenet.Conflict, "memory tool", "the content is not the one that content_sha256 names")
}

func (t *Tool) put(ctx context.Context, p path, text, sha string) (tenet.Document, error) {
	return t.Memory.PutDocument(ctx, t.by(), t.Scope, memory.DocumentPut{Path: p.document(), Text: text, IfSHA256: sha})
}

// edit rewrites a file as it was read, again when somebody was faster, unless
// the caller named the content it wants to change.
func (t *Tool) edit(ctx context.Context, c Command, missing error, change func(text string) (string, string, error)) (Reply, error) {
	p, err := parsePath(c.Path)
	if err != nil {
		return Reply{}, err
	}
	for attempt := 0; ; attempt++ {
		d, found, err := t.file(ctx, p)
		if err != nil {
			return Reply{}, err
		}
		if !found {
			switch dir, err := t.isDir(ctx, p); {
			case err != nil:
				return Reply{}, err
			case attempt > 0:
				return Reply{}, replyf("The file %s no longer exists (may have been deleted or renamed concurrently).", c.Path)
			case dir && t.errorPrefix() == "":
				return Reply{}, replyf("The path %s is not a file.", c.Path)
			}
			return Reply{}, missing
		}
		if c.SHA256 != "" && c.SHA256 != d.SHA256 {
			return Reply{}, changed()
		}
		text, reply, err := change(d.Text)
		if err != nil {
			return Reply{}, err
		}
		kept, err := t.put(ctx, p, text, d.SHA256)
		if tenet.KindOf(err) == tenet.Conflict && c.SHA256 == "" && attempt < 8 {
			continue
		}
		return Reply{Content: reply, SHA256: kept.SHA256}, err
	}
}

func (t *Tool) strReplace(ctx context.Context, c Command) (Reply, error) {
	missing := replyf("%sThe path %s does not exist. Please provide a valid path.", t.errorPrefix(), c.Path)
	return t.edit(ctx, c, missing, func(text string) (string, string, error) {
		newStr := ""
		if c.NewStr != nil {
			newStr = *c.NewStr
		}
		at, lines := t.occurrences(text, *c.OldStr)
		switch {
		case len(lines) == 0:
			return "", "", replyf("No replacement was performed, old_str `%s` did not appear verbatim in %s.", *c.OldStr, c.Path)
		case len(lines) > 1:
			words := make([]string, len(lines))
			for i, n := range lines {
				words[i] = fmt.Sprint(n)
			}
			return "", "", replyf("No replacement was performed. Multiple occurrences of old_str `%s` in lines: %s. Please ensure it is unique",
				*c.OldStr, strings.Join(words, ", "))
		}
		text = text[:at] + newStr + text[at+len(*c.OldStr):]
		head := "The memory file has been edited."
		if t.errorPrefix() == "" {
			head += " Here is the snippet showing the change (with line numbers):"
		}
		return text, head + "\n" + snippet(text, lines[0]), nil
	})
}

// occurrences are where the text holds old: the first place, and the lines. A
// line counts once for each place in it, but in TypeScript's dialect, which looks
// line by line.
func (t *Tool) occurrences(text, old string) (first int, lines []int) {
	if old == "" {
		return 0, nil
	}
	if t.Dialect == TypeScript {
		start := 0
		for i, line := range strings.Split(text, "\n") {
			if at := strings.Index(line, old); at >= 0 {
				if len(lines) == 0 {
					first = start + at
				}
				lines = append(lines, i+1)
			}
			start += len(line) + 1
		}
		return first, lines
	}
	for from := 0; ; {
		at := strings.Index(text[from:], old)
		if at < 0 {
			return first, lines
		}
		if at += from; len(lines) == 0 {
			first = at
		}
		lines = append(lines, 1+strings.Count(text[:at], "\n"))
		from = at + len(old)
	}
}

// snippet is the changed line with two on each side, numbered.
func snippet(text string, line int) string {
	lines := strings.Split(text, "\n")
	from := max(0, line-3)
	return numbered(lines[from:min(len(lines), line+2)], from+1)
}

func numbered(lines []string, from int) string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = fmt.Sprintf("%6d\t%s", from+i, l)
	}
	return strings.Join(out, "\n")
}

func (t *Tool) insert(ctx context.Context, c Command) (Reply, error) {
	missing := replyf("The path %s does not exist. Please provide a valid path.", c.Path)
	if t.errorPrefix() != "" {
		missing = replyf("Error: The path %s does not exist", c.Path)
	}
	return t.edit(ctx, c, missing, func(text string) (string, string, error) {
		lines := strings.Split(text, "\n")
		add := strings.TrimSuffix(*c.InsertText, "\n")
		if t.Dialect == Python {
			lines = splitLines(text)
			add = strings.TrimRight(*c.InsertText, "\n")
		}
		n := *c.InsertLine
		if n < 0 || n > len(lines) {
			where := "of lines of the file: [0, %d]"
			if t.Dialect == Python {
				where = "[0, %d]."
			}
			return "", "", replyf("%sInvalid `insert_line` parameter: %d. It should be within the range "+where, t.errorPrefix(), n, len(lines))
		}
		lines = slices.Insert(lines, n, strings.Split(add, "\n")...)
		text = strings.Join(lines, "\n")
		if t.Dialect == Python {
			text += "\n"
		}
		return text, fmt.Sprintf("The file %s has been edited.", c.Path), nil
	})
}

// splitLines is Python's: a line end at the end begins no further line.
func splitLines(text string) []string {
	text = strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
