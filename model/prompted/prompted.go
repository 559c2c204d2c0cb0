// Package prompted is what extractors that ask a language model share: the
// prompt and its version, the strict form of the answer, its bounds, retries
// and what was spent. A vendor's package adds one call (Model).
//
// A model only proposes. Its answer is read as data from nobody: tiers, keys
// and citations are candidates like any other, the transcript's own words decide
// at the gate whose word they are, and what the model cites but was not shown
// is passed on as unknown, to be refused there with a verdict. The turns
// themselves become episodes without the model.
//
// It imports tenet, model and the standard library.
package prompted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/model"
)

// Model is one call of a vendor's model. It does the vendor's own retries
// (rate limits, overload, lost connections). An error is Unavailable and
// carries no content.
type Model interface {
	// Name is the vendor and model, "anthropic/claude-haiku-5-5".
	Name() string
	Complete(ctx context.Context, r Request) (Answer, error)
}

// Request is one question: what to do, the transcript as data, and the JSON
// Schema that the answer must have.
type Request struct {
	System    string
	Input     string
	Schema    map[string]any
	MaxTokens int64
}

// Answer is what came back.
type Answer struct {
	Text      string
	Truncated bool // it ran into MaxTokens
	Refused   bool // the model would not
	In, Out   int64
}

// Options bound an extractor. The zero value is ready to use.
type Options struct {
	MaxInput  int   // bytes of transcript in one call; default 48 KiB
	MaxOutput int64 // tokens of one answer; default 4096
	MaxItems  int   // candidates of one answer; default 64
	Tries     int   // calls for one answer that can be read; default 3
	// Budget is how many tokens, in and out, may be spent over the extractor's
	// life; past it every stretch fails as Unavailable. Default: no bound.
	Budget int64
}

// Spend counts what an extractor has used and what went wrong.
type Spend struct {
	Calls     int64 `json:"calls"`
	In        int64 `json:"input_tokens"`
	Out       int64 `json:"output_tokens"`
	Failed    int64 `json:"failed"`    // calls without an answer
	Malformed int64 `json:"malformed"` // answers that are not of the form
	Truncated int64 `json:"truncated"`
	Refused   int64 `json:"refused"`
	Oversize  int64 `json:"oversize"` // messages too long to be shown; they are episodes all the same
}

// Extractor implements model.Extractor. It is safe for concurrent use.
type Extractor struct {
	model Model
	o     Options
	spend [8]atomic.Int64
}

const (
	calls = iota
	in
	out
	failed
	malformed
	truncated
	refused
	oversize
)

// New makes an extractor that asks m.
func New(m Model, o Options) *Extractor {
	if o.MaxInput <= 0 {
		o.MaxInput = 48 << 10
	}
	if o.MaxOutput <= 0 {
		o.MaxOutput = 4096
	}
	if o.MaxItems <= 0 {
		o.MaxItems = 64
	}
	if o.Tries <= 0 {
		o.Tries = 3
	}
	return &Extractor{model: m, o: o}
}

// Name implements model.Extractor: the model and the prompt's version.
func (x *Extractor) Name() string { return x.model.Name() + "/" + promptVersion }

// Spend is what was used so far.
func (x *Extractor) Spend() Spend {
	n := func(i int) int64 { return x.spend[i].Load() }
	return Spend{n(calls), n(in), n(out), n(failed), n(malformed), n(truncated), n(refused), n(oversize)}
}

// Extract implements model.Extractor. When one part of the stretch cannot be
// had, the whole stretch fails and stays due: half an extraction would be taken
// for all of it.
func (x *Extractor) Extract(ctx context.Context, st model.Stretch) ([]tenet.Candidate, error) {
	all, err := x.ExtractBatch(ctx, []model.Stretch{st})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// ExtractBatch implements model.BatchExtractor: as many messages share a call as
// fit into it, whatever session they are of.
func (x *Extractor) ExtractBatch(ctx context.Context, ss []model.Stretch) ([][]tenet.Candidate, error) {
	out := make([][]tenet.Candidate, len(ss))
	var shown []message
	of := map[tenet.MessageID]int{}
	for i, st := range ss {
		var err error
		if out[i], err = (model.Verbatim{}).Extract(ctx, st); err != nil {
			return nil, err
		}
		for _, m := range st.Messages {
			of[m.ID] = i
			shown = append(shown, message{m, i})
		}
	}
	parts := x.parts(shown)
	for len(parts) > 0 {
		part := parts[0]
		parts = parts[1:]
		cs, err := x.ask(ctx, part)
		if errors.Is(err, errCut) && len(part) > 1 { // there is more in it than an answer holds
			parts = append([][]message{part[:len(part)/2], part[len(part)/2:]}, parts...)
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, c := range cs {
			i := part[len(part)-1].session // of what cites nothing that was shown
			for _, id := range c.Cites {
				if n, ok := of[id]; ok {
					i = n
				}
			}
			out[i] = append(out[i], c)
		}
	}
	return out, nil
}

// errCut is an answer that did not fit into MaxOutput.
var errCut = &tenet.Error{Kind: tenet.Unavailable, Op: "extract", Reason: "the answer was cut short"}

// message is a message and which of a batch's sessions it is of.
type message struct {
	tenet.Message
	session int
}

// parts cuts the messages so that each part fits one call, and leaves out what
// does not fit at all.
func (x *Extractor) parts(ms []message) [][]message {
	var parts [][]message
	size := x.o.MaxInput + 1
	spoken := false // by the user: nothing else can become a fact
	for _, m := range ms {
		n := len(line(0, m))
		if n > x.o.MaxInput {
			x.spend[oversize].Add(1)
			continue
		}
		if size+n > x.o.MaxInput {
			parts, size = append(parts, nil), 0
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], m)
		size += n
		spoken = spoken || m.Role == tenet.RoleUser
	}
	if !spoken {
		return nil
	}
	return parts
}

// line is a message as the model sees it: JSON, so that no text ends its own
// string and begins another message.
func line(n int, m message) string {
	b, _ := json.Marshal(struct {
		ID      string `json:"id"`
		Session int    `json:"session"`
		Role    string `json:"role"`
		Said    string `json:"said_at"`
		Text    string `json:"text"`
	}{shortID(n), m.session + 1, m.Role.String(), m.Said().UTC().Format(time.RFC3339), m.Text})
	return string(b) + "\n"
}

// shortID names a message within one call: a model cannot cite by it what it
// was not shown.
func shortID(n int) string { return fmt.Sprintf("m%d", n+1) }

func (x *Extractor) ask(ctx context.Context, ms []message) ([]tenet.Candidate, error) {
	var input strings.Builder
	for i, m := range ms {
		input.WriteString(line(i, m))
	}
	r := Request{System: system, Input: input.String(), Schema: schema(x.o.MaxItems), MaxTokens: x.o.MaxOutput}
	var reason error
	for range x.o.Tries {
		if x.o.Budget > 0 && x.spend[in].Load()+x.spend[out].Load() >= x.o.Budget {
			return nil, tenet.Errorf(tenet.Unavailable, "extract", "the token budget is spent")
		}
		x.spend[calls].Add(1)
		a, err := x.model.Complete(ctx, r)
		x.spend[in].Add(a.In)
		x.spend[out].Add(a.Out)
		switch {
		case err != nil: // the vendor's client has tried again already
			x.spend[failed].Add(1)
			return nil, err
		case a.Refused:
			x.spend[refused].Add(1)
			return nil, tenet.Errorf(tenet.Unavailable, "extract", "the model refused to answer")
		case a.Truncated:
			x.spend[truncated].Add(1)
			if reason = errCut; len(ms) > 1 {
				return nil, reason // fewer messages are asked for instead
			}
			continue
		}
		cs, err := read(a.Text, ms, x.o.MaxItems)
		if err == nil {
			return cs, nil
		}
		x.spend[malformed].Add(1)
		reason = tenet.Errorf(tenet.Unavailable, "extract", "the answer is not of the form asked for, %d times", x.o.Tries)
	}
	return nil, reason
}
