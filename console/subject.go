package console

import (
	"io"
	"strconv"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// entries are what is found by meaning about a subject, and how forgetting sees it.
func (c *Console) entries(v *visit) (any, error) {
	o, scope, err := c.operator(v)
	if err != nil {
		return nil, err
	}
	es, err := o.Entries(v.Context(), tenet.RecordID(v.FormValue("after")), perPage)
	out := listed[memory.Entry]{Subject: scope.Subject().String(), Items: es}
	if len(es) == perPage {
		out.Next = string(es[perPage-1].Record.ID)
	}
	return out, err
}

func (c *Console) pin(v *visit) (any, error) {
	_, scope, err := c.operator(v)
	if err != nil {
		return nil, err
	}
	id := tenet.RecordID(v.PostFormValue("id"))
	if err := c.mem.Pin(v.Context(), v.by, scope, id, v.PostFormValue("pinned") != ""); err != nil {
		return nil, err
	}
	return moved("/console/record?" + string(query("subject", scope.Subject().String(), "id", string(id)))), nil
}

// export is everything that is kept about the subject, as signed lines. One that
// breaks off has no end, and no import takes it.
func (c *Console) export(v *visit) (any, error) {
	_, scope, err := c.operator(v)
	return download{"export.jsonl", func(w io.Writer) error {
		_, err := c.mem.Export(v.Context(), v.by, scope, false, w)
		return err
	}}, err
}

func (c *Console) sessionsOf(v *visit) (any, error) {
	o, scope, err := c.operator(v)
	if err != nil {
		return nil, err
	}
	out := struct {
		listed[tenet.Session]
		Unlisted bool
	}{listed: listed[tenet.Session]{Subject: scope.Subject().String()}}
	out.Items, err = o.Sessions(v.Context(), tenet.SessionID(v.FormValue("after")), perPage)
	if tenet.KindOf(err) == tenet.Unavailable {
		out.Unlisted, err = true, nil // one can still be named
	}
	if len(out.Items) == perPage {
		out.Next = string(out.Items[perPage-1].ID)
	}
	return out, err
}

// turn is a message and what was served between it and the next.
type turn struct {
	tenet.Message
	Receipts []tenet.Receipt
}

// conversation is a stretch of a session's log.
func (c *Console) conversation(v *visit) (any, error) {
	o, scope, err := c.operator(v)
	if err != nil {
		return nil, err
	}
	id := tenet.SessionID(v.FormValue("session"))
	after, err := number64(v.FormValue("after"))
	if err != nil {
		return nil, err
	}
	s, err := c.mem.OpenSession(v.Context(), v.by, scope, id)
	if err != nil {
		return nil, err
	}
	ms, err := s.Messages(v.Context(), after, perPage+1) // one more, to know where the last turn ends
	if err != nil {
		return nil, err
	}
	rs, err := o.Receipts(v.Context(), id)
	if err != nil {
		return nil, err
	}
	out := struct {
		listed[turn]
		Session tenet.Session
	}{listed[turn]{Subject: scope.Subject().String()}, s.Info()}
	for i, m := range ms[:min(len(ms), perPage)] {
		t := turn{Message: m}
		for _, r := range rs {
			if !r.At.Before(m.RecordedAt) && (i+1 == len(ms) || r.At.Before(ms[i+1].RecordedAt)) && len(t.Receipts) < perPage {
				t.Receipts = append(t.Receipts, r)
			}
		}
		out.Items = append(out.Items, t)
	}
	if len(ms) > perPage {
		out.Next = strconv.FormatInt(ms[perPage-1].Seq, 10)
	}
	return out, nil
}

func number64(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0, tenet.Errorf(tenet.Invalid, "console", "not a position")
	}
	return n, nil
}

// window is what stood in a session's window at a turn, and what has changed since.
func (c *Console) window(v *visit) (any, error) {
	o, scope, err := c.operator(v)
	if err != nil {
		return nil, err
	}
	id := tenet.SessionID(v.FormValue("session"))
	st, err := o.Stood(v.Context(), id, v.FormValue("receipt"))
	return struct {
		Subject string
		Session tenet.SessionID
		memory.Stood
	}{scope.Subject().String(), id, st}, err
}

// record is one record: what it rests on, and the ways down to what came of it.
func (c *Console) record(v *visit) (any, error) {
	o, scope, err := c.operator(v)
	if err != nil {
		return nil, err
	}
	r, ev, err := o.Record(v.Context(), tenet.RecordID(v.FormValue("id")))
	return struct {
		Subject  string
		Record   tenet.Record
		Evidence []tenet.Evidence
	}{scope.Subject().String(), r, ev[:min(len(ev), perPage)]}, err
}
