package erasing

import (
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

// Check looks for rows that belong to nobody, and for keys with two open rows.
func Check(tx Tx) ([]store.Fault, error) {
	var out []store.Fault
	look := func(place, what, query string) error {
		n := 0
		if err := tx.Each(query, nil, func(scan Scan) error { return scan(&n) }); err != nil {
			return err
		}
		if n > 0 {
			out = append(out, store.Fault{Place: place, What: what, Rows: n})
		}
		return nil
	}
	for _, t := range Tables {
		if t.Rule == Removed && t.Name != "subjects" {
			if err := look(t.Name, "rows of no subject", `SELECT count(*) FROM tenet.`+t.Name+` t WHERE NOT EXISTS (SELECT 1 FROM tenet.subjects s WHERE s.scope = t.scope)`); err != nil {
				return nil, err
			}
		}
	}
	for _, t := range []string{"sessions", "messages", "proposals", "receipts", "checkpoints", "effects", "holds"} {
		if err := look(t, "rows of no session", `SELECT count(*) FROM tenet.`+t+` t WHERE NOT EXISTS (SELECT 1 FROM tenet.session_names s WHERE s.scope = t.scope AND s.sid = t.sid)`); err != nil {
			return nil, err
		}
	}
	for _, q := range [][3]string{
		{"blobs", "rows of no thread", `SELECT count(*) FROM tenet.blobs t WHERE NOT EXISTS (SELECT 1 FROM tenet.thread_names s WHERE s.scope = t.scope AND s.tid = t.tid)`},
		{"subjects", "subjects without a head", `SELECT count(*) FROM tenet.subjects t WHERE NOT EXISTS (SELECT 1 FROM tenet.heads h WHERE h.scope = t.scope)`},
		{"chain", "entries without a head", `SELECT count(*) FROM tenet.chain t WHERE NOT EXISTS (SELECT 1 FROM tenet.heads h WHERE h.scope = t.scope)`},
		{"cuts", "cuts of no chain", `SELECT count(*) FROM tenet.cuts t WHERE NOT EXISTS (SELECT 1 FROM tenet.heads h WHERE h.scope = t.scope)`},
		{"trail", "words of no entry", `SELECT count(*) FROM tenet.trail t WHERE NOT EXISTS (SELECT 1 FROM tenet.chain c WHERE c.scope = t.scope AND c.seq = t.seq)`},
		{"records", "records of no entry", `SELECT count(*) FROM tenet.records t WHERE NOT EXISTS (SELECT 1 FROM tenet.chain c WHERE c.scope = t.scope AND c.seq = t.seq)`},
		{"heads", "heads that count other than there is: tenet fsck --recount", `SELECT count(*) FROM tenet.heads h WHERE (h.records, h.bytes) <> (SELECT ` + kept + ` WHERE r.scope = h.scope)`},
		{"vectors", "vectors of no record", `SELECT count(*) FROM tenet.vectors t WHERE NOT EXISTS (SELECT 1 FROM tenet.records r WHERE r.scope = t.scope AND r.id = t.record)`},
		{"evidence", "evidence of no record", `SELECT count(*) FROM tenet.evidence t WHERE NOT EXISTS (SELECT 1 FROM tenet.records r WHERE r.scope = t.scope AND r.id = t.record)`},
		{"records", "keys with two open rows", `SELECT count(*) FROM (SELECT 1 FROM tenet.records r WHERE r.tier IN (1, 4) AND NOT r.multi AND r.sys_to = 9223372036854775807
			AND r.valid_to = 9223372036854775807 GROUP BY r.scope, r.tier, r.key HAVING count(*) > 1) twice`},
	} {
		if err := look(q[0], q[1], q[2]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// kept is what a head counts of its scope's records, r.
const kept = `count(CASE WHEN r.sys_to = 9223372036854775807 AND NOT r.expired AND (r.fragment_of = '' OR r.valid_to = 9223372036854775807) THEN 1 END), coalesce(sum(r.size), 0) FROM tenet.records r`

// Stored counts what a scope keeps by its rows.
func Stored(tx Tx, id int64) (s gate.Stored, err error) {
	err = tx.Each(`SELECT `+kept+` WHERE r.scope = ?`, []any{id}, func(scan Scan) error { return scan(&s.Records, &s.Bytes) })
	return s, err
}

// Recount sets a head to what its scope keeps, and reports whether it was wrong.
// The caller holds the head.
func Recount(tx Tx, id int64) (bool, error) {
	s, err := Stored(tx, id)
	if err != nil {
		return false, err
	}
	n, err := tx.Exec(`UPDATE tenet.heads SET records = ?, bytes = ? WHERE scope = ? AND (records <> ? OR bytes <> ?)`, s.Records, s.Bytes, id, s.Records, s.Bytes)
	return n > 0, err
}
