package httpapi

import (
	"context"
	"net/http"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
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

type versionsPut struct {
	Thread string `path:"thread" minLength:"1" maxLength:"256"`
	Body   struct {
		Versions []versionIn `json:"versions" minItems:"1" maxItems:"500" nullable:"false"`
		Keep     float64     `json:"keep_seconds,omitempty" minimum:"0" maximum:"3153600000" doc:"default: the server's"`
	}
}

type versionIn struct {
	ID      string `json:"id" minLength:"1" maxLength:"256"`
	Parent  string `json:"parent,omitempty" maxLength:"256"`
	Data    []byte `json:"data" doc:"at most 1 MiB, base64; read back byte for byte"`
	Meta    []byte `json:"meta,omitempty" doc:"at most 256 KiB, base64"`
	Replace bool   `json:"replace,omitempty" doc:"take the place of a version of this id; without it the first stays"`
}

type versionsFound struct {
	Thread string `path:"thread" minLength:"1" maxLength:"256"`
	Body   struct {
		Prefix string   `json:"prefix,omitempty" maxLength:"256" doc:"versions whose id begins with it"`
		Below  string   `json:"below,omitempty" maxLength:"256" doc:"only ids below this one"`
		Limit  int      `json:"limit,omitempty" minimum:"0" maximum:"500" doc:"default 100"`
		IDs    []string `json:"ids,omitempty" maxItems:"500" doc:"these versions, in no order, instead of a prefix"`
	}
}

type versionsRemoved struct {
	Thread string `path:"thread" minLength:"1" maxLength:"256"`
	Body   struct {
		IDs []string `json:"ids" minItems:"1" maxItems:"500" nullable:"false"`
	}
}

type threadsAsked struct {
	Prefix string `query:"prefix" maxLength:"256"`
	Cursor string `query:"cursor" maxLength:"2048"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" doc:"default 50"`
}

type versions struct {
	Versions []tenet.Blob `json:"versions"`
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
			return list(a, "versions "+r.Thread, c, paging{r.Cursor, r.Limit}, func(after string, limit int) ([]tenet.Blob, error) {
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
	a.shelfRoutes()
}

// shelfRoutes are for frameworks that keep many small versions at once.
func (a *API) shelfRoutes() {
	add(a, operation{id: "threads", method: "GET", path: "/threads", who: hotPath, summary: "Threads by name, with when the newest version was kept"},
		func(ctx context.Context, c call, r *threadsAsked) (page[tenet.Thread], error) {
			t, err := a.mem.Threads(c.by, c.scope)
			if err != nil {
				return page[tenet.Thread]{}, err
			}
			return list(a, "threads "+r.Prefix, c, paging{r.Cursor, r.Limit}, func(after string, limit int) ([]tenet.Thread, error) {
				return t.Names(ctx, r.Prefix, after, limit)
			}, func(t tenet.Thread) string { return t.Name })
		})
	add(a, operation{id: "putThreadVersions", method: "POST", path: "/threads/{thread}/versions", who: hotPath, once: onceAccepted, status: http.StatusNoContent,
		summary: "Keep several versions, all or none; of an id that is there already the first stays"},
		func(ctx context.Context, c call, r *versionsPut) (empty, error) {
			t, err := a.mem.Threads(c.by, c.scope)
			if err != nil {
				return empty{}, err
			}
			ks := make([]memory.Kept, len(r.Body.Versions))
			for i, v := range r.Body.Versions {
				ks[i] = memory.Kept{Blob: tenet.Blob{ID: v.ID, Parent: v.Parent, Data: v.Data, Meta: v.Meta}, Replace: v.Replace}
			}
			return empty{}, t.PutAll(ctx, r.Thread, ks, seconds(r.Body.Keep))
		})
	add(a, operation{id: "findThreadVersions", method: "POST", path: "/threads/{thread}/find", who: hotPath,
		summary: "Versions by id: those with a prefix, highest id first, or those named"},
		func(ctx context.Context, c call, r *versionsFound) (versions, error) {
			t, err := a.mem.Threads(c.by, c.scope)
			if err != nil {
				return versions{}, err
			}
			var bs []tenet.Blob
			if len(r.Body.IDs) > 0 {
				bs, err = t.Named(ctx, r.Thread, r.Body.IDs)
			} else {
				orElse(&r.Body.Limit, 100)
				bs, err = t.Find(ctx, r.Thread, r.Body.Prefix, r.Body.Below, r.Body.Limit)
			}
			return versions{bs}, err
		})
	add(a, operation{id: "removeThreadVersions", method: "POST", path: "/threads/{thread}/remove", who: hotPath,
		summary: "Remove the named versions"},
		func(ctx context.Context, c call, r *versionsRemoved) (dropped, error) {
			t, err := a.mem.Threads(c.by, c.scope)
			if err != nil {
				return dropped{}, err
			}
			n, err := t.Remove(ctx, r.Thread, r.Body.IDs)
			return dropped{n}, err
		})
}
