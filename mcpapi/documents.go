package mcpapi

import (
	"context"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

type documentOut struct {
	Notice  string     `json:"notice"`
	Path    string     `json:"path"`
	Text    string     `json:"text"`
	Label   string     `json:"label"`
	SHA256  string     `json:"sha256" jsonschema:"of the text; name it to replace or delete exactly this version"`
	Version string     `json:"version"`
	Filed   *time.Time `json:"filed,omitempty"`
}

type documentEntry struct {
	Path    string     `json:"path"`
	Bytes   int        `json:"bytes"`
	Label   string     `json:"label"`
	SHA256  string     `json:"sha256"`
	Version string     `json:"version"`
	Filed   *time.Time `json:"filed,omitempty"`
	Ended   *time.Time `json:"ended,omitempty"`
}

func entry(d tenet.Document) documentEntry {
	return documentEntry{d.Path, len(d.Text), d.Label.String(), d.SHA256, string(d.Version), moment(d.Valid.From), moment(d.Valid.To)}
}

type documentPut struct {
	keyed
	Path   string   `json:"path" jsonschema:"such as notes/trip.md; parts are separated by slashes, none is empty, . or .."`
	Text   string   `json:"text" jsonschema:"at most 100 KiB, kept byte for byte"`
	Cites  []string `json:"cites,omitempty" jsonschema:"ids of messages it was made from"`
	SHA256 string   `json:"sha256,omitempty" jsonschema:"the digest of the text this replaces, or none for a new document; else the call fails"`
}

type documentPath struct {
	inSession
	Path string `json:"path"`
}

type documentDelete struct {
	keyed
	Path   string `json:"path"`
	SHA256 string `json:"sha256,omitempty" jsonschema:"the digest of the text this deletes"`
}

type documentsIn struct {
	Prefix string `json:"prefix,omitempty"`
	After  string `json:"after,omitempty" jsonschema:"the last path of the page before"`
	Limit  int    `json:"limit,omitempty" jsonschema:"default 50"`
}

type documentsOut struct {
	Documents []documentEntry `json:"documents"`
	Next      string          `json:"next,omitempty" jsonschema:"go on after this path; absent at the end"`
}

type versionsOut struct {
	Versions []documentEntry `json:"versions" jsonschema:"oldest first"`
}

type deleted struct {
	Path    string `json:"path"`
	Deleted bool   `json:"deleted"`
}

// documents registers the files that an agent files for itself: exact, versioned,
// never facts and never an authority.
func (t *tools) documents() {
	add(t, "document_put", "File a document", "File a document for yourself under a path, or a new version of one. It is read back byte for byte, and is your own word: never a fact about the user.",
		hints{idempotent: true}, bounds{"text": chars(0, 102400), "cites": items(64)},
		func(ctx context.Context, c *caller, in *documentPut) (answer[documentEntry], error) {
			d, err := t.mem.PutDocument(ctx, c.by, c.scope, memory.DocumentPut{Path: in.Path, Text: in.Text, Cites: cites(in.Cites), IfSHA256: in.SHA256})
			return answer[documentEntry]{out: entry(d)}, err
		})
	add(t, "document_get", "Read a document", "A document's text, byte for byte.", hints{reads: true, idempotent: true}, nil,
		func(ctx context.Context, c *caller, in *documentPath) (answer[documentOut], error) {
			d, err := t.mem.Document(ctx, c.by, c.scope, in.Path)
			if err != nil {
				return answer[documentOut]{}, err
			}
			s, err := t.open(ctx, c, in.inSession) // for its fence
			if err != nil {
				return answer[documentOut]{}, err
			}
			return answer[documentOut]{documentOut{notice, d.Path, d.Text, d.Label.String(), d.SHA256, string(d.Version), moment(d.Valid.From)}, s.DocumentBlock(d)}, nil
		})
	add(t, "document_list", "List documents", "Documents by path, without their texts.", hints{reads: true, idempotent: true},
		bounds{"prefix": chars(0, memory.MaxPath), "after": chars(0, memory.MaxPath), "limit": between(1, 500)},
		func(ctx context.Context, c *caller, in *documentsIn) (answer[documentsOut], error) {
			limit := in.Limit
			if limit == 0 {
				limit = 50
			}
			ds, err := t.mem.Documents(ctx, c.by, c.scope, in.Prefix, in.After, limit)
			if err != nil {
				return answer[documentsOut]{}, err
			}
			out := documentsOut{Documents: []documentEntry{}}
			for _, d := range ds {
				out.Documents = append(out.Documents, entry(d))
			}
			if len(ds) == limit {
				out.Next = ds[limit-1].Path
			}
			return answer[documentsOut]{out: out}, nil
		})
	add(t, "document_history", "List a document's versions", "Every version that was ever at a path, oldest first, without their texts.", hints{reads: true, idempotent: true}, nil,
		func(ctx context.Context, c *caller, in *documentPath) (answer[versionsOut], error) {
			rs, err := t.mem.DocumentHistory(ctx, c.by, c.scope, in.Path)
			if err != nil {
				return answer[versionsOut]{}, err
			}
			out := versionsOut{Versions: []documentEntry{}}
			for _, r := range rs {
				if !r.Known.Open() {
					continue // the same version as it was believed before its end
				}
				out.Versions = append(out.Versions, entry(memory.DocumentOf(r)))
			}
			return answer[versionsOut]{out: out}, nil
		})
	add(t, "document_delete", "Delete a document", "Delete a document; its versions stay in history.", hints{destroys: true, idempotent: true}, nil,
		func(ctx context.Context, c *caller, in *documentDelete) (answer[deleted], error) {
			err := t.mem.DeleteDocument(ctx, c.by, c.scope, in.Path, in.SHA256)
			return answer[deleted]{out: deleted{in.Path, err == nil}}, err
		})
}
