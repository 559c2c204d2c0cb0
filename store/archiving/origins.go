package archiving

import (
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store/column"
	"github.com/tenet-memory/tenet/store/erasing"
)

// OriginsAt is store.Governor's, on the scope with a surrogate, whose key is own:
// a record's row keeps those it came with, and each agreement its own.
func OriginsAt(tx erasing.Tx, scope int64, own string, ids []tenet.RecordID, at time.Time) (map[tenet.RecordID][]tenet.Origin, error) {
	out := make(map[tenet.RecordID][]tenet.Origin, len(ids))
	add := func(id tenet.RecordID, origins []byte) error {
		more, err := column.DecodeOrigins(origins, own)
		out[id] = column.Union(nil, out[id], more)
		return err
	}
	for _, id := range ids {
		if err := tx.Each(`SELECT origins FROM tenet.records WHERE scope = ? AND id = ?`, []any{scope, string(id)}, func(scan erasing.Scan) error {
			var origins []byte
			if err := scan(&origins); err != nil {
				return err
			}
			return add(id, origins)
		}); err != nil {
			return nil, err
		}
	}
	return out, tx.Each(`SELECT a.record, a.origins FROM tenet.corroborations a JOIN tenet.chain c ON c.scope = a.scope AND c.seq = a.seq
		WHERE a.scope = ? AND c.at <= ? ORDER BY a.seq`, []any{scope, column.Start(at)}, func(scan erasing.Scan) error {
		var id tenet.RecordID
		var origins []byte
		if err := scan(&id, &origins); err != nil {
			return err
		}
		if _, wanted := out[id]; !wanted {
			return nil
		}
		return add(id, origins)
	})
}
