package extract

import (
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/model"
	"github.com/tenet-memory/tenet/model/rules"
)

// An extraction is one fact or note proposed from a row.
type extraction struct {
	row row
	c   tenet.Candidate
}

// key is what the extraction is labelled by beside its row and value.
func (e extraction) key() string {
	k := e.c.Key
	if e.c.Tier == tenet.TierNote {
		k = "note"
	}
	if e.c.Op != tenet.OpAssert {
		k = e.c.Op.String() + " " + k
	}
	return k
}

// extractions runs the extractor over a row as a session of one user turn.
func extractions(t testing.TB, r row) []extraction {
	t.Helper()
	cs, err := rules.Extractor{}.Extract(t.Context(), model.Stretch{Messages: []tenet.Message{{
		ID: "m", Seq: 1, Role: tenet.RoleUser, Text: r.text, SaidAt: time.Date(2026, 4, 16, 12, 0, 0, 0, time.UTC),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	var out []extraction
	for _, c := range cs {
		if c.Tier != tenet.TierEpisode {
			out = append(out, extraction{r, c})
		}
	}
	return out
}
