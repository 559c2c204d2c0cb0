package model

import (
	"context"

	"github.com/tenet-memory/tenet"
)

// Stretch is a run of consecutive messages of one session, ready to be
// consolidated.
type Stretch struct {
	Session  tenet.Session
	Messages []tenet.Message // in order; those to retain nothing of are left out
}

// Extractor proposes durable records from a finished stretch. It is only a
// proposer: each candidate must cite the messages it rests on, and the gate
// decides. Ids, scopes and times of proposal are set by the engine.
type Extractor interface {
	// Name is the extractor and its version, "verbatim/1". It goes into the
	// candidates' ids: a new version proposes anew.
	Name() string
	// Extract returns candidates in a stable order. An error leaves the
	// stretch due; it must not carry memory content.
	Extract(ctx context.Context, s Stretch) ([]tenet.Candidate, error)
}

// BatchExtractor is an Extractor for which one call costs much and a longer one
// little more, as it is with a model. All stretches are of one scope: nothing
// of one person is ever shown beside another's.
type BatchExtractor interface {
	Extractor
	// ExtractBatch returns the candidates of each stretch, in the order given.
	// A candidate belongs to the stretch of the last message it cites. It is
	// all or nothing: after an error each stretch is extracted by itself.
	ExtractBatch(ctx context.Context, ss []Stretch) ([][]tenet.Candidate, error)
}

// Verbatim is the extractor that needs no model: every spoken turn becomes an
// episode, word for word. Tool results and the harness's own instructions do
// not: they can be fetched again, and nobody said them.
type Verbatim struct{}

func (Verbatim) Name() string { return "verbatim/1" }

func (Verbatim) Extract(_ context.Context, s Stretch) ([]tenet.Candidate, error) {
	var out []tenet.Candidate
	for _, m := range s.Messages {
		if m.Text == "" || m.Role != tenet.RoleUser && m.Role != tenet.RoleAssistant {
			continue
		}
		out = append(out, tenet.Candidate{
			Tier: tenet.TierEpisode, Text: m.Text, Cites: []tenet.MessageID{m.ID},
			Speaker: m.Speaker, Position: m.Seq,
		})
	}
	return out, nil
}
