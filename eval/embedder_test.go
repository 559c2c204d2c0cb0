package eval_test

import (
	"path/filepath"
	"testing"

	"github.com/tenet-memory/tenet/eval"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/model"
)

// TestTheEmbedderImprovesLoCoMo: the step from words alone to the in-process
// model holds its floors, and its gain on recall@10 and on multi-hop questions
// is no accident.
func TestTheEmbedderImprovesLoCoMo(t *testing.T) {
	if testing.Short() {
		t.Skip("it embeds 8,000 texts")
	}
	t.Parallel()
	data := dataDir(t)
	if data == "" {
		t.Skip("the shared data is not here")
	}
	e := installed(t)
	set, err := eval.ReadSet(filepath.Join(data, "retrieval", "locomo"))
	if err != nil {
		t.Fatal(err)
	}
	measure := func(e model.Embedder) eval.Report {
		run, err := eval.Retrieve(t.Context(), engine(t, func(c *memory.Config) { c.Embedder = e }), set, nil)
		if err != nil {
			t.Fatal(err)
		}
		return eval.Score(set, run)
	}
	words, dense := measure(nil), measure(e)
	t.Logf("n %d: words alone recall@5 %.4f @10 %.4f, in process %.4f %.4f; multi-hop @10 %.4f and %.4f", dense.Overall.N,
		words.Overall.Recall5, words.Overall.Recall10, dense.Overall.Recall5, dense.Overall.Recall10,
		words.Categories["multi-hop"].Recall10, dense.Categories["multi-hop"].Recall10)
	if dense.Overall.Recall10 < 0.785 || dense.Overall.Recall5 < 0.70 {
		t.Errorf("recall@10 %.4f, recall@5 %.4f; the floors are 0.785 and 0.70", dense.Overall.Recall10, dense.Overall.Recall5)
	}
	if dense.Leaks != 0 {
		t.Errorf("%d hits of another tenant", dense.Leaks)
	}
	for _, d := range eval.CompareRuns(words, dense) {
		t.Logf("%s %s: n %d, difference %.4f (%.4f to %.4f)", d.Category, d.Measure, d.N, d.Mean, d.Low, d.High)
		if d.Measure == "recall@10" && (d.Category == "overall" || d.Category == "multi-hop") && d.Low <= 0 {
			t.Errorf("%s: the interval of the gain holds 0", d.Category)
		}
	}
}

// TestShellfishIsNearerToShrimpThanToPromotions - and still not near enough to
// stake an allergy on: the margin is a few hundredths of a cosine. That is why
// it is a fact, loaded by identity.
func TestShellfishIsNearerToShrimpThanToPromotions(t *testing.T) {
	t.Parallel()
	e := installed(t)
	q, err := e.Embed(t.Context(), model.Query, "shellfish allergy")
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.Embed(t.Context(), model.Passage, "cannot eat shrimp or crab", "this week's promotions")
	if err != nil {
		t.Fatal(err)
	}
	cosine := func(a, b []float32) (sum float64) {
		for i := range a {
			sum += float64(a[i]) * float64(b[i])
		}
		return sum
	}
	shrimp, promotions := cosine(q[0], p[0]), cosine(q[0], p[1])
	t.Logf("shrimp %.3f, promotions %.3f", shrimp, promotions)
	if shrimp <= promotions {
		t.Error("the allergy is nearer to the promotions")
	}
	if shrimp-promotions > 0.3 {
		t.Error("the margin has become wide: say so in the demo")
	}
}
