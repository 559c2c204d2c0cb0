package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"path/filepath"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

type exportCmd struct {
	File string `arg:"" optional:"" help:"Where to write it; without one, or with -, to standard output."`
	All  bool   `help:"Every subject of the tenant, not one."`
}

func (c exportCmd) Run(a *app) error {
	scope, err := a.scope()
	if c.All {
		if a.set.subject != nil {
			return tenet.Errorf(tenet.Invalid, "usage", "--all is every subject: name none")
		}
		scope, err = tenet.NewScope(a.set.tenant, tenet.WholeTenant())
	}
	if err != nil {
		return err
	}
	by, m, err := a.answering()
	if err != nil {
		return err
	}
	var out memory.Exported
	if err := a.written(c.File, func(w io.Writer) (err error) {
		out, err = m.Export(a.ctx, by, scope, c.All, w)
		return err
	}); err != nil {
		return err
	}
	if c.File == "" || c.File == "-" {
		return nil
	}
	return a.print(out, func() {
		a.printf("%d subjects, %d entries with %d records, %d sessions with %d messages, in %d lines\n", out.Parts, out.Entries, out.Records, out.Sessions, out.Messages, out.Lines)
	})
}

type reportCmd struct {
	File string `arg:"" optional:"" help:"Where to write it; without one, or with -, to standard output."`
}

func (c reportCmd) Run(a *app) error {
	scope, err := a.scope()
	if err != nil {
		return err
	}
	by, m, err := a.answering()
	if err != nil {
		return err
	}
	return a.written(c.File, func(w io.Writer) error { return m.Report(a.ctx, by, scope, w) })
}

// written gives f a place to write to. A file appears whole or not at all, and
// is its owner's alone.
func (a *app) written(name string, f func(io.Writer) error) error {
	if name == "" || name == "-" {
		return f(a.out)
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), ".tenet-*")
	if err != nil {
		return tenet.Errorf(tenet.Unavailable, "write", "%s: %s", name, osReason(err))
	}
	defer os.Remove(tmp.Name()) // nothing once it is renamed
	if err := f(tmp); err != nil {
		tmp.Close()
		return err
	}
	err = tmp.Sync()
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), name)
	}
	if err != nil {
		return tenet.Errorf(tenet.Unavailable, "write", "%s: %s", name, osReason(err))
	}
	return nil
}

// formExport is the form of Tenet's own exports; memory.DumpForm has those of
// other memories.
const formExport = "export"

// formOf looks at the beginning of a file, and goes back to it.
func formOf(f io.ReadSeeker) (string, error) {
	head, err := bufio.NewReader(io.LimitReader(f, int64(len(exportHead)))).Peek(len(exportHead))
	if err != nil && err != io.EOF {
		return "", tenet.Errorf(tenet.Unavailable, "import", "the file cannot be read")
	}
	form := ""
	if bytes.Equal(head, []byte(exportHead)) {
		form = formExport
	} else if _, err = f.Seek(0, io.SeekStart); err == nil {
		form = string(memory.DumpOf(f))
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", tenet.Errorf(tenet.Unavailable, "import", "the file cannot be read twice")
	}
	return form, nil
}

// formsOf is the form of files that are no conversations; empty: they are. Files
// of two forms are not imported at once: each asks for another principal.
func formsOf(files []input) (string, error) {
	form := ""
	for n, f := range files {
		one, err := formOf(f)
		if err != nil {
			return "", err
		}
		if n > 0 && one != form {
			return "", tenet.Errorf(tenet.Invalid, "usage", "%s is of another form than %s: import them one by one", f.name, files[0].name)
		}
		form = one
	}
	return form, nil
}

// exportHead is how every export begins.
const exportHead = `{"line":"header","form":"tenet export `

// portable imports an export, or a dump of another memory.
func (c importCmd) portable(a *app, files []input) error {
	def := tenet.App
	if c.Format == formExport {
		def = tenet.Operator
	}
	by, err := a.principal(def)
	if err != nil {
		return err
	}
	var scope tenet.Scope
	if a.set.subject != nil {
		by = by.For(*a.set.subject)
		if scope, err = a.scope(); err != nil {
			return err
		}
	}
	m, err := a.engine(writes)
	if err != nil {
		return err
	}
	for _, f := range files {
		if c.Format == formExport {
			err = c.export(a, m, by, scope, f)
		} else {
			err = c.dump(a, m, by, scope, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c importCmd) export(a *app, m backend, by tenet.Principal, scope tenet.Scope, f input) error {
	out, err := m.Import(a.ctx, by, scope, f, c.Why)
	if err != nil {
		return err
	}
	return a.print(out, func() {
		if out.Own {
			a.printf("%s: signed by this deployment: ", printable(f.name))
		} else {
			a.printf("%s: from elsewhere, judged anew: ", printable(f.name))
		}
		a.printf("%d subjects, %d entries restored, %d records kept, %d sessions back, %d there already\n", out.Parts, out.Restored, out.Kept, out.Sessions, out.There)
		if out.Merged > 0 {
			a.printf("%d subjects have a past of their own: what the file holds was judged anew beside it\n", out.Merged)
		}
		a.refused(out.Refused)
	})
}

func (c importCmd) dump(a *app, m backend, by tenet.Principal, scope tenet.Scope, f input) error {
	data, err := io.ReadAll(io.LimitReader(f, maxInput+1))
	switch {
	case err != nil:
		return tenet.Errorf(tenet.Unavailable, "import", "%s cannot be read", f.name)
	case len(data) > maxInput:
		return tenet.Errorf(tenet.Invalid, "import", "%s is over %d MiB", f.name, maxInput>>20)
	}
	out, err := m.ImportDump(a.ctx, by, scope, memory.DumpForm(c.Format), data)
	if err != nil {
		return err
	}
	return a.print(out, func() {
		for _, t := range out.Turned {
			a.printf("not kept: %s: %s\n", printable(t.Item), t.Codes)
		}
		a.printf("%s: %d items, %d kept\n", printable(f.name), out.Items, out.Kept)
		a.refused(out.Refused)
	})
}
