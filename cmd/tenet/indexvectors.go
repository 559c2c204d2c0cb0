package main

import (
	"fmt"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/store/postgres"
)

// indexVectorsCmd decides which scopes are too large to have their vectors in
// every server's memory. Servers see it at the next vector that is written, or
// when they load the scope.
type indexVectorsCmd struct {
	Over int `default:"200000" help:"Index the scopes with at least so many vectors; drop the index of those with fewer than half."`
}

// indexing bounds one statement of it: a million vectors take many minutes.
const indexing = 12 * time.Hour

func (c indexVectorsCmd) Run(a *app) error {
	const op = "index-vectors"
	if err := a.local(op); err != nil {
		return err
	}
	if a.set.store.scheme != "postgres" {
		return tenet.Errorf(tenet.Invalid, "usage", "index-vectors is for a PostgreSQL store: a file's vectors are always compared in process")
	}
	if c.Over < 1 {
		return tenet.Errorf(tenet.Invalid, "usage", "--over is a number of vectors, 1 or more")
	}
	if err := a.unwrapKeys(); err != nil {
		return err
	}
	db, err := a.set.openServer(a.ctx, postgres.Options{MasterKey: a.set.masterKey, Timeout: indexing})
	if err != nil {
		return err
	}
	defer db.Close()
	out := []postgres.PlaceIndex{}
	if err := db.IndexPlaces(a.ctx, c.Over, memory.Bands(), func(p postgres.PlaceIndex) { out = append(out, p) }); err != nil {
		return err
	}
	return a.print(out, func() {
		if len(out) == 0 {
			a.printf("no scope has %d vectors\n", c.Over)
		}
		for _, p := range out {
			switch {
			case p.Dropped > 0:
				a.printf("dropped %d indexes of scopes that went or are small now\n", p.Dropped)
			case p.Made == 0:
				a.printf("%s, scope %d, %s: %d vectors, indexed before\n", p.Tenant, p.Scope, p.Space, p.Places)
			default:
				a.printf("%s, scope %d, %s: %d vectors, %d indexes in %v%s\n", p.Tenant, p.Scope, p.Space, p.Places, p.Made, p.Took.Round(time.Millisecond), measured(p))
			}
		}
	})
}

func measured(p postgres.PlaceIndex) string {
	if p.Measured == 0 {
		return ", too few to measure"
	}
	return fmt.Sprintf(", %.1f%% of the ten nearest are found (%d questions)", 100*p.Recall, p.Measured)
}
