package postgres

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
	"github.com/tenet-memory/tenet/store/sealing"
)

// writing is one decision on its way into rows, gathering their digests.
type writing struct {
	*ledger
	store.Written
	seq  uint64
	at   time.Time
	pos  uint64 // the Text position if recall is touched
	text bool   // it is
}

func (w *writing) touch(tier tenet.Tier) {
	if tier == tenet.TierFact {
		w.facts = w.seq
	} else if !w.text {
		w.text = true
		w.head.Text = w.pos
	}
}

func (w *writing) write(p gate.Plan) error {
	for _, c := range p.Close { // before what takes its place: one open row a key
		if err := w.close(c); err != nil {
			return err
		}
	}
	slices.SortFunc(w.Closed, func(a, b gate.Close) int { return cmp.Compare(a.Record, b.Record) })
	for _, r := range p.Insert {
		if err := w.insert(r); err != nil {
			return err
		}
	}
	for n, e := range p.Evidence {
		if err := w.keep(p.Supported(), n, e); err != nil {
			return err
		}
	}
	if p.Agree != nil {
		if err := w.agree(*p.Agree); err != nil {
			return err
		}
	}
	if p.Hold != nil {
		if err := w.hold(p); err != nil {
			return err
		}
	}
	if p.Settles != nil {
		if err := w.settle(*p.Settles); err != nil {
			return err
		}
	}
	if p.Staged != nil {
		if err := w.stage(*p.Staged); err != nil {
			return err
		}
	}
	if err := w.retain(p); err != nil {
		return err
	}
	if err := w.bury(p); err != nil {
		return err
	}
	if err := w.access(p.Key, p.Change); err != nil {
		return err
	}
	if err := w.freeze(p); err != nil {
		return err
	}
	if err := w.expire(p.Expire); err != nil {
		return err
	}
	if p.Kind == gate.Erase { // readmitted: nothing of it is left but that it was
		w.head.Text, w.facts = w.pos, w.seq
	}
	return w.unstage(p)
}

func (w *writing) close(c gate.Close) error {
	var tier tenet.Tier
	var counted bool
	err := w.c.row(bg, `UPDATE tenet.records SET sys_to = $1, closed = $2, superseded_by = $3, closed_seq = $4,
		removed = CASE WHEN tier <> 1 AND removed = 0 THEN $5::bigint ELSE removed END
		WHERE scope = $6 AND id = $7 AND sys_to = 9223372036854775807
		RETURNING CASE WHEN removed IN (0, $5::bigint) THEN tier ELSE 0 END, NOT expired AND (fragment_of = '' OR valid_to = 9223372036854775807)`,
		[]any{column.Start(w.at), sealing.Plain(c.Reason), string(c.By), int64(w.seq), int64(w.pos), w.id, string(c.Record)}, &tier, &counted)
	if errors.Is(err, pgx.ErrNoRows) {
		return w.missing(c.Record, "the record is closed already")
	}
	if err != nil {
		return err
	}
	if counted {
		w.stored.Records--
	}
	if tier != 0 { // 0: recall had lost it before
		w.touch(tier)
	}
	if tier > tenet.TierFact {
		if err := w.unplace(c.Record); err != nil {
			return err
		}
	}
	w.Closed = append(w.Closed, c)
	return nil
}

// missing tells a record that is not there from one in another state.
func (w *writing) missing(id tenet.RecordID, why string) error {
	var one int
	err := w.c.row(bg, `SELECT 1 FROM tenet.records WHERE scope = $1 AND id = $2`, []any{w.id, string(id)}, &one)
	if errors.Is(err, pgx.ErrNoRows) {
		return absent("apply", "record")
	}
	if err != nil {
		return err
	}
	return conflict("apply", why)
}

func (w *writing) insert(r tenet.Record) error {
	r.Known = tenet.Interval{From: w.at}
	digest := store.RecordDigest(w.key, r)
	var added uint64
	if w.touch(r.Tier); r.Tier != tenet.TierFact {
		added = w.pos
	}
	if err := w.c.claim(conflict("apply", "the record id, or the key's open place, is taken"), `INSERT INTO tenet.records (scope, id, tier, key, value, text, label, origins, seen,
			session, message, tool_call, speaker, position, valid_from, valid_to, sys_from, sys_to,
			supersedes, superseded_by, fragment_of, elevates, closed, multi, safety, expires_at, expired, signature,
			size, digest, seq, closed_seq, expired_seq, added, removed)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, 9223372036854775807, $18, '', $19, $20, '', $21, $22, $23, $24, $25, $26, $27, $28, 0, 0, $29, 0)`,
		w.id, string(r.ID), int64(r.Tier), r.Key, sealing.Content(r.Value), r.Text, int64(r.Label), sealing.Content(column.EncodeOrigins(r.Origins, w.scope.Key())), int64(r.Seen),
		string(r.Session), string(r.Message), r.ToolCall, r.Speaker, r.Position, column.Start(r.Valid.From), column.End(r.Valid.To), column.Start(w.at),
		string(r.Supersedes), string(r.FragmentOf), string(r.Elevates), r.Multi, r.Safety, column.End(r.ExpiresAt), r.Expired, r.Signature,
		int64(r.RenderedSize()), digest, int64(w.seq), int64(added)); err != nil {
		return err
	}
	w.wrote(r.ID, digest)
	w.stored.Bytes += int64(r.RenderedSize())
	if gate.Counts(r) {
		w.stored.Records++
	}
	return w.voices(r.Origins)
}

func (w *writing) keep(record tenet.RecordID, n int, e tenet.Evidence) error {
	digest := store.EvidenceDigest(w.key, record, e)
	w.Written.Evidence = append(w.Written.Evidence, digest)
	return w.c.exec(`INSERT INTO tenet.evidence (scope, record, seq, n, message, session, role, label, excerpt, said_at, digest)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		w.id, string(record), int64(w.seq), n, string(e.Message), string(e.Session), int64(e.Role), int64(e.Label), e.Excerpt, column.Start(e.SaidAt), digest)
}

// agree adds the origins that are new to the record. Each agreement that
// brought one counts once.
func (w *writing) agree(a gate.Agreement) error {
	own := w.scope.Key()
	var base, more []byte
	var tier tenet.Tier
	err := w.c.row(bg, `SELECT origins, agreed, tier FROM tenet.records WHERE scope = $1 AND id = $2 AND sys_to = 9223372036854775807`,
		[]any{w.id, string(a.Record)}, &base, &more, &tier)
	if errors.Is(err, pgx.ErrNoRows) {
		return w.missing(a.Record, "the equal record is closed already")
	}
	if err != nil {
		return err
	}
	known, err := column.DecodeOrigins(base, own)
	if err != nil {
		return err
	}
	agreed, err := column.DecodeOrigins(more, own)
	if err != nil {
		return err
	}
	if grown := column.Union(known, agreed, a.Origins); len(grown) > len(agreed) {
		if err := w.c.exec(`UPDATE tenet.records SET agreed = $1, seen = seen + 1 WHERE scope = $2 AND id = $3`,
			sealing.Content(column.EncodeOrigins(grown, own)), w.id, string(a.Record)); err != nil {
			return err
		}
	}
	w.head.Stats++
	if tier == tenet.TierFact {
		w.facts = w.seq // readers see the origins
	}
	w.Agreed = &a
	if err := w.voices(a.Origins); err != nil {
		return err
	}
	return w.c.exec(`INSERT INTO tenet.corroborations (scope, seq, record, origins) VALUES ($1, $2, $3, $4)`,
		w.id, int64(w.seq), string(a.Record), sealing.Content(column.EncodeOrigins(a.Origins, own)))
}

// hold seals a refused candidate: whole while it may still be released,
// capped when it is only logged.
func (w *writing) hold(p gate.Plan) error {
	c := p.Candidate
	if p.Hold.State != tenet.HoldOpen {
		if c.Text = p.Hold.Text; len(c.Value) > gate.HoldCap {
			c.Value = nil
		}
		if len(c.Quote) > gate.HoldCap {
			c.Quote = ""
		}
	}
	return w.c.exec(`INSERT INTO tenet.held (scope, seq, state, settled_seq, expires_at, sealed) VALUES ($1, $2, $3, 0, $4, $5)`,
		w.id, int64(w.seq), sealing.Plain(p.Hold.State), column.End(p.Hold.ExpiresAt), w.seal(c, w.aboutHeld(int64(w.seq), p.Ref, column.End(p.Hold.ExpiresAt))))
}

func (w *writing) settle(s gate.Settlement) error {
	w.Settled = &s
	var seq int64
	var state tenet.HoldState
	err := w.c.row(bg, `SELECT h.seq, h.state FROM tenet.trail t JOIN tenet.held h ON h.scope = t.scope AND h.seq = t.seq
		WHERE t.scope = $1 AND t.ref = $2 AND t.content IS NOT NULL`, []any{w.id, string(s.Candidate)}, &seq, &state)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return absent("apply", "hold")
	case err != nil:
		return err
	case state != tenet.HoldOpen:
		return conflict("apply", "the hold is settled already")
	}
	// What ran out goes at once; what was decided stays for review until then.
	return w.c.exec(`UPDATE tenet.held SET state = $1, settled_seq = $2, sealed = CASE WHEN $1::text = 'expired' THEN NULL ELSE sealed END
		WHERE scope = $3 AND seq = $4`, sealing.Plain(s.State), int64(w.seq), w.id, seq)
}

func (w *writing) stage(s gate.Staged) error {
	s, err := w.stillThere(s)
	if err != nil {
		return err
	}
	sid, err := w.nameSession(w.c, s.Session)
	if err != nil {
		return err
	}
	cursor, err := w.cursor(bg, w.c, sid)
	if err != nil {
		return err
	}
	if cursor != s.From {
		return conflict("apply", "the consolidation cursor is elsewhere")
	}
	for _, c := range s.Candidates {
		content := store.ContentDigest(w.key, c)
		var old []byte
		err := w.c.row(bg, `SELECT content FROM tenet.trail WHERE scope = $1 AND ref = $2 AND content IS NOT NULL
			UNION ALL SELECT content FROM tenet.staged WHERE scope = $1 AND candidate = $2`, []any{w.id, string(c.ID)}, &old)
		switch {
		case err == nil && slices.Equal(old, content):
			continue // it has its verdict, or waits for it
		case err == nil:
			return conflict("apply", "the id was used with other content")
		case !errors.Is(err, pgx.ErrNoRows):
			return err
		}
		if err := w.c.exec(`INSERT INTO tenet.staged (scope, sid, candidate, content, sealed) VALUES ($1, $2, $3, $4, $5)`,
			w.id, sid, string(c.ID), content, w.sealStaged(c, s.Cited, sid)); err != nil {
			return err
		}
		if err := w.db.visitor(w.c, w.subject, c.ProposedBy); err != nil {
			return err
		}
		w.staged++
	}
	w.Stage = &store.StageMark{Session: w.about("session", sid, ""), From: s.From, To: s.To, Count: len(s.Candidates) + s.Judged}
	return w.c.exec(`INSERT INTO tenet.stages (scope, seq, sid, from_pos, to_pos, count) VALUES ($1, $2, $3, $4, $5, $6)`,
		w.id, int64(w.seq), sid, s.From, s.To, len(s.Candidates)+s.Judged)
}

// unstage removes the candidate that now has its verdict.
func (l *ledger) unstage(p gate.Plan) error {
	if l.staged == 0 || (p.Kind != gate.Admit && p.Kind != gate.Refuse) {
		return nil
	}
	n, err := l.c.affect(`DELETE FROM tenet.staged WHERE scope = $1 AND candidate = $2`, l.id, string(p.Candidate.ID))
	if err != nil || n == 0 {
		return err
	}
	l.staged -= n
	return nil
}

// expire drops the texts. What is left of each record and of its evidence is
// digested again, as written by this entry.
func (w *writing) expire(ids []tenet.RecordID) error {
	for _, id := range slices.Sorted(slices.Values(ids)) {
		w.Expired = append(w.Expired, id)
		rs, err := w.records(bg, w.c, `WHERE scope = $1 AND id = $2`, w.id, string(id))
		switch {
		case err != nil:
			return err
		case len(rs) == 0:
			return absent("apply", "record")
		case rs[0].Expired:
			return conflict("apply", "the text is gone already")
		}
		r := rs[0]
		if gate.Counts(r) {
			w.stored.Records--
		}
		w.stored.Bytes -= int64(r.RenderedSize())
		r.Text, r.Value, r.Signature, r.Expired = "", nil, "", true
		w.stored.Bytes += int64(r.RenderedSize())
		var removed int64
		var origins []byte
		err = w.c.row(bg, `UPDATE tenet.records SET text = '', value = NULL, signature = '', size = $1, expired = true, expired_seq = $2,
			removed = CASE WHEN tier <> 1 AND removed = 0 THEN $3::bigint ELSE removed END
			WHERE scope = $4 AND id = $5 RETURNING removed, origins`,
			[]any{r.RenderedSize(), int64(w.seq), int64(w.pos), w.id, string(id)}, &removed, &origins)
		if err != nil {
			return err
		}
		if r.Tier == tenet.TierFact || removed == int64(w.pos) {
			w.touch(r.Tier)
		}
		if err := w.unplace(id); err != nil {
			return err
		}
		if r.Origins, err = column.DecodeOrigins(origins, w.scope.Key()); err != nil {
			return err
		}
		w.wrote(r.ID, store.RecordDigest(w.key, r))
		if err := w.c.exec(`UPDATE tenet.evidence SET excerpt = '' WHERE scope = $1 AND record = $2`, w.id, string(id)); err != nil {
			return err
		}
		if err := w.kept(bg, w.c, id, func(e tenet.Evidence) {
			w.Written.Evidence = append(w.Written.Evidence, store.EvidenceDigest(w.key, id, e))
		}); err != nil {
			return err
		}
	}
	return nil
}

func (w *writing) wrote(id tenet.RecordID, digest []byte) {
	if w.Records == nil {
		w.Records = map[string][]byte{}
	}
	w.RecordIDs = append(w.RecordIDs, string(id))
	w.Records[string(id)] = digest
}
