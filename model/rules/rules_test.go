package rules_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/model"
	"github.com/tenet-memory/tenet/model/rules"
)

// said is Thursday 16 April 2026, 09:30 in Oslo.
var said = time.Date(2026, 4, 16, 7, 30, 0, 0, time.UTC)

func zone(t testing.TB) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation("Europe/Oslo")
	if err != nil {
		t.Skip("no time zone data")
	}
	return loc
}

func user(texts ...string) []tenet.Message {
	var out []tenet.Message
	for i, text := range texts {
		out = append(out, tenet.Message{
			ID: tenet.MessageID(fmt.Sprint("m", i)), Seq: int64(i + 1), Role: tenet.RoleUser, Text: text,
			SaidAt: said.Add(time.Duration(i) * time.Minute), Label: tenet.LabelUserStated,
		})
	}
	return out
}

func extract(t testing.TB, ms []tenet.Message) []tenet.Candidate {
	t.Helper()
	x := rules.Extractor{Zone: func(tenet.Scope) *time.Location { return zone(t) }}
	cs, err := x.Extract(context.Background(), model.Stretch{Messages: ms})
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(cs, func(c tenet.Candidate) bool { return c.Tier == tenet.TierEpisode })
}

// brief writes a candidate as the tests expect it.
func brief(t testing.TB, c tenet.Candidate) string {
	if c.Tier == tenet.TierNote {
		return "note: " + c.Text
	}
	s := c.Key + "=" + string(c.Value)
	if c.Op != tenet.OpAssert {
		s = c.Op.String() + " " + s
	}
	if v := c.Valid.From; !v.IsZero() {
		s += " from " + v.In(zone(t)).Format("2006-01-02 15:04")
	}
	if v := c.Valid.To; !v.IsZero() {
		s += " to " + v.In(zone(t)).Format("2006-01-02 15:04")
	}
	return strings.ReplaceAll(s, " 00:00", "")
}

func briefs(t testing.TB, cs []tenet.Candidate) string {
	var out []string
	for i, c := range cs {
		if i > 0 && again(cs[i-1], c) {
			continue // the same with "and so it is today"
		}
		out = append(out, brief(t, c))
	}
	return strings.Join(out, "; ")
}

// again reports whether b says only that a holds when it is said.
func again(a, b tenet.Candidate) bool {
	return a.Key != "" && a.Key == b.Key && a.Op == b.Op && string(a.Value) == string(b.Value) && !a.Valid.From.IsZero() && b.Valid.From.IsZero()
}
