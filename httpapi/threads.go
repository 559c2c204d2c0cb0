package httpapi

import (
	"context"
	"net/http"

	"github.com/tenet-memory/tenet"
)

type blobPut struct {
	Thread string `path:"thread" minLength:"1" maxLength:"256"`
	ID     string `path:"version" minLength:"1" maxLength:"256"`
	Body   struct {
		Parent string  `json:"parent,omitempty" maxLength:"256"`
		Data   []byte  `json:"data" doc:"at most 1 MiB, base64; read back byte for byte"`
		Meta   []byte  `json:"meta,omitempty" doc:"at most 256 KiB, base64"`
		Keep   float64 `json:"keep_seconds,omitempty" minimum:"0" maximum:"3153600000" doc:"default: the server's"`
		Strict bool    `json:"strict,omitempty" doc:"409 unless the parent is the newest version"`
	}
}

type blobAt struct {
	Thread string `path:"thread" minLength:"1" maxLength:"256"`
	ID     string `path:"version" minLength:"1" maxLength:"256"`
}

type threadOnly struct {
	Thread string `path:"thread" minLength:"1" maxLength:"256"`
}

type blobsAsked struct {
	Thread string `path:"thread" minLength:"1" maxLength:"256"`
	Cursor string `query:"cursor" maxLength:"2048"`
	Limit  int    `query:"limit" minimum:"1" maximum:"100" doc:"default 50"`
}

type dropped struct {
	Dropped int `json:"dropped"`
}

func (a *API) threadRoutes() {
	missing := []int{http.StatusNotFound}
	add(a, operation{id: "putThreadVersion", method: "PUT", path: "/threads/{thread}/versions/{version}", who: hotPath, once: onceAccepted, also: []int{http.StatusConflict},
		summary: "Keep a version of a framework's own state"},
		func(ctx context.Context, c call, r *blobPut) (tenet.Blob, error) {
			t, err := a.mem.Threads(c.by, c.scope)
			if err != nil {
				return tenet.Blob{}, err
			}
			b := r.Body
			return t.Put(ctx, tenet.Blob{Thread: r.Thread, ID: r.ID, Parent: b.Parent, Data: b.Data, Meta: b.Meta}, seconds(b.Keep), b.Strict)
		})
	add(a, operation{id: "threadVersion", method: "GET", path: "/threads/{thread}/versions/{version}", who: hotPath, also: missing, summary: "One version, byte for byte"},
		func(ctx context.Context, c call, r *blobAt) (tenet.Blob, error) {
			t, err := a.mem.Threads(c.by, c.scope)
			if err != nil {
				return tenet.Blob{}, err
			}
			return t.Get(ctx, r.Thread, r.ID)
		})
	add(a, operation{id: "threadHead", method: "GET", path: "/threads/{thread}", who: hotPath, also: missing, summary: "The newest version"},
		func(ctx context.Context, c call, r *threadOnly) (tenet.Blob, error) {
			t, err := a.mem.Threads(c.by, c.scope)
			if err != nil {
				return tenet.Blob{}, err
			}
			return t.Get(ctx, r.Thread, "")
		})
	add(a, operation{id: "threadVersions", method: "GET", path: "/threads/{thread}/versions", who: hotPath, summary: "Versions, newest first"},
		func(ctx context.Context, c call, r *blobsAsked) (page[tenet.Blob], error) {
			t, err := a.mem.Threads(c.by, c.scope)
			if err != nil {
				return page[tenet.Blob]{}, err
			}
			return list(a, "threads "+r.Thread, c, paging{r.Cursor, r.Limit}, func(after string, limit int) ([]tenet.Blob, error) {
				return t.List(ctx, r.Thread, after, limit)
			}, func(b tenet.Blob) string { return b.ID })
		})
	add(a, operation{id: "dropThread", method: "DELETE", path: "/threads/{thread}", who: hotPath, summary: "Remove a thread with all its versions"},
		func(ctx context.Context, c call, r *threadOnly) (dropped, error) {
			t, err := a.mem.Threads(c.by, c.scope)
			if err != nil {
				return dropped{}, err
			}
			n, err := t.Drop(ctx, r.Thread)
			return dropped{n}, err
		})
}
