package memtool

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// maxLines is the longest file that is shown.
const maxLines = 999_999

func (t *Tool) view(ctx context.Context, c Command) (Reply, error) {
	p, err := parsePath(c.Path)
	if err != nil {
		return Reply{}, err
	}
	d, found, err := t.file(ctx, p)
	if err != nil {
		return Reply{}, err
	}
	if found {
		return t.viewFile(c, d)
	}
	files, err := t.under(ctx, p, maxFiles)
	if err != nil {
		return Reply{}, err
	}
	if len(files) == 0 && !p.root() {
		return Reply{}, replyf("The path %s does not exist. Please provide a valid path.", c.Path)
	}
	skipped := ", excluding hidden items and node_modules:"
	if t.Dialect == Python {
		skipped = ", excluding hidden items:"
	}
	lines := []string{"Here're the files and directories up to 2 levels deep in " + c.Path + skipped}
	tree := &dir{subdirs: map[string]*dir{}, files: map[string]int{}}
	for _, f := range files {
		tree.add(strings.Split(strings.TrimPrefix(f.Path, p.document()+"/"), "/"), len(f.Text), t.Dialect != Python)
	}
	lines = append(lines, t.size(tree.bytes)+"\t"+c.Path)
	lines = append(lines, t.listing(tree, strings.TrimSuffix(c.Path, "/"), 2)...)
	return Reply{Content: strings.Join(lines, "\n")}, nil
}

// dir is a directory as the paths of its files imply it.
type dir struct {
	subdirs map[string]*dir
	files   map[string]int // sizes
	bytes   int
}

func (d *dir) add(parts []string, bytes int, noModules bool) {
	name := parts[0]
	if strings.HasPrefix(name, ".") || noModules && name == "node_modules" {
		return
	}
	d.bytes += bytes
	if len(parts) == 1 {
		d.files[name] = bytes
		return
	}
	sub := d.subdirs[name]
	if sub == nil {
		sub = &dir{subdirs: map[string]*dir{}, files: map[string]int{}}
		d.subdirs[name] = sub
	}
	sub.add(parts[1:], bytes, noModules)
}

func (t *Tool) listing(d *dir, at string, levels int) []string {
	if levels == 0 {
		return nil
	}
	var names, out []string
	for n := range d.files {
		names = append(names, n)
	}
	for n := range d.subdirs {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		if sub := d.subdirs[n]; sub != nil {
			out = append(out, t.size(sub.bytes)+"\t"+at+"/"+n+"/")
			out = append(out, t.listing(sub, at+"/"+n, levels-1)...)
		} else {
			out = append(out, t.size(d.files[n])+"\t"+at+"/"+n)
		}
	}
	return out
}

// size writes bytes to base 1024: whole numbers without decimals, but in the
// documentation's examples, which have one.
func (t *Tool) size(n int) string {
	v, unit := float64(n), 0
	for v >= 1024 && unit < 3 {
		v /= 1024
		unit++
	}
	if v == math.Trunc(v) && (unit == 0 || t.errorPrefix() == "") {
		return fmt.Sprintf("%d%c", int(v), "BKMG"[unit])
	}
	return fmt.Sprintf("%.1f%c", v, "BKMG"[unit])
}

func (t *Tool) viewFile(c Command, d tenet.Document) (Reply, error) {
	lines := strings.Split(d.Text, "\n")
	if len(lines) > maxLines {
		if t.Dialect == TypeScript {
			return Reply{}, replyf("File %s has too many lines (%d). Maximum is 999,999 lines.", c.Path, len(lines))
		}
		return Reply{}, replyf("File %s exceeds maximum line limit of 999,999 lines.", c.Path)
	}
	from, to := 1, len(lines)
	switch len(c.ViewRange) {
	case 0:
	case 2:
		from = max(1, c.ViewRange[0])
		if c.ViewRange[1] != -1 {
			to = min(len(lines), c.ViewRange[1])
		}
	default:
		return Reply{}, replyf("Invalid `view_range` parameter: it takes two line numbers")
	}
	shown := ""
	if from <= to {
		shown = numbered(lines[from-1:to], from)
	}
	return Reply{Content: "Here's the content of " + c.Path + " with line numbers:\n" + shown, SHA256: d.SHA256}, nil
}

func (t *Tool) delete(ctx context.Context, c Command) (Reply, error) {
	p, err := parsePath(c.Path)
	if err != nil {
		return Reply{}, err
	}
	if p.root() {
		return Reply{}, replyf("Cannot delete the %s directory itself", rootDir)
	}
	done := Reply{Content: "Successfully deleted " + c.Path}
	missing := replyf("%sThe path %s does not exist", t.errorPrefix(), c.Path)
	d, found, err := t.file(ctx, p)
	if err != nil {
		return Reply{}, err
	}
	if found {
		if c.SHA256 != "" && c.SHA256 != d.SHA256 {
			return Reply{}, changed()
		}
		switch err := t.Memory.DeleteDocument(ctx, t.by(), t.Scope, d.Path, c.SHA256); {
		case tenet.KindOf(err) == tenet.NotFound:
			return Reply{}, missing
		default:
			return done, err
		}
	}
	if c.SHA256 != "" { // a condition on one file does not hold for a directory, or for nothing
		return Reply{}, changed()
	}
	files, err := t.under(ctx, p, maxFiles)
	if err != nil {
		return Reply{}, err
	}
	if len(files) == 0 {
		return Reply{}, missing
	}
	for _, f := range files {
		if err := t.Memory.DeleteDocument(ctx, t.by(), t.Scope, f.Path, ""); err != nil && tenet.KindOf(err) != tenet.NotFound {
			return Reply{}, err
		}
	}
	return done, nil
}

func (t *Tool) rename(ctx context.Context, c Command) (Reply, error) {
	from, err := parsePath(c.OldPath)
	if err != nil {
		return Reply{}, err
	}
	to, err := parsePath(c.NewPath)
	if err != nil {
		return Reply{}, err
	}
	if from.root() {
		return Reply{}, replyf("Cannot rename the %s directory itself", rootDir)
	}
	d, isFile, err := t.file(ctx, from)
	if err != nil {
		return Reply{}, err
	}
	files := []tenet.Document{d}
	if !isFile {
		if files, err = t.under(ctx, from, maxFiles); err != nil {
			return Reply{}, err
		}
	}
	if len(files) == 0 {
		return Reply{}, replyf("%sThe path %s does not exist", t.errorPrefix(), c.OldPath)
	}
	taken := replyf("%sThe destination %s already exists", t.errorPrefix(), c.NewPath)
	if exists, err := t.exists(ctx, to); err != nil {
		return Reply{}, err
	} else if exists {
		return Reply{}, taken
	}
	if c.SHA256 != "" && (!isFile || c.SHA256 != d.SHA256) {
		return Reply{}, changed()
	}
	if strings.HasPrefix(to.document()+"/", from.document()+"/") {
		return Reply{}, replyf("The path %s cannot be moved into itself.", c.OldPath)
	}
	if err := t.noFileAbove(ctx, to); err != nil {
		return Reply{}, err
	}
	// All are copied before any is deleted: what fails half way has lost nothing.
	for _, f := range files {
		target := to.document() + strings.TrimPrefix(f.Path, from.document())
		_, err := t.Memory.PutDocument(ctx, t.by(), t.Scope, memory.DocumentPut{Path: target, Text: f.Text, IfSHA256: memory.NoContent})
		if tenet.KindOf(err) == tenet.Conflict {
			return Reply{}, taken
		}
		if err != nil {
			return Reply{}, err
		}
	}
	for _, f := range files {
		err = errors.Join(err, gone(t.Memory.DeleteDocument(ctx, t.by(), t.Scope, f.Path, f.SHA256)))
	}
	return Reply{Content: "Successfully renamed " + c.OldPath + " to " + c.NewPath, SHA256: d.SHA256}, err
}

// gone forgives a file that somebody else deleted meanwhile.
func gone(err error) error {
	if tenet.KindOf(err) == tenet.NotFound {
		return nil
	}
	return err
}
