package tenet_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/policy"
	"github.com/tenet-memory/tenet/store/sqlite"
)

// Sarah names her allergy in one session and asks for promotions in the next.
func Example() {
	ctx := context.Background()
	db, _ := sqlite.Open(ctx, sqlite.Memory, sqlite.Options{}) // a path keeps it
	defer db.Close()
	mem, _ := memory.Open(ctx, memory.Config{Ledger: db, Sessions: db, Gate: gate.New(policy.Default(), policy.Keys())})
	sarah, _ := tenet.NewScope("acme", tenet.User("sarah"))
	app, _ := tenet.NewPrincipal(tenet.App, "acme", "travel-shop")

	// Session one: what she says is recorded, and remembered with it as evidence.
	one, _ := mem.Session(ctx, app, sarah, "chat-1")
	said, _ := one.Append(ctx, tenet.UserMessage("I have a severe shellfish allergy, please flag any seafood promotions."))
	fact := tenet.Fact(sarah, "allergy", "Severe shellfish allergy. Flag any seafood promotions.").Citing(said[0].ID)
	verdict, err := mem.Remember(ctx, app, fact)
	fmt.Println(verdict.Outcome, verdict.Label, err)
	one.End(ctx)

	// Session two: another conversation, another question.
	two, _ := mem.Session(ctx, app, sarah, "chat-2")
	two.Append(ctx, tenet.UserMessage("Show me this week's promotions."))
	window, _ := two.Context(ctx, "", memory.Budget{Tokens: 2000})
	fmt.Println(strings.Contains(window.System, "allergy: Severe shellfish allergy."))
	// Output:
	// stored user_stated <nil>
	// true
}
