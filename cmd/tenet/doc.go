package main

import (
	"io"
	"strconv"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

type docCmd struct {
	Put     docPutCmd     `cmd:"" help:"File a version of a document."`
	Get     docGetCmd     `cmd:"" help:"Print a document, byte for byte."`
	List    docListCmd    `cmd:"" help:"List documents by path."`
	History docHistoryCmd `cmd:"" help:"Show every version that was ever at a path."`
	Delete  docDeleteCmd  `cmd:"" help:"Delete a document; its versions stay in history."`
}

// shelf is where the documents are, whose they are, and who asks.
func (a *app) shelf(may access) (backend, tenet.Scope, tenet.Principal, error) {
	scope, err := a.scope()
	if err != nil {
		return nil, scope, tenet.Principal{}, err
	}
	by, err := a.principal(tenet.Agent)
	if err != nil {
		return nil, scope, by, err
	}
	m, err := a.engine(may)
	return m, scope, by, err
}

type docPutCmd struct {
	Path     string   `arg:"" help:"Its path: a/b.md, without a leading slash."`
	Text     string   `arg:"" help:"Its text; - reads standard input, byte for byte."`
	Cite     []string `sep:"none" help:"Messages it was made from." placeholder:"MESSAGE"`
	IfSHA256 string   `name:"if-sha256" help:"Only if this is the content's digest now, or none." placeholder:"DIGEST"`
}

func (c docPutCmd) Run(a *app) error {
	text := c.Text
	if text == "-" {
		b, err := a.input(1 << 20)
		if err != nil {
			return err
		}
		text = string(b)
	}
	m, scope, by, err := a.shelf(writes)
	if err != nil {
		return err
	}
	p := memory.DocumentPut{Path: c.Path, Text: text, IfSHA256: c.IfSHA256}
	for _, id := range c.Cite {
		p.Cites = append(p.Cites, tenet.MessageID(id))
	}
	d, err := m.PutDocument(a.ctx, by, scope, p)
	if err != nil {
		return err
	}
	return a.print(d, func() {
		a.printf("filed %s [%s]\n  version %s\n  sha256  %s\n", printable(d.Path), d.Label, d.Version, d.SHA256)
	})
}

type docGetCmd struct {
	Path string `arg:"" help:"Its path."`
}

func (c docGetCmd) Run(a *app) error {
	m, scope, by, err := a.shelf(reads)
	if err != nil {
		return err
	}
	d, err := m.Document(a.ctx, by, scope, c.Path)
	if err != nil {
		return err
	}
	return a.print(d, func() { io.WriteString(a.out, d.Text) })
}

type docListCmd struct {
	Prefix string `arg:"" optional:"" help:"Only paths that begin so."`
	After  string `help:"Paths after this one." placeholder:"PATH"`
	Limit  int    `help:"At most this many." default:"200"`
}

func (c docListCmd) Run(a *app) error {
	m, scope, by, err := a.shelf(reads)
	if err != nil {
		return err
	}
	ds, err := m.Documents(a.ctx, by, scope, c.Prefix, c.After, c.Limit)
	if err != nil {
		return err
	}
	return a.print(map[string]any{"documents": orEmpty(ds)}, func() {
		var rows [][]string
		for _, d := range ds {
			rows = append(rows, []string{d.Path, strconv.Itoa(len(d.Text)), d.Label.String(), stamp(d.Valid.From)})
		}
		a.table("PATH|BYTES|LABEL|SINCE", rows)
	})
}

type docHistoryCmd struct {
	Path string `arg:"" help:"Its path."`
}

func (c docHistoryCmd) Run(a *app) error {
	m, scope, by, err := a.shelf(reads)
	if err != nil {
		return err
	}
	rs, err := m.DocumentHistory(a.ctx, by, scope, c.Path)
	if err != nil {
		return err
	}
	return a.print(map[string]any{"records": orEmpty(rs)}, func() {
		var rows [][]string
		for _, r := range rs {
			rows = append(rows, []string{string(r.ID), span(r.Valid), span(r.Known), strconv.Itoa(len(r.Text)), dash(string(r.Closed))})
		}
		a.table("VERSION|VALID|KNOWN|BYTES|CLOSED", rows)
	})
}

type docDeleteCmd struct {
	Path     string `arg:"" help:"Its path."`
	IfSHA256 string `name:"if-sha256" help:"Only if this is the content's digest now." placeholder:"DIGEST"`
}

func (c docDeleteCmd) Run(a *app) error {
	m, scope, by, err := a.shelf(reads)
	if err != nil {
		return err
	}
	if err := m.DeleteDocument(a.ctx, by, scope, c.Path, c.IfSHA256); err != nil {
		return err
	}
	return a.print(map[string]string{"deleted": c.Path}, func() { a.printf("deleted %s\n", printable(c.Path)) })
}
