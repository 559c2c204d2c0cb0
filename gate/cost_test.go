package gate

import (
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
)

const text300 = `I have moved to Lisbon with my family last spring, and I'd rather not be called before ten in the morning. Please don't
send anything to the old address in Berlin any more; my sister Anna, who's a nurse, picks up parcels on weekdays. I still prefer aisle
seats and vegetarian food on long flights.`

func BenchmarkJudgeWithoutRules(b *testing.B) {
	scope, _ := tenet.NewScope("acme", tenet.User("sarah"))
	app, _ := tenet.NewPrincipal(tenet.App, "acme", "app")
	g := New(nil)
	c := tenet.Fact(scope, "memo", text300).Quoting(text300)
	c.ID = "c"
	k := Case{By: app, Candidate: c, At: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Judge(k); err != nil {
			b.Fatal(err)
		}
	}
}
