package main

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

func (r *remote) Export(ctx context.Context, _ tenet.Principal, scope tenet.Scope, all bool, w io.Writer) (memory.Exported, error) {
	q := url.Values{}
	if all {
		q.Set("all", "true")
	}
	lines, err := r.stream(ctx, scoped(scope, "export"), q, w)
	return memory.Exported{Lines: lines}, err
}

func (r *remote) Report(ctx context.Context, _ tenet.Principal, scope tenet.Scope, w io.Writer) error {
	_, err := r.stream(ctx, scoped(scope, "report"), nil, w)
	return err
}

// importedForm is the most that a server takes at once.
const importedForm = 64 << 20

func (r *remote) Import(ctx context.Context, by tenet.Principal, scope tenet.Scope, f io.ReadSeeker, why string) (memory.Imported, error) {
	text, err := io.ReadAll(io.LimitReader(f, importedForm+1))
	switch {
	case err != nil:
		return memory.Imported{}, tenet.Errorf(tenet.Unavailable, "import", "the file cannot be read")
	case len(text) > importedForm:
		return memory.Imported{}, tenet.Errorf(tenet.Invalid, "import", "a server takes files of up to %d MiB; import it where the database is", importedForm>>20)
	}
	out, err := r.bring(ctx, by, scope, formExport, text, why)
	if err != nil || out.Export == nil {
		return memory.Imported{}, err
	}
	return *out.Export, nil
}

func (r *remote) ImportDump(ctx context.Context, by tenet.Principal, scope tenet.Scope, form memory.DumpForm, data []byte) (memory.Dumped, error) {
	out, err := r.bring(ctx, by, scope, string(form), data, "")
	if err != nil || out.Dump == nil {
		return memory.Dumped{}, err
	}
	return *out.Dump, nil
}

type brought struct {
	Export *memory.Imported `json:"export"`
	Dump   *memory.Dumped   `json:"dump"`
}

func (r *remote) bring(ctx context.Context, by tenet.Principal, scope tenet.Scope, form string, data []byte, why string) (out brought, err error) {
	if scope.IsZero() {
		if scope, err = tenet.NewScope(by.Tenant(), tenet.WholeTenant()); err != nil {
			return out, err
		}
	}
	_, err = r.call(ctx, request{method: "POST", path: scoped(scope, "import"), body: map[string]any{"form": form, "file": string(data), "why": why}}, &out)
	return out, err
}

// stream copies an answer as it comes, and counts its lines. One that breaks off
// is an error: a part is not taken for the whole.
func (r *remote) stream(ctx context.Context, path string, q url.Values, w io.Writer) (lines int, err error) {
	target := r.base + path
	if len(q) > 0 {
		target += "?" + q.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return 0, tenet.Errorf(tenet.Invalid, "server", "the request cannot be made")
	}
	req.Header.Set("Authorization", "Bearer "+r.key)
	resp, err := r.http.Do(req)
	if err != nil {
		return 0, tenet.Errorf(tenet.Unavailable, "server", "the server does not answer")
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		data, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		return 0, problem(resp.StatusCode, data, nil)
	}
	buf := make([]byte, 64<<10)
	for {
		n, err := resp.Body.Read(buf)
		for _, b := range buf[:n] {
			if b == '\n' {
				lines++
			}
		}
		if _, werr := w.Write(buf[:n]); werr != nil {
			return lines, tenet.Errorf(tenet.Unavailable, "write", "the file cannot be written")
		}
		if err == io.EOF {
			return lines, nil
		}
		if err != nil {
			return lines, tenet.Errorf(tenet.Unavailable, "server", "the answer broke off: something changed, or the connection was lost; ask again")
		}
	}
}
