package console

import (
	"slices"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// tainted is what came from a source, the first of it in full.
type tainted struct {
	Subject, Kind, Name string
	Records             []tenet.Record
	All, Open, Agreed   int
	Restored, Served    int
	Revoked             string
	Windows             []servedIn // the newest in which one of them stood
}

// servedIn is a receipt, and whose session left it.
type servedIn struct {
	Subject string
	tenet.Receipt
}

func sourceOf(kind, name string) (memory.Source, error) {
	switch {
	case name == "":
	case kind == "record":
		return memory.Source{Record: tenet.RecordID(name)}, nil
	case kind == "session":
		return memory.Source{Session: tenet.SessionID(name)}, nil
	case kind == "message":
		return memory.Source{Message: tenet.MessageID(name)}, nil
	case kind == "origin":
		return memory.Source{Origin: name}, nil
	}
	return memory.Source{}, tenet.Errorf(tenet.Invalid, "taint", "want a record, session, message or origin, and its name")
}

// taint follows a source down to everything derived from it, and writes nothing.
func (c *Console) taint(v *visit) (any, error) {
	return c.follow(v, func(o *memory.Operator, s memory.Source) (memory.Taint, error) { return o.Taint(v.Context(), s) })
}

// revoke takes what came from a source out of belief. The form that asks for it
// stands on the page that has counted.
func (c *Console) revoke(v *visit) (any, error) {
	return c.follow(v, func(o *memory.Operator, s memory.Source) (memory.Taint, error) {
		return o.Revoke(v.Context(), s, v.PostFormValue("why"))
	})
}

func (c *Console) follow(v *visit, do func(*memory.Operator, memory.Source) (memory.Taint, error)) (any, error) {
	o, scope, err := c.operator(v)
	if err != nil {
		return nil, err
	}
	out := tainted{Subject: scope.Subject().String(), Kind: v.FormValue("kind"), Name: v.FormValue("name")}
	src, err := sourceOf(out.Kind, out.Name)
	if err != nil {
		return nil, err
	}
	t, err := do(o, src)
	if err != nil {
		return nil, err
	}
	out.All, out.Open, out.Agreed, out.Restored, out.Served, out.Revoked = len(t.Records), t.Open(), len(t.Agreed), len(t.Restored), len(t.Served), t.Revoked
	out.Records = slices.Clone(t.Records[:min(len(t.Records), perPage)])
	for _, r := range t.Served[max(0, len(t.Served)-perPage):] {
		if v.by.MayReach(r.Scope) {
			out.Windows = append(out.Windows, servedIn{r.Scope.Subject().String(), r.Receipt})
		}
	}
	return out, nil
}
