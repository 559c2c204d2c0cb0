package main

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// threadCmd looks at frameworks' own state: opaque versions, byte for byte.
type threadCmd struct {
	List     threadListCmd     `cmd:"" help:"List threads by name."`
	Versions threadVersionsCmd `cmd:"" help:"List a thread's versions, newest first."`
	Get      threadGetCmd      `cmd:"" help:"Print a version's bytes as they are."`
	Put      threadPutCmd      `cmd:"" help:"Keep a version."`
	Delete   threadDeleteCmd   `cmd:"" help:"Remove a thread with all its versions."`
}

// shelf keeps a scope's threads: the engine's handle, or a server.
type shelf interface {
	Names(ctx context.Context, prefix, after string, limit int) ([]tenet.Thread, error)
	List(ctx context.Context, thread, after string, limit int) ([]tenet.Blob, error)
	Get(ctx context.Context, thread, id string) (tenet.Blob, error)
	Put(ctx context.Context, b tenet.Blob, keep time.Duration, strict bool) (tenet.Blob, error)
	Drop(ctx context.Context, thread string) (int, error)
}

var _ shelf = (*memory.Threads)(nil)

func (a *app) threads(may access) (shelf, error) {
	scope, by, err := a.acting(tenet.App)
	if err != nil {
		return nil, err
	}
	if a.set.values["server"] != "" {
		r, err := a.remote()
		return remoteShelf{r, scope}, err
	}
	m, err := a.memory(may)
	if err != nil {
		return nil, err
	}
	return m.Threads(by, scope)
}

type threadListCmd struct {
	Prefix string `arg:"" optional:"" help:"Only names that begin with it."`
	After  string `help:"Only names after this one." placeholder:"THREAD"`
	Limit  int    `help:"At most this many." default:"100"`
}

func (c threadListCmd) Run(a *app) error {
	t, err := a.threads(reads)
	if err != nil {
		return err
	}
	ts, err := t.Names(a.ctx, c.Prefix, c.After, c.Limit)
	if err != nil {
		return err
	}
	return a.print(map[string]any{"threads": orEmpty(ts)}, func() {
		var rows [][]string
		for _, t := range ts {
			rows = append(rows, []string{t.Name, stamp(t.NewestAt)})
		}
		a.table("THREAD|NEWEST", rows)
	})
}

type threadVersionsCmd struct {
	Thread string `arg:"" help:"The thread's name."`
	After  string `help:"Only versions after this one, which are older." placeholder:"VERSION"`
	Limit  int    `help:"At most this many." default:"20"`
}

func (c threadVersionsCmd) Run(a *app) error {
	t, err := a.threads(reads)
	if err != nil {
		return err
	}
	bs, err := t.List(a.ctx, c.Thread, c.After, c.Limit)
	if err != nil {
		return err
	}
	return a.print(map[string]any{"versions": orEmpty(bs)}, func() {
		var rows [][]string
		for _, b := range bs {
			rows = append(rows, []string{b.ID, dash(b.Parent), stamp(b.CreatedAt), stamp(b.ExpiresAt), strconv.Itoa(len(b.Data))})
		}
		a.table("VERSION|PARENT|KEPT|UNTIL|BYTES", rows)
	})
}

type threadGetCmd struct {
	Thread  string `arg:"" help:"The thread's name."`
	Version string `arg:"" optional:"" help:"The version (default: the newest)."`
}

func (c threadGetCmd) Run(a *app) error {
	t, err := a.threads(reads)
	if err != nil {
		return err
	}
	b, err := t.Get(a.ctx, c.Thread, c.Version)
	if err != nil {
		return err
	}
	return a.print(b, func() { a.out.Write(b.Data) })
}

type threadPutCmd struct {
	Thread  string        `arg:"" help:"The thread's name."`
	Version string        `arg:"" help:"The version's id."`
	Data    string        `arg:"" help:"What to keep; - reads standard input."`
	Parent  string        `help:"The version that it follows." placeholder:"VERSION"`
	Strict  bool          `help:"A conflict unless the parent is the newest version."`
	Keep    time.Duration `help:"How long it is kept (default for ever)." placeholder:"DURATION"`
}

func (c threadPutCmd) Run(a *app) error {
	data := []byte(c.Data)
	if c.Data == "-" { // byte for byte, its last newline too
		var err error
		if data, err = a.input(memory.MaxBlob); err != nil {
			return err
		}
	}
	t, err := a.threads(writes)
	if err != nil {
		return err
	}
	b, err := t.Put(a.ctx, tenet.Blob{Thread: c.Thread, ID: c.Version, Parent: c.Parent, Data: data}, c.Keep, c.Strict)
	if err != nil {
		return err
	}
	return a.print(b, func() {
		a.printf("kept version %s of %s, %d bytes\n", printable(b.ID), printable(b.Thread), len(b.Data))
	})
}

type threadDeleteCmd struct {
	Thread string `arg:"" help:"The thread's name."`
}

func (c threadDeleteCmd) Run(a *app) error {
	t, err := a.threads(reads)
	if err != nil {
		return err
	}
	n, err := t.Drop(a.ctx, c.Thread)
	if err != nil {
		return err
	}
	return a.print(map[string]int{"dropped": n}, func() { a.printf("removed %d versions of %s\n", n, printable(c.Thread)) })
}

// remoteShelf is the same at a server.
type remoteShelf struct {
	r     *remote
	scope tenet.Scope
}

func (s remoteShelf) Names(ctx context.Context, prefix, after string, limit int) ([]tenet.Thread, error) {
	return pages(ctx, s.r, scoped(s.scope, "threads"), url.Values{"prefix": {prefix}}, func(t tenet.Thread) bool { return t.Name > after }, limit)
}

func (s remoteShelf) List(ctx context.Context, thread, after string, limit int) ([]tenet.Blob, error) {
	seen := after == ""
	return pages(ctx, s.r, scoped(s.scope, "threads", thread, "versions"), url.Values{}, func(b tenet.Blob) bool {
		was := seen
		seen = seen || b.ID == after
		return was
	}, limit)
}

func (s remoteShelf) Get(ctx context.Context, thread, id string) (tenet.Blob, error) {
	path := scoped(s.scope, "threads", thread)
	if id != "" {
		path = scoped(s.scope, "threads", thread, "versions", id)
	}
	var out tenet.Blob
	_, err := s.r.call(ctx, request{method: http.MethodGet, path: path}, &out)
	return out, err
}

func (s remoteShelf) Put(ctx context.Context, b tenet.Blob, keep time.Duration, strict bool) (tenet.Blob, error) {
	body := map[string]any{"data": b.Data, "strict": strict, "keep_seconds": keep.Seconds()}
	if b.Parent != "" {
		body["parent"] = b.Parent
	}
	var out tenet.Blob
	_, err := s.r.call(ctx, request{method: http.MethodPut, path: scoped(s.scope, "threads", b.Thread, "versions", b.ID), body: body, once: newKey}, &out)
	return out, err
}

func (s remoteShelf) Drop(ctx context.Context, thread string) (int, error) {
	var out struct {
		Dropped int `json:"dropped"`
	}
	_, err := s.r.call(ctx, request{method: http.MethodDelete, path: scoped(s.scope, "threads", thread)}, &out)
	return out.Dropped, err
}
