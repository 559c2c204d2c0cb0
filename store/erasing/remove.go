package erasing

import (
	"slices"
	"strings"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/column"
	"github.com/tenet-memory/tenet/store/sealing"
)

// exec runs a statement for each id and counts the rows under a place.
func exec[T ~string](p *Part, place, query string, ids []T, before ...any) error {
	for _, id := range ids {
		n, err := p.s.Exec(query, append(slices.Clone(before), string(id))...)
		if err != nil {
			return err
		}
		count(p.Counts, place, int(n))
	}
	return nil
}

func (p *Part) goneIDs() []tenet.RecordID {
	var ids []tenet.RecordID
	for id := range p.gone {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// dropRecords removes records with everything kept beside them.
func (p *Part) dropRecords() error {
	for _, table := range []string{"vectors", "outcomes", "retention", "corroborations", "evidence"} {
		if err := exec(p, table, `DELETE FROM tenet.`+table+` WHERE scope = ? AND record = ?`, p.goneIDs(), p.s.ID); err != nil {
			return err
		}
	}
	return exec(p, "records", `DELETE FROM tenet.records WHERE scope = ? AND id = ?`, p.goneIDs(), p.s.ID)
}

// agreement is one later voice for a record.
type agreement struct {
	seq     int64
	origins []tenet.Origin
}

// mendRecords lets what stays rest on what is left: other origins, no link to
// what went.
func (p *Part) mendRecords() error {
	own := p.s.Scope.Key()
	voices := map[tenet.RecordID][]agreement{}
	if err := p.s.Each(`SELECT seq, record, origins FROM tenet.corroborations WHERE scope = ? ORDER BY seq`, []any{p.s.ID}, func(scan Scan) error {
		var a agreement
		var id tenet.RecordID
		var b []byte
		if err := scan(&a.seq, &id, &b); err != nil {
			return err
		}
		var err error
		a.origins, err = column.DecodeOrigins(b, own)
		voices[id] = append(voices[id], a)
		return err
	}); err != nil {
		return err
	}
	for _, r := range p.records {
		if p.gone[r.ID] != nil {
			continue
		}
		if r.SupersededBy != "" && p.gone[r.SupersededBy] != nil {
			if _, err := p.s.Exec(`UPDATE tenet.records SET superseded_by = '' WHERE scope = ? AND id = ?`, p.s.ID, string(r.ID)); err != nil {
				return err
			}
		}
		anew := false
		if r.Supersedes != "" && p.gone[r.Supersedes] != nil {
			r.Supersedes, anew = "", true
		}
		mine := func(o tenet.Origin) bool { return p.sel.origin(o, p.s.Key) || p.messages[o.Message] && o.Message != "" }
		fewer := false
		var stay []agreement
		for _, a := range voices[r.ID] {
			if !slices.ContainsFunc(a.origins, mine) {
				stay = append(stay, a)
				continue
			}
			fewer = true
			a.origins = slices.DeleteFunc(a.origins, mine)
			query, args := `DELETE FROM tenet.corroborations WHERE scope = ? AND seq = ?`, []any{p.s.ID, a.seq}
			if len(a.origins) > 0 {
				stay = append(stay, a)
				query, args = `UPDATE tenet.corroborations SET origins = ? WHERE scope = ? AND seq = ?`, []any{sealing.Content(column.EncodeOrigins(a.origins, own)), p.s.ID, a.seq}
			}
			n, err := p.s.Exec(query, args...)
			if err != nil {
				return err
			}
			count(p.Counts, "corroborations", int(n))
		}
		if r.rest {
			r.Origins = slices.DeleteFunc(slices.Clone(r.agreed), mine)
			anew, fewer = true, true
			r.Session, r.Message, r.ToolCall = r.Origins[0].Session, r.Origins[0].Message, r.Origins[0].ToolCall
			r.Speaker, r.Position = "", 0 // they are the erased voice's; an origin holds neither
			count(p.Counts, "records kept on others' word", 1)
		}
		if fewer {
			var agreed []tenet.Origin
			seen := 1
			for _, a := range stay {
				n := len(agreed)
				for _, o := range a.origins {
					if !slices.Contains(r.Origins, o) && !slices.Contains(agreed, o) {
						agreed = append(agreed, o)
					}
				}
				if len(agreed) > n {
					seen++
				}
			}
			if _, err := p.s.Exec(`UPDATE tenet.records SET origins = ?, agreed = ?, seen = ?, session = ?, message = ?, tool_call = ?, speaker = ?, position = ? WHERE scope = ? AND id = ?`,
				sealing.Content(column.EncodeOrigins(r.Origins, own)), sealing.Content(column.EncodeOrigins(agreed, own)), int64(seen), string(r.Session), string(r.Message), r.ToolCall, r.Speaker, r.Position, p.s.ID, string(r.ID)); err != nil {
				return err
			}
		}
		if anew {
			if _, err := p.s.Exec(`UPDATE tenet.records SET supersedes = ?, digest = ? WHERE scope = ? AND id = ?`,
				string(r.Supersedes), store.RecordDigest(p.s.Key, r.Record), p.s.ID, string(r.ID)); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropEvidence empties the excerpts that other records keep of an erased
// message, and removes those that were said in what is gone.
func (p *Part) dropEvidence() error {
	type row struct {
		record string
		seq, n int64
		e      tenet.Evidence
		said   int64
	}
	var rows []row
	if err := p.s.Each(`SELECT record, seq, n, message, session, role, label, excerpt, said_at FROM tenet.evidence WHERE scope = ? ORDER BY record, seq, n`, []any{p.s.ID}, func(scan Scan) error {
		var r row
		var role, label int64
		if err := scan(&r.record, &r.seq, &r.n, &r.e.Message, &r.e.Session, &role, &label, &r.e.Excerpt, &r.said); err != nil {
			return err
		}
		r.e.Role, r.e.Label, r.e.SaidAt = tenet.Role(role), tenet.Label(label), at(r.said)
		rows = append(rows, r)
		return nil
	}); err != nil {
		return err
	}
	type place struct {
		record string
		seq    int64
	}
	next := map[place]int64{}
	for _, r := range rows {
		at := place{r.record, r.seq}
		switch {
		case !p.messages[r.e.Message] && !p.session(string(r.e.Session)):
		case p.sayings():
			r.e.Excerpt = ""
			n, err := p.s.Exec(`UPDATE tenet.evidence SET excerpt = '', digest = ? WHERE scope = ? AND record = ? AND seq = ? AND n = ?`,
				store.EvidenceDigest(p.s.Key, tenet.RecordID(r.record), r.e), p.s.ID, r.record, r.seq, r.n)
			if err != nil {
				return err
			}
			count(p.Counts, "evidence", int(n))
		default:
			n, err := p.s.Exec(`DELETE FROM tenet.evidence WHERE scope = ? AND record = ? AND seq = ? AND n = ?`, p.s.ID, r.record, r.seq, r.n)
			if err != nil {
				return err
			}
			count(p.Counts, "evidence", int(n))
			continue
		}
		if next[at] != r.n { // no gap may stay
			if _, err := p.s.Exec(`UPDATE tenet.evidence SET n = ? WHERE scope = ? AND record = ? AND seq = ? AND n = ?`, next[at], p.s.ID, r.record, r.seq, r.n); err != nil {
				return err
			}
		}
		next[at]++
	}
	return nil
}

// dropCandidates removes what waits and what was refused.
func (p *Part) dropCandidates() error {
	for _, c := range p.waiting {
		query, args := `DELETE FROM tenet.held WHERE scope = ? AND seq = ?`, []any{p.s.ID, c.seq}
		if c.where != "held" {
			query, args = `DELETE FROM tenet.`+c.where+` WHERE scope = ? AND sid = ? AND candidate = ?`, []any{p.s.ID, c.sid, string(c.ID)}
		}
		n, err := p.s.Exec(query, args...)
		if err != nil {
			return err
		}
		count(p.Counts, c.where, int(n))
		if c.where == "staged" {
			p.Staged += n
		}
	}
	return nil
}

// dropTrail empties the words of the entries that name what went. The entries
// stay on the chain.
func (p *Part) dropTrail() error {
	ids := map[string]bool{}
	for id := range p.gone {
		ids[string(id)] = true
	}
	for _, c := range p.waiting {
		ids[string(c.ID)] = true
	}
	about := func(ref string) bool {
		for ; ; ref = ref[:strings.LastIndexByte(ref, '/')] {
			if ids[ref] {
				return true
			}
			if !strings.Contains(ref, "/") {
				return false
			}
		}
	}
	var seqs []int64
	if err := p.s.Each(`SELECT seq, ref, actor, record, replaced, key FROM tenet.trail WHERE scope = ?`, []any{p.s.ID}, func(scan Scan) error {
		var seq int64
		var ref, actor, rec, replaced, key string
		if err := scan(&seq, &ref, &actor, &rec, &replaced, &key); err != nil {
			return err
		}
		if about(ref) || ids[rec] || ids[replaced] || p.sel.Key != "" && key == p.sel.Key || p.session(ref) ||
			p.sel.Author.Principal != "" && actor == p.sel.Author.Principal {
			seqs = append(seqs, seq)
		}
		return nil
	}); err != nil {
		return err
	}
	for _, seq := range seqs {
		n, err := p.s.Exec(`UPDATE tenet.trail SET ref = '', actor = '', why = '', content = NULL, record = '', replaced = '', key = '', findings = ''
			WHERE scope = ? AND seq = ?`, p.s.ID, seq)
		if err != nil {
			return err
		}
		count(p.Counts, "trail", int(n))
		// A refused candidate whose words went has nothing left to be reviewed.
		if n, err = p.s.Exec(`DELETE FROM tenet.held WHERE scope = ? AND seq = ?`, p.s.ID, seq); err != nil {
			return err
		}
		count(p.Counts, "held", int(n))
	}
	return nil
}

// session reports whether a name is an erased session's.
func (p *Part) session(name string) bool {
	_, here := p.sessions[tenet.SessionID(name)]
	return here || p.sel.Session != "" && name == string(p.sel.Session) || p.sel.item(p.s.Key, "session", name)
}

// dropSessions removes whole sessions, their names included. How far they were
// consolidated stays, under surrogates.
func (p *Part) dropSessions() error {
	for _, sid := range p.sessions {
		for _, table := range []string{"messages", "proposals", "receipts", "checkpoints", "effects", "holds", "sessions", "session_names"} {
			n, err := p.s.Exec(`DELETE FROM tenet.`+table+` WHERE scope = ? AND sid = ?`, p.s.ID, sid)
			if err != nil {
				return err
			}
			count(p.Counts, table, int(n))
		}
		n, err := p.s.Exec(`DELETE FROM tenet.staged WHERE scope = ? AND sid = ?`, p.s.ID, sid)
		if err != nil {
			return err
		}
		count(p.Counts, "staged", int(n))
		p.Staged += n
	}
	return nil
}

// dropMessages empties messages. Their places in the log stay, so that
// positions and cursors hold; nothing is to be retained of them.
func (p *Part) dropMessages() error {
	var ids []tenet.MessageID
	for id := range p.messages {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var none column.Encoder
	column.EncodeStrings[string](&none, nil)
	for _, id := range ids {
		n, err := p.s.Exec(`UPDATE tenet.messages SET text = '', speaker = '', client_id = '', tool_calls = ?, tool_call_id = '', recorded_by = '', retain_none = ?
			WHERE scope = ? AND id = ?`, sealing.Content(none.B), true, p.s.ID, string(id))
		if err != nil {
			return err
		}
		count(p.Counts, "messages", int(n))
	}
	return nil
}

// mendReceipts takes erased ids out of what was served.
func (p *Part) mendReceipts() error {
	type change struct {
		sid, n int64
		body   []byte
	}
	var cs []change
	if len(p.gone) == 0 {
		return nil
	}
	if err := p.s.Each(`SELECT sid, n, body FROM tenet.receipts WHERE scope = ?`, []any{p.s.ID}, func(scan Scan) error {
		var c change
		if err := scan(&c.sid, &c.n, &c.body); err != nil {
			return err
		}
		r, err := column.DecodeReceipt(c.body)
		if err != nil {
			return err
		}
		was := len(r.Facts) + len(r.Recalled)
		erased := func(id tenet.RecordID) bool { return p.gone[id] != nil }
		r = r.Without(erased)
		if len(r.Facts)+len(r.Recalled) != was {
			c.body = column.EncodeReceipt(r)
			cs = append(cs, c)
		}
		return nil
	}); err != nil {
		return err
	}
	for _, c := range cs {
		n, err := p.s.Exec(`UPDATE tenet.receipts SET body = ? WHERE scope = ? AND sid = ? AND n = ?`, sealing.Content(c.body), p.s.ID, c.sid, c.n)
		if err != nil {
			return err
		}
		count(p.Counts, "receipts", int(n))
	}
	return nil
}

// dropOpaque searches what hosts and frameworks keep for themselves - states
// of runs, outcomes of effects, threads, recorded answers - and removes what
// holds an erased text.
func (p *Part) dropOpaque() error {
	if len(p.texts) == 0 {
		return nil
	}
	type find struct {
		table, query string
		args         []any
	}
	var found []find
	look := func(table, query string, row func(scan Scan) (sealed []byte, about string, f find, err error)) error {
		return p.s.Each(query, []any{p.s.ID}, func(scan Scan) error {
			sealed, about, f, err := row(scan)
			if err != nil || sealed == nil {
				return err
			}
			plain, err := p.s.Key.Unseal(sealed, about)
			if err == nil && table == "checkpoints" {
				plain, err = column.Unpack(plain)
			}
			if err == nil && p.holds(plain) {
				f.table = table
				found = append(found, f)
			}
			return err
		})
	}
	if err := look("checkpoints", `SELECT sid, version, sealed FROM tenet.checkpoints WHERE scope = ?`, func(scan Scan) (b []byte, about string, f find, err error) {
		var sid, version int64
		err = scan(&sid, &version, &b)
		return b, p.s.About("checkpoint", sid, ""), find{query: `DELETE FROM tenet.checkpoints WHERE scope = ? AND sid = ? AND version = ?`, args: []any{p.s.ID, sid, version}}, err
	}); err != nil {
		return err
	}
	if err := look("effects", `SELECT sid, key, outcome FROM tenet.effects WHERE scope = ?`, func(scan Scan) (b []byte, about string, f find, err error) {
		var sid int64
		var key string
		err = scan(&sid, &key, &b)
		return b, p.s.About("outcome", sid, key), find{query: `UPDATE tenet.effects SET outcome = NULL WHERE scope = ? AND sid = ? AND key = ?`, args: []any{p.s.ID, sid, key}}, err
	}); err != nil {
		return err
	}
	for _, column := range []string{"data", "meta"} {
		what := map[string]string{"data": "blob", "meta": "meta"}[column]
		if err := look("blobs", `SELECT tid, id, `+column+` FROM tenet.blobs WHERE scope = ?`, func(scan Scan) (b []byte, about string, f find, err error) {
			var tid int64
			var id string
			err = scan(&tid, &id, &b)
			return b, p.s.About(what, tid, id), find{query: `DELETE FROM tenet.blobs WHERE scope = ? AND tid = ? AND id = ?`, args: []any{p.s.ID, tid, id}}, err
		}); err != nil {
			return err
		}
	}
	if err := look("once", `SELECT id, answer FROM tenet.once WHERE scope = ?`, func(scan Scan) (b []byte, about string, f find, err error) {
		var id []byte
		err = scan(&id, &b)
		return b, p.s.AboutOnce(id), find{query: `DELETE FROM tenet.once WHERE scope = ? AND id = ?`, args: []any{p.s.ID, id}}, err
	}); err != nil {
		return err
	}
	for _, f := range found {
		n, err := p.s.Exec(f.query, f.args...)
		if err != nil {
			return err
		}
		count(p.Counts, f.table, int(n))
	}
	return nil
}

// unsign takes a person's name out of the checkpoints that they wrote in
// another's scope: the run that goes on from there is not theirs alone.
func (p *Part) unsign() error {
	s, principal := p.s, p.sel.Author.Principal
	if principal == "" {
		return nil
	}
	type change struct {
		sid, version int64
		sealed       []byte
	}
	var cs []change
	if err := s.Each(`SELECT sid, version, sealed FROM tenet.checkpoints WHERE scope = ?`, []any{s.ID}, func(scan Scan) error {
		var c change
		var k tenet.Checkpoint
		if err := scan(&c.sid, &c.version, &c.sealed); err != nil {
			return err
		}
		about := s.About("checkpoint", c.sid, "")
		plain, err := s.Key.Unseal(c.sealed, about)
		if err != nil {
			return err
		}
		if err := column.DecodeCheckpoint(plain, &k); err != nil || k.By != principal {
			return err
		}
		k.By = ""
		c.sealed = s.Key.Seal(column.EncodeCheckpoint(k), about)
		cs = append(cs, c)
		return nil
	}); err != nil {
		return err
	}
	for _, c := range cs {
		n, err := s.Exec(`UPDATE tenet.checkpoints SET sealed = ? WHERE scope = ? AND sid = ? AND version = ?`, c.sealed, s.ID, c.sid, c.version)
		if err != nil {
			return err
		}
		count(p.Counts, "checkpoints", int(n))
	}
	return nil
}

// mendReads takes an erased scope out of what the sessions of others may read,
// and a person out of what they claimed there.
func (p *Part) mendReads() error {
	a := p.sel.Author
	if a == (Author{}) {
		return nil
	}
	type change struct {
		sid   int64
		reads []byte
	}
	var cs []change
	if err := p.s.Each(`SELECT sid, reads FROM tenet.sessions WHERE scope = ?`, []any{p.s.ID}, func(scan Scan) error {
		var c change
		if err := scan(&c.sid, &c.reads); err != nil {
			return err
		}
		rs, err := p.s.Reads(c.reads, c.sid)
		if err != nil {
			return err
		}
		if slices.Contains(rs, a.Scope) {
			c.reads = p.s.SealReads(slices.DeleteFunc(rs, func(s tenet.Scope) bool { return s == a.Scope }), c.sid)
			cs = append(cs, c)
		}
		return nil
	}); err != nil {
		return err
	}
	for _, c := range cs {
		n, err := p.s.Exec(`UPDATE tenet.sessions SET reads = ? WHERE scope = ? AND sid = ?`, c.reads, p.s.ID, c.sid)
		if err != nil {
			return err
		}
		count(p.Counts, "sessions", int(n))
	}
	if a.Principal != "" {
		n, err := p.s.Exec(`UPDATE tenet.effects SET claimed_by = '' WHERE scope = ? AND claimed_by = ?`, p.s.ID, a.Principal)
		count(p.Counts, "effects", int(n))
		return err
	}
	return nil
}
