package console

import (
	"context"
	"slices"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// hold is a held or refused candidate as a reviewer sees it.
type hold struct {
	tenet.Held
	Replaces tenet.Record // what a release would take the place of; without an ID: nothing
}

type coded struct {
	Code tenet.Code
	N    int // open holds of the page
}

type review struct {
	listed[hold]
	Code  string
	Codes []coded
}

func (c *Console) quarantine(v *visit) (any, error) {
	o, scope, err := c.operator(v)
	if err != nil {
		return nil, err
	}
	out := review{listed: listed[hold]{Subject: scope.Subject().String()}, Code: v.FormValue("code")}
	hs, err := o.Held(v.Context(), tenet.CandidateID(v.FormValue("after")), perPage)
	if err != nil {
		return nil, err
	}
	if len(hs) == perPage {
		out.Next = string(hs[perPage-1].Verdict.Candidate)
	}
	for _, h := range hs {
		if h.State == tenet.HoldOpen {
			for _, code := range h.Verdict.Codes {
				i := slices.IndexFunc(out.Codes, func(x coded) bool { return x.Code == code })
				if i < 0 {
					i, out.Codes = len(out.Codes), append(out.Codes, coded{Code: code})
				}
				out.Codes[i].N++
			}
		}
		if out.Code != "" && !slices.Contains(h.Verdict.Codes, tenet.Code(out.Code)) {
			continue
		}
		x := hold{Held: h}
		if h.State == tenet.HoldOpen && h.Candidate.ID != "" {
			if x.Replaces, err = o.WouldReplace(v.Context(), h); err != nil {
				return nil, err
			}
		}
		out.Items = append(out.Items, x)
	}
	return out, nil
}

// decide makes one decision about one hold and leads back to the list.
func (c *Console) decide(v *visit, do func(context.Context, *memory.Operator, tenet.CandidateID) error) (any, error) {
	o, scope, err := c.operator(v)
	if err != nil {
		return nil, err
	}
	if err := do(v.Context(), o, tenet.CandidateID(v.PostFormValue("id"))); err != nil {
		return nil, err
	}
	return moved("/console/quarantine?" + string(query("subject", scope.Subject().String()))), nil
}

func (c *Console) release(v *visit) (any, error) {
	return c.decide(v, func(ctx context.Context, o *memory.Operator, id tenet.CandidateID) error {
		_, err := o.Release(ctx, id)
		return err
	})
}

func (c *Console) reject(v *visit) (any, error) {
	return c.decide(v, func(ctx context.Context, o *memory.Operator, id tenet.CandidateID) error {
		return o.Discard(ctx, id, v.PostFormValue("why"))
	})
}

// admit undoes a rejection: the operator states it, and the rejection stays on record.
func (c *Console) admit(v *visit) (any, error) {
	return c.decide(v, func(ctx context.Context, o *memory.Operator, id tenet.CandidateID) error {
		_, err := o.Admit(ctx, id)
		return err
	})
}

// ask prepares the question to the person. The host application shows it: the
// console has no way to them.
func (c *Console) ask(v *visit) (any, error) {
	_, scope, err := c.operator(v)
	if err != nil {
		return nil, err
	}
	p, err := c.mem.Ask(v.Context(), v.by, scope, tenet.CandidateID(v.PostFormValue("id")))
	return struct {
		Subject string
		Prompt  memory.Prompt
	}{scope.Subject().String(), p}, err
}

// bulked is what became of the open holds with one code.
type bulked struct {
	Subject, Code, Do string
	Done              int
	Failed            []string
	More              bool // there may be further ones
}

// mostBulk bounds one bulk decision.
const mostBulk = 500

// bulk releases or rejects the open holds that have a code, newest first: one
// decision each, every one on the audit chain.
func (c *Console) bulk(v *visit) (any, error) {
	o, scope, err := c.operator(v)
	if err != nil {
		return nil, err
	}
	out := bulked{Subject: scope.Subject().String(), Code: v.PostFormValue("code"), Do: v.PostFormValue("do")}
	if out.Code == "" || out.Do != "release" && out.Do != "reject" {
		return nil, tenet.Errorf(tenet.Invalid, "bulk", "want a code, and release or reject")
	}
	after := tenet.CandidateID("")
	for looked := 0; ; {
		hs, err := o.Held(v.Context(), after, perPage)
		if err != nil {
			return nil, err
		}
		for _, h := range hs {
			after = h.Verdict.Candidate
			if h.State != tenet.HoldOpen || !slices.Contains(h.Verdict.Codes, tenet.Code(out.Code)) {
				continue
			}
			if out.Do == "release" {
				_, err = o.Release(v.Context(), after)
			} else {
				err = o.Discard(v.Context(), after, v.PostFormValue("why"))
			}
			switch {
			case err == nil:
				out.Done++
			case tenet.KindOf(err) == tenet.Unavailable:
				return nil, err
			default:
				out.Failed = append(out.Failed, err.Error())
			}
		}
		looked += len(hs)
		if len(hs) < perPage {
			return out, nil
		}
		if looked >= mostBulk {
			out.More = true
			return out, nil
		}
	}
}
