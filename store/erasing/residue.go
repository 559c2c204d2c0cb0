package erasing

import (
	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
)

// Residue looks for erased ids in every place of a scope that stays, and adds
// what it finds by place. Places without finds are listed with zero.
func Residue(s Subject, items [][]byte, out map[string]int) error {
	gone := map[string]bool{}
	for _, i := range items {
		gone[string(i)] = true
	}
	is := func(kind, id string) bool { return id != "" && gone[string(store.ItemDigest(s.Key, kind, id))] }
	look := func(place, query string, columns []string) error {
		if _, ok := out[place]; !ok {
			out[place] = 0
		}
		return s.Each(query, []any{s.ID}, func(scan Scan) error {
			ids := make([]string, len(columns))
			dest := make([]any, len(columns))
			for i := range ids {
				dest[i] = &ids[i]
			}
			if err := scan(dest...); err != nil {
				return err
			}
			for i, kind := range columns {
				if is(kind, ids[i]) {
					out[place]++
					break
				}
			}
			return nil
		})
	}
	for _, l := range []struct {
		place, query string
		columns      []string
	}{
		{"records", `SELECT id, message, session, supersedes, superseded_by, fragment_of, elevates FROM tenet.records WHERE scope = ?`,
			[]string{"record", "message", "session", "record", "record", "record", "record"}},
		{"evidence", `SELECT record, session FROM tenet.evidence WHERE scope = ?`, []string{"record", "session"}},
		{"evidence", `SELECT message, record FROM tenet.evidence WHERE scope = ? AND excerpt <> ''`, []string{"message", "record"}},
		{"vectors", `SELECT record FROM tenet.vectors WHERE scope = ?`, []string{"record"}},
		{"outcomes", `SELECT record FROM tenet.outcomes WHERE scope = ?`, []string{"record"}},
		{"retention", `SELECT record FROM tenet.retention WHERE scope = ?`, []string{"record"}},
		{"corroborations", `SELECT record FROM tenet.corroborations WHERE scope = ?`, []string{"record"}},
		{"messages", `SELECT id FROM tenet.messages WHERE scope = ? AND (text <> '' OR speaker <> '' OR client_id <> '' OR tool_call_id <> '')`, []string{"message"}},
		{"session_names", `SELECT external_id FROM tenet.session_names WHERE scope = ?`, []string{"session"}},
		{"staged", `SELECT candidate FROM tenet.staged WHERE scope = ?`, []string{"candidate"}},
		{"proposals", `SELECT candidate FROM tenet.proposals WHERE scope = ?`, []string{"candidate"}},
		{"trail", `SELECT ref, ref, record, replaced FROM tenet.trail WHERE scope = ?`, []string{"candidate", "session", "record", "record"}},
	} {
		if err := look(l.place, l.query, l.columns); err != nil {
			return err
		}
	}
	if _, ok := out["receipts"]; !ok {
		out["receipts"] = 0
	}
	return s.Each(`SELECT body FROM tenet.receipts WHERE scope = ?`, []any{s.ID}, func(scan Scan) error {
		var body []byte
		if err := scan(&body); err != nil {
			return err
		}
		r, err := column.DecodeReceipt(body)
		for _, id := range append(append([]tenet.RecordID{}, r.Facts...), r.Recalled...) {
			if is("record", string(id)) {
				out["receipts"]++
			}
		}
		return err
	})
}
