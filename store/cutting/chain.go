package cutting

import (
	"bytes"
	"cmp"
	"encoding/json"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
	"github.com/tenet-memory/tenet/store/erasing"
)

// Last reads the sealed head of a chain; zero when it was never cut. It is
// Internal when the head was altered.
func Last(tx erasing.Tx, master store.MasterKey, id int64) (cut store.Cut, err error) {
	err = tx.Each(`SELECT seq, body, sig FROM tenet.cuts WHERE scope = ? ORDER BY seq DESC LIMIT 1`, []any{id}, func(scan erasing.Scan) error {
		var seq int64
		var body, sig []byte
		if err := scan(&seq, &body, &sig); err != nil {
			return err
		}
		cut, err = master.OpenCut(store.ChainName(id), uint64(seq), body, sig)
		return err
	})
	return cut, err
}

// Each calls f with the digest of every cut of a chain, and whether its row was
// altered, and returns where the last of them says that it ends.
func Each(tx erasing.Tx, id int64, f func(seq int64, digest []byte, altered bool)) (upto uint64, err error) {
	return upto, tx.Each(`SELECT seq, upto, digest, body, length(sig) FROM tenet.cuts WHERE scope = ? ORDER BY seq`, []any{id}, func(scan erasing.Scan) error {
		var seq, last int64
		var digest, body []byte
		var signed int
		if err := scan(&seq, &last, &digest, &body, &signed); err != nil {
			return err
		}
		upto = uint64(last)
		f(seq, digest, body != nil && !bytes.Equal(digest, store.CutDigest(body)) || body == nil && (last != 0 || signed != 0))
		return nil
	})
}

// Links recomputes the hashes of a chain, across its cut, which needs no
// subject's key, and says what is wrong. At seq, unless it is 0, the hash must be
// the given one.
func Links(tx erasing.Tx, master store.MasterKey, id int64, seq uint64, hash []byte) (why string, err error) {
	cut, err := Last(tx, master, id)
	var walk *store.Walk
	if err == nil {
		walk, err = store.NewWalk(cut)
	}
	if tenet.KindOf(err) == tenet.Internal {
		return "the sealed head of the chain was altered", nil
	}
	if err != nil {
		return "", err
	}
	met := seq == 0
	err = tx.Each(`SELECT seq, action, outcome, codes, ruleset, at, digest, prev, hash FROM tenet.chain WHERE scope = ? ORDER BY seq`, []any{id}, func(scan erasing.Scan) error {
		var e tenet.AuditEntry
		var at int64
		var codes string
		if err := scan(&e.Seq, &e.Action, &e.Outcome, &codes, &e.RuleSet, &at, &e.Digest, &e.Prev, &e.Hash); err != nil {
			return err
		}
		e.At = column.From(at)
		if codes != "" && json.Unmarshal([]byte(codes), &e.Codes) != nil && why == "" {
			why = "the codes of an entry are damaged"
		}
		_, _, _, wrong := walk.Step(e)
		if wrong == "" && e.Seq == seq && !bytes.Equal(e.Hash, hash) {
			wrong = "the erasure's entry is another"
		}
		why = cmp.Or(why, wrong)
		met = met || e.Seq == seq
		return nil
	})
	if err != nil {
		return "", err
	}
	var audit uint64
	var last []byte
	if err := tx.Each(`SELECT audit, hash FROM tenet.heads WHERE scope = ?`, []any{id}, func(scan erasing.Scan) error { return scan(&audit, &last) }); err != nil {
		return "", err
	}
	_, open := walk.End()
	switch {
	case why != "":
	case open != "":
		why = open
	case !met:
		why = "the erasure's entry is missing"
	case audit != walk.Next()-1 || !bytes.Equal(last, walk.Prev()):
		why = "the end of the chain is missing"
	}
	return why, nil
}
