package httpapi

import (
	"context"
	"net/http"

	"github.com/tenet-memory/tenet/memtool"
)

type memoryCommand struct {
	Dialect string `query:"dialect" enum:"docs,py,ts" doc:"whose wording the replies have; default docs"`
	Body    struct {
		Command    string  `json:"command" enum:"view,create,str_replace,insert,delete,rename"`
		Path       string  `json:"path,omitempty" maxLength:"4096"`
		ViewRange  []int   `json:"view_range,omitempty" maxItems:"2" doc:"first and last line; -1 is the end"`
		FileText   *string `json:"file_text,omitempty" maxLength:"102400"`
		OldStr     *string `json:"old_str,omitempty" maxLength:"102400"`
		NewStr     *string `json:"new_str,omitempty" maxLength:"102400"`
		InsertLine *int    `json:"insert_line,omitempty"`
		InsertText *string `json:"insert_text,omitempty" maxLength:"102400"`
		OldPath    string  `json:"old_path,omitempty" maxLength:"4096"`
		NewPath    string  `json:"new_path,omitempty" maxLength:"4096"`
		SHA256     string  `json:"content_sha256,omitempty" maxLength:"64" doc:"the digest that the file must have, or none; 409 otherwise"`
	}
}

// memoryToolRoutes are the memory tool's commands, which its clients send as
// the model wrote them. An error of the tool is an answer, not a problem.
func (a *API) memoryToolRoutes() {
	add(a, operation{id: "memoryTool", method: "POST", path: "/memory-tool", who: hotPath, also: []int{http.StatusConflict},
		summary: "A command of the memory tool memory_20250818; files are documents under memories/"},
		func(ctx context.Context, c call, r *memoryCommand) (memtool.Reply, error) {
			b := r.Body
			t := memtool.Tool{Memory: a.mem, By: c.by, Scope: c.scope, Dialect: memtool.Dialect(r.Dialect)}
			return t.Run(ctx, memtool.Command{Command: b.Command, Path: b.Path, ViewRange: b.ViewRange, FileText: b.FileText, OldStr: b.OldStr,
				NewStr: b.NewStr, InsertLine: b.InsertLine, InsertText: b.InsertText, OldPath: b.OldPath, NewPath: b.NewPath, SHA256: b.SHA256})
		})
}
