package postgres

import (
	"time"

	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store/column"
)

// selectPace reads what was judged in the scope's last minute, by a principal
// and under a key. Known time rises with seq, so the window begins after the
// last entry that is too old; what a limit refused is left out already here, so
// that a flood of refusals costs no more than the limit.
const selectPace = `SELECT t.actor, t.key, t.tier, t.label, c.outcome, c.codes FROM tenet.chain c JOIN tenet.trail t ON t.scope = c.scope AND t.seq = c.seq
	WHERE c.scope = $1 AND c.seq > coalesce((SELECT seq FROM tenet.chain WHERE scope = $1 AND at <= $2 ORDER BY seq DESC LIMIT 1), 0)
		AND t.content IS NOT NULL AND (t.actor = $3 OR t.tier = 1 AND t.key = $4)
		AND c.codes NOT LIKE '%"RATE_LIMIT"%' AND c.codes NOT LIKE '%"KEY_CHURN"%' AND c.codes NOT LIKE '%"SELF_REINFORCEMENT"%'
	ORDER BY c.seq DESC`

func (s subject) paceArgs(q gate.PaceQuery, now time.Time) []any {
	return []any{s.id, column.Start(now.Add(-gate.PaceWindow)), q.Actor, q.Key}
}

func scanPace(rs *rows, n *gate.Counter) error {
	var e gate.PaceEntry
	err := rs.Scan(&e.Actor, &e.Key, &e.Tier, &e.Label, &e.Outcome, &e.Codes)
	n.Add(e)
	return err
}
