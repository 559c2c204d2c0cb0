package console

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// looked is what was asked of the chain, as the form has it.
type looked struct {
	Since, Until, Actor, Action, Code string
}

type audited struct {
	listed[tenet.AuditEntry]
	Asked    looked
	First    uint64 // of the extract that the page offers
	Verified string
	Sound    bool
	At       time.Time
}

// day reads a date, or an instant, of a form; empty is zero.
func day(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	for _, form := range []string{time.DateOnly, "2006-01-02T15:04", time.RFC3339} {
		if t, err := time.Parse(form, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, tenet.Errorf(tenet.Invalid, "audit", "want a time as 2006-01-02 or 2006-01-02T15:04, in UTC")
}

func (c *Console) audit(v *visit) (any, error) {
	o, scope, err := c.operator(v)
	if err != nil {
		return nil, err
	}
	out := audited{listed: listed[tenet.AuditEntry]{Subject: scope.Subject().String()}, At: c.cfg.Now(),
		Asked: looked{v.FormValue("since"), v.FormValue("until"), v.FormValue("actor"), v.FormValue("action"), v.FormValue("code")}}
	r := memory.Reading{Actor: out.Asked.Actor, Action: out.Asked.Action, Code: tenet.Code(out.Asked.Code), Limit: perPage}
	if r.From, err = seq(v.FormValue("from")); err == nil {
		r.Since, err = day(out.Asked.Since)
	}
	if err == nil {
		r.Until, err = day(out.Asked.Until)
	}
	if err != nil {
		return nil, err
	}
	out.First = max(r.From, 1)
	es, next, err := o.Search(v.Context(), r)
	if err != nil {
		return nil, err
	}
	if out.Items = es; next > 0 {
		out.Next = strconv.FormatUint(next, 10)
	}
	if v.FormValue("verify") != "" {
		r, err := o.Verify(v.Context())
		if err != nil {
			return nil, err
		}
		out.Verified, out.Sound = "The chain holds.", r.OK()
		if !out.Sound {
			out.Verified = "The chain does not hold, from entry " + strconv.FormatUint(r.Bad, 10) + "."
		}
	}
	return out, nil
}

func seq(s string) (uint64, error) {
	if s == "" {
		return 1, nil
	}
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		return 0, tenet.Errorf(tenet.Invalid, "audit", "from is not an entry's number")
	}
	return n, nil
}

// download is an answer that the browser keeps as a file.
type download struct {
	name  string
	write func(io.Writer) error
}

// begun is a response that says what it is when its first byte is written: an
// error before that is a page.
type begun struct {
	http.ResponseWriter
	name string
	yes  bool
}

func (b *begun) Write(p []byte) (int, error) {
	if !b.yes {
		b.yes = true
		b.Header().Set("Content-Type", "application/json")
		b.Header().Set("Content-Disposition", `attachment; filename="`+b.name+`"`)
	}
	return b.ResponseWriter.Write(p)
}

// mostExtract bounds the entries of one extract.
const mostExtract = 1000

// extract is a signed stretch of the chain.
func (c *Console) extract(v *visit) (any, error) {
	o, _, err := c.operator(v)
	if err != nil {
		return nil, err
	}
	from, err := seq(v.FormValue("from"))
	if err != nil {
		return nil, err
	}
	x, err := o.Extract(v.Context(), from, mostExtract)
	if err != nil {
		return nil, err
	}
	b, err := json.MarshalIndent(x, "", " ")
	return download{fmt.Sprintf("audit-from-%d.json", from), func(w io.Writer) error {
		_, err := w.Write(append(b, '\n'))
		return err
	}}, err
}
