package inproc_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/tenet-memory/tenet/model"
	"github.com/tenet-memory/tenet/model/inproc"
)

// A model in the process. It is compiled and not run: the weights are not everywhere.
func ExampleOpen() {
	ctx, path := context.Background(), os.Getenv("MODEL") // an installed model's file
	m, err := inproc.Open(path, inproc.Options{})         // inproc.Options{Workers: 2} to use two cores in one call
	if err != nil {
		log.Fatal(err)
	}
	v, err := m.Embed(ctx, model.Passage, "I cannot eat shrimp.") // what is remembered
	q, err := m.Embed(ctx, model.Query, "shellfish allergy")      // what looks for it
	fmt.Println(m.Space(), len(v), len(q), err)                   // {e5-small-v2/ee38d82e 384}: model, checksum of the packing, width
}
