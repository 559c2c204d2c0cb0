package httpapi

import (
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

type exportAsked struct {
	All bool `query:"all" doc:"every subject of the tenant; for operators, under /v1/tenant"`
}

type importAsked struct {
	Body struct {
		Form string `json:"form" enum:"export,mem0,langgraph" doc:"what the file is: an export of Tenet's, mem0's get_all, or the items of a LangGraph store"`
		File string `json:"file" doc:"the file's text"`
		Why  string `json:"why,omitempty" maxLength:"500" doc:"kept with the audit entry; no memory text"`
	}
}

// importOut is what an import came to: restored and own are of exports, items and
// turned of dumps.
type importOut struct {
	Export *memory.Imported `json:"export,omitempty"`
	Dump   *memory.Dumped   `json:"dump,omitempty"`
}

// streamed is an answer that is written as it is made.
type streamed struct {
	media string
	write func(io.Writer) error
}

// maxImport bounds the body of an import.
const maxImport = 64 << 20

// portableRoutes take memory out and in.
func (a *API) portableRoutes() {
	add(a, operation{id: "export", method: "GET", path: "/export", who: erasers, wait: true, media: "application/jsonl", also: []int{http.StatusNotFound, http.StatusConflict},
		summary: "Everything that is kept, as signed JSON lines (docs/portability.md); a person for what is their own"},
		func(ctx context.Context, c call, r *exportAsked) (streamed, error) {
			return streamed{"application/jsonl", func(w io.Writer) error {
				_, err := a.mem.Export(ctx, c.by, c.scope, r.All, w)
				return err
			}}, nil
		})
	add(a, operation{id: "report", method: "GET", path: "/report", who: erasers, wait: true, media: "text/markdown; charset=utf-8", also: []int{http.StatusNotFound},
		summary: "Everything that is held, as Markdown for a person to read; a person for what is their own"},
		func(ctx context.Context, c call, _ *empty) (streamed, error) {
			return streamed{"text/markdown; charset=utf-8", func(w io.Writer) error { return a.mem.Report(ctx, c.by, c.scope, w) }}, nil
		})
	add(a, operation{id: "importMemory", method: "POST", path: "/import", who: writeSide, wait: true, body: maxImport, also: []int{http.StatusConflict},
		summary: "Bring an export back, or another memory's dump in, for this subject"},
		func(ctx context.Context, c call, r *importAsked) (importOut, error) {
			if r.Body.Form != "export" {
				d, err := a.mem.ImportDump(ctx, c.by, c.scope, memory.DumpForm(r.Body.Form), []byte(r.Body.File))
				return importOut{Dump: &d}, err
			}
			by := c.by
			if c.scope.Subject().Kind() != tenet.SubjectTenant { // under /v1/tenant an operator brings any subject back
				by = by.For(c.scope.Subject())
			}
			i, err := a.mem.Import(ctx, by, strings.NewReader(r.Body.File), r.Body.Why)
			return importOut{Export: &i}, err
		})
}

// stream sends an answer as it is made. An error before anything was sent is a
// problem like any other; later the connection is cut, so that nobody takes a
// part for the whole.
func stream(w http.ResponseWriter, s streamed) error {
	out := &lateHeader{w: w, media: s.media}
	err := s.write(out)
	if err != nil && out.begun {
		panic(http.ErrAbortHandler)
	}
	return err
}

// lateHeader sends the status with the first byte.
type lateHeader struct {
	w     http.ResponseWriter
	media string
	begun bool
}

func (l *lateHeader) Write(b []byte) (int, error) {
	if !l.begun {
		l.begun = true
		l.w.Header().Set("Content-Type", l.media)
		l.w.WriteHeader(http.StatusOK)
	}
	return l.w.Write(b)
}
