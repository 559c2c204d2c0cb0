package main

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

type legalHoldCmd struct {
	Place legalHoldPlaceCmd `cmd:"" help:"Place a legal hold on the subject: nothing of it is erased and nothing expires."`
	Lift  legalHoldLiftCmd  `cmd:"" help:"Lift it."`
	List  legalHoldListCmd  `cmd:"" help:"Show the tenant's legal holds, and how much stays because of them."`
}

type legalHoldPlaceCmd struct {
	Why string `required:"" help:"The reason, for the audit entry and the list. Not memory text."`
}

func (c legalHoldPlaceCmd) Run(a *app) error {
	return a.legalHold(c.Why, "under a legal hold", reviewer.Freeze)
}

type legalHoldLiftCmd struct {
	Why string `required:"" help:"The reason, for the audit entry. Not memory text."`
}

func (c legalHoldLiftCmd) Run(a *app) error {
	return a.legalHold(c.Why, "under no legal hold any more", reviewer.Thaw)
}

func (a *app) legalHold(why, now string, change func(reviewer, context.Context, string) (tenet.AuditEntry, error)) error {
	if err := tenet.CheckText("the reason", why); err != nil {
		return err
	}
	o, err := a.review()
	if err != nil {
		return err
	}
	e, err := change(o, a.ctx, why)
	if err != nil {
		return err
	}
	return a.print(map[string]any{"entry": e}, func() { a.printf("%s since entry %d\n", now, e.Seq) })
}

type legalHoldListCmd struct {
	Limit int `help:"At most this many." default:"50"`
}

func (c legalHoldListCmd) Run(a *app) error {
	if c.Limit < 1 {
		return tenet.Errorf(tenet.Invalid, "usage", "--limit must be positive")
	}
	o, err := a.reviewAll()
	if err != nil {
		return err
	}
	hs, err := o.LegalHolds(a.ctx, tenet.Scope{}, c.Limit)
	if err != nil {
		return err
	}
	return a.print(map[string]any{"legal_holds": orEmpty(hs)}, func() {
		var rows [][]string
		for _, h := range hs {
			rows = append(rows, []string{printable(h.Scope.Subject().String()), stamp(h.Since), printable(h.By), strconv.FormatUint(h.Seq, 10), strconv.Itoa(h.Overdue), printable(h.Why)})
		}
		a.table("SUBJECT|SINCE|BY|ENTRY|OVERDUE|WHY", rows)
	})
}

func (o remoteReview) Freeze(ctx context.Context, why string) (tenet.AuditEntry, error) {
	return o.legalHold(ctx, "freeze", why)
}

func (o remoteReview) Thaw(ctx context.Context, why string) (tenet.AuditEntry, error) {
	return o.legalHold(ctx, "thaw", why)
}

func (o remoteReview) legalHold(ctx context.Context, call, why string) (tenet.AuditEntry, error) {
	var out struct {
		Entry tenet.AuditEntry `json:"entry"`
	}
	_, err := o.r.call(ctx, request{method: "POST", path: scoped(o.scope, call), body: map[string]any{"why": why}}, &out)
	return out.Entry, err
}

type wireLegalHold struct {
	Scope   wireScope `json:"scope"`
	By      string    `json:"by"`
	Why     string    `json:"why"`
	Since   time.Time `json:"since"`
	Seq     uint64    `json:"seq"`
	Overdue int       `json:"overdue"`
}

func (o remoteReview) LegalHolds(ctx context.Context, after tenet.Scope, limit int) ([]memory.LegalHold, error) {
	seen := after.IsZero()
	ws, err := pages(ctx, o.r, "/v1/legal-holds", url.Values{}, func(w wireLegalHold) bool {
		was := seen
		seen = seen || w.Scope.scope() == after
		return was
	}, limit)
	var out []memory.LegalHold
	for _, w := range ws {
		out = append(out, memory.LegalHold{Scope: w.Scope.scope(), By: w.By, Why: w.Why, Since: w.Since, Seq: w.Seq, Overdue: w.Overdue})
	}
	return out, err
}
