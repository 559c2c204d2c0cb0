package httpapi

import (
	"context"
	"net/http"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// documentOut is a document as it is answered, its ETag the digest of its text.
type documentOut struct{ tenet.Document }

func (d documentOut) header(h http.Header) { h.Set("ETag", quoteTag(d.SHA256)) }

type documentPath struct {
	Path   string `path:"path" minLength:"1" maxLength:"512" doc:"slashes percent-encoded"`
	IfNone string `header:"If-None-Match" doc:"answer 304 when nothing changed"`
}

type documentPut struct {
	Path        string `path:"path" minLength:"1" maxLength:"512" doc:"slashes percent-encoded"`
	IfMatch     string `header:"If-Match" maxLength:"300" doc:"the SHA-256 of the text this replaces"`
	IfNoneMatch string `header:"If-None-Match" maxLength:"300" doc:"* for a new document"`
	Body        struct {
		Text  string   `json:"text" maxLength:"102400" doc:"at most 100 KiB, kept byte for byte"`
		Cites []string `json:"cites,omitempty" maxItems:"64"`
	}
}

type documentDropped struct {
	Path    string `path:"path" minLength:"1" maxLength:"512" doc:"slashes percent-encoded"`
	IfMatch string `header:"If-Match" maxLength:"300" doc:"the SHA-256 of the text this deletes"`
}

type documentsAsked struct {
	Prefix string `query:"prefix" maxLength:"512"`
	Cursor string `query:"cursor" maxLength:"2048"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" doc:"default 50"`
}

type documentsSearched struct {
	Body struct {
		Prefix string `json:"prefix,omitempty" maxLength:"512"`
		Query  string `json:"query" minLength:"1" maxLength:"65536"`
		K      int    `json:"k,omitempty" minimum:"0" maximum:"200" doc:"default 10"`
	}
}

func (a *API) documentRoutes() {
	writes := []int{http.StatusConflict, http.StatusUnprocessableEntity, http.StatusPreconditionFailed}
	add(a, operation{id: "documents", method: "GET", path: "/documents", who: hotPath, summary: "Documents by path"},
		func(ctx context.Context, c call, r *documentsAsked) (page[tenet.Document], error) {
			return list(a, "documents "+r.Prefix, c, paging{r.Cursor, r.Limit}, func(after string, limit int) ([]tenet.Document, error) {
				return a.mem.Documents(ctx, c.by, c.scope, r.Prefix, after, limit)
			}, func(d tenet.Document) string { return d.Path })
		})
	add(a, operation{id: "searchDocuments", method: "POST", path: "/documents-search", who: hotPath, summary: "Documents under a prefix by meaning, best first"},
		func(ctx context.Context, c call, r *documentsSearched) (memory.DocumentHits, error) {
			orElse(&r.Body.K, 10)
			return a.mem.SearchDocuments(ctx, c.by, c.scope, r.Body.Prefix, r.Body.Query, r.Body.K)
		})
	add(a, operation{id: "document", method: "GET", path: "/documents/{path}", who: hotPath, also: []int{http.StatusNotFound, http.StatusNotModified},
		summary: "A document's text, byte for byte"},
		func(ctx context.Context, c call, r *documentPath) (documentOut, error) {
			d, err := a.mem.Document(ctx, c.by, c.scope, r.Path)
			return documentOut{d}, err
		})
	add(a, operation{id: "putDocument", method: "PUT", path: "/documents/{path}", who: hotPath, once: onceAccepted, also: writes,
		summary: "File a version of a document"},
		func(ctx context.Context, c call, r *documentPut) (documentOut, error) {
			hash, err := condition{r.IfMatch, r.IfNoneMatch}.version(memory.NoContent)
			if err != nil {
				return documentOut{}, err
			}
			p := memory.DocumentPut{Path: r.Path, Text: r.Body.Text, IfSHA256: hash}
			for _, m := range r.Body.Cites {
				p.Cites = append(p.Cites, tenet.MessageID(m))
			}
			d, err := a.mem.PutDocument(ctx, c.by, c.scope, p)
			return documentOut{d}, err
		})
	add(a, operation{id: "deleteDocument", method: "DELETE", path: "/documents/{path}", who: hotPath, once: onceAccepted, status: http.StatusNoContent,
		also: append(writes, http.StatusNotFound), summary: "Delete a document; its versions stay in history"},
		func(ctx context.Context, c call, r *documentDropped) (empty, error) {
			hash, err := condition{match: r.IfMatch}.version("")
			if err != nil {
				return empty{}, err
			}
			return empty{}, a.mem.DeleteDocument(ctx, c.by, c.scope, r.Path, hash)
		})
	add(a, operation{id: "documentHistory", method: "GET", path: "/document-history/{path}", who: hotPath,
		summary: "Every version that was ever at a path, oldest first"},
		func(ctx context.Context, c call, r *documentPath) (records, error) {
			rs, err := a.mem.DocumentHistory(ctx, c.by, c.scope, r.Path)
			return records{rs}, err
		})
}
