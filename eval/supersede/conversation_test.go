package supersede

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/model/rules"
)

// TestConversationsCorrectEndAndForget runs conversations through the default
// extractor: corrections supersede by key with the stated time, "yesterday" is
// counted from the message in the subject's zone though consolidation is days
// later, and what is taken back leaves no open value.
func TestConversationsCorrectEndAndForget(t *testing.T) {
	oslo, err := time.LoadLocation("Europe/Oslo")
	if err != nil {
		t.Skip("no time zone data")
	}
	monday := time.Date(2026, 6, 1, 23, 30, 0, 0, time.UTC) // already Tuesday in Oslo
	for _, story := range []struct {
		name  string
		turns []string // a day apart
		want  map[string]string
		past  map[string]string // key: values with their intervals, as believed today
	}{
		{"a move with its time", []string{"I live in Berlin.", "Actually I moved to Oslo in May."},
			map[string]string{"home_city": `"Oslo"`}, map[string]string{"home_city": `"Oslo" 2026-05-01 2026-06-02; "Berlin" 2026-06-02 2026-06-03; "Oslo" 2026-06-03 -; `}},
		{"a move before it was known", []string{"I live in Berlin.", "I moved to Oslo today."},
			map[string]string{"home_city": `"Oslo"`}, map[string]string{"home_city": `"Berlin" 2026-06-02 2026-06-03; "Oslo" 2026-06-03 -; `}},
		{"yesterday", []string{"I live in Berlin.", "Yesterday I moved to Oslo."},
			map[string]string{"home_city": `"Oslo"`}, map[string]string{"home_city": `"Oslo" 2026-06-02 2026-06-02; "Berlin" 2026-06-02 2026-06-03; "Oslo" 2026-06-03 -; `}},
		{"no longer", []string{"I'm vegan.", "I'm no longer vegan."},
			map[string]string{"diet": ""}, map[string]string{"diet": `"vegan" 2026-06-02 2026-06-03; `}},
		{"a misunderstanding", []string{"My email is a@example.com. No, it's b@example.com."},
			map[string]string{"email": `"b@example.com"`}, map[string]string{"email": `"b@example.com" 2026-06-02 -; `}},
		{"one of several", []string{"I'm allergic to peanuts and shellfish.", "Please remove shellfish from my allergies."},
			map[string]string{"allergy": `"peanut"`}, map[string]string{"allergy": `"peanut" 2026-06-02 -; `}},
		{"outgrown", []string{"I'm allergic to peanuts and eggs.", "I've outgrown my egg allergy."},
			map[string]string{"allergy": `"peanut"`}, map[string]string{"allergy": `"peanut" 2026-06-02 -; "egg" 2026-06-02 2026-06-03; `}},
		{"forget", []string{"My phone number is 555-123-4567.", "Please forget my phone number."},
			map[string]string{"phone": ""}, map[string]string{"phone": ""}},
		{"said twice", []string{"I'm allergic to shellfish.", "Remember that I'm allergic to shellfish!"},
			map[string]string{"allergy": `"shellfish"`}, map[string]string{"allergy": `"shellfish" 2026-06-02 -; `}},
		{"a job lost", []string{"I work for Acme Robotics.", "I quit my job yesterday."},
			map[string]string{"employer": ""}, map[string]string{"employer": ""}},
	} {
		t.Run(story.name, func(t *testing.T) {
			backends(t, func(t *testing.T, e *engine) {
				ctx, scope := t.Context(), user(t, story.name)
				for day, text := range story.turns {
					e.now = monday.AddDate(0, 0, day)
					s, err := e.Session(ctx, e.app, scope, tenet.SessionID(fmt.Sprint("day ", day)))
					if err != nil {
						t.Fatal(err)
					}
					if _, err := s.Append(ctx, tenet.UserMessage(text)); err != nil {
						t.Fatal(err)
					}
				}
				e.now = monday.AddDate(0, 0, 9) // consolidated much later, in order
				for day := range story.turns {
					r, err := e.Consolidate(ctx, e.app, scope, tenet.SessionID(fmt.Sprint("day ", day)))
					if err != nil {
						t.Fatal(err)
					}
					for _, v := range r.Verdicts {
						if !v.Outcome.Kept() {
							t.Errorf("%s is %s %v", v.Key, v.Outcome, v.Codes)
						}
					}
				}
				facts, err := e.Facts(ctx, e.app, tenet.AsOf{}, scope)
				if err != nil {
					t.Fatal(err)
				}
				for key, want := range story.want {
					got := ""
					for _, f := range facts {
						if f.Key == key {
							got += string(f.Value)
						}
					}
					if got != want {
						t.Errorf("%s is %s, want %s", key, got, want)
					}
				}
				for key, want := range story.past {
					records, err := e.History(ctx, e.app, scope, key)
					if err != nil {
						t.Fatal(err)
					}
					got := ""
					slices.SortStableFunc(records, func(a, b tenet.Record) int { return a.Valid.From.Compare(b.Valid.From) })
					for _, r := range records {
						if r.Known.Open() {
							got += fmt.Sprintf("%s %s %s; ", r.Value, day(r.Valid.From, oslo), day(r.Valid.To, oslo))
						}
					}
					if got != want {
						t.Errorf("the history of %s is %s, want %s", key, got, want)
					}
				}
			}, func(c *memory.Config) {
				c.Extractor = rules.Extractor{Zone: func(tenet.Scope) *time.Location { return oslo }}
			})
		})
	}
}

func day(t time.Time, loc *time.Location) string {
	if t.IsZero() {
		return "-"
	}
	return t.In(loc).Format("2006-01-02")
}
