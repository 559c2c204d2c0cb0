package openai_test

import (
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/tenet-memory/tenet/model"
	"github.com/tenet-memory/tenet/model/openai"
)

// TestALocalServer speaks to a real server with real models, one that this
// project did not write the protocol of: make test-embed-server starts it.
func TestALocalServer(t *testing.T) {
	t.Parallel()
	url := os.Getenv("TENET_TEST_EMBED_URL")
	if url == "" {
		t.Skip("TENET_TEST_EMBED_URL is not set: make test-embed-server")
	}
	c, err := openai.NewEmbedder(t.Context(), openai.EmbedderConfig{
		BaseURL: url, Model: os.Getenv("TENET_TEST_EMBED_MODEL"), QueryPrefix: "query: ", PassagePrefix: "passage: ", Batch: 8,
	})
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"I cannot eat shrimp or crab.", "this week's promotions", "", "Ich esse keine Garnelen \U0001F990"}
	for i := range 20 { // more than two requests
		texts = append(texts, fmt.Sprintf("Invoice %d was paid on Tuesday.", i))
	}
	passages, err := c.Embed(t.Context(), model.Passage, texts...)
	if err != nil {
		t.Fatal(err)
	}
	queries, err := c.Embed(t.Context(), model.Query, "shellfish allergy")
	if err != nil {
		t.Fatal(err)
	}
	dot := func(a, b []float32) (sum float64) {
		for i := range a {
			sum += float64(a[i]) * float64(b[i])
		}
		return sum
	}
	for i, v := range passages {
		want := 1.0
		if texts[i] == "" {
			want = 0
		}
		if len(v) != c.Space().Dim || math.Abs(dot(v, v)-want) > 1e-4 {
			t.Errorf("text %d: %d numbers of length %v", i, len(v), dot(v, v))
		}
	}
	near, far := dot(queries[0], passages[0]), dot(queries[0], passages[1])
	t.Logf("%s: shrimp %.3f, promotions %.3f", c.Space().Name(), near, far)
	if near <= far {
		t.Error("the allergy is nearer to the promotions")
	}
	again, err := c.Embed(t.Context(), model.Passage, texts[:2]...)
	if err != nil || dot(again[0], passages[0]) < 0.99999 {
		t.Errorf("the same text in another request: %v", err)
	}
	if _, err := openai.NewEmbedder(t.Context(), openai.EmbedderConfig{BaseURL: url, Model: "no such model"}); err == nil {
		t.Error("a model that the server has not got is accepted")
	}
}
