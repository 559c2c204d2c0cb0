package inproc

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tenet-memory/tenet/model"
)

// packed is the file that the tests with real weights open. They skip only
// where it is absent; CI installs it first and sets TENET_MODELS.
func packed(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("TENET_MODELS")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Skip("no TENET_MODELS and no home directory")
		}
		dir = filepath.Join(home, ".local", "share", "tenet", "models")
	}
	path := filepath.Join(dir, "e5-small-v2.tenet")
	if _, err := os.Stat(path); os.IsNotExist(err) {
		t.Skip("no weights at " + path + "; model/README.md says how to install them")
	}
	return path
}

// reference is what the model's own fp32 weights and tokeniser gave for
// sentences written for this project, under the reference runtime.
type reference struct {
	Text           string
	IDs            []int32
	Passage, Query []float32
}

func references(t *testing.T) []reference {
	b, err := os.ReadFile("testdata/e5-small-v2.json")
	if err != nil {
		t.Fatal(err)
	}
	var r []reference
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func dot(a, b []float32) float64 {
	var s float64
	for i := range a {
		s += float64(a[i]) * float64(b[i])
	}
	return s
}

func TestVectorsAreThoseOfTheReferenceModel(t *testing.T) {
	m, err := Open(packed(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	worst := 1.0
	for _, r := range references(t) {
		if foreign(r.Text) {
			continue // the reference's tokens hold for it, its vector is not wanted
		}
		for use, want := range map[model.Use][]float32{model.Passage: r.Passage, model.Query: r.Query} {
			got, err := m.Embed(context.Background(), use, r.Text)
			if err != nil {
				t.Fatal(err)
			}
			cos := dot(got[0], want) / math.Sqrt(dot(want, want))
			worst = min(worst, cos)
			if cos < 0.999 {
				t.Errorf("use %d, %q: cosine %.5f with the reference, want 0.999 or more", use, r.Text, cos)
			}
		}
	}
	t.Logf("%d sentences, lowest cosine %.5f", len(references(t)), worst)
}

func TestTokensAreThoseOfTheReferenceTokeniser(t *testing.T) {
	m, err := Open(packed(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range references(t) {
		ids := m.tokens.append(slices.Clone(m.prefix[model.Passage]), r.Text, 511)
		if ids = append(ids, m.tokens.sep); !slices.Equal(ids, r.IDs) {
			t.Errorf("%q:\n got %v\nwant %v", r.Text, ids, r.IDs)
		}
	}
}

func TestMeaningIsNearerThanTopic(t *testing.T) {
	m, err := Open(packed(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	q := embed(t, m, model.Query, "shellfish allergy")[0]
	v := embed(t, m, model.Passage, "cannot eat shrimp or crab", "this week's promotions")
	near, far := dot(q, v[0]), dot(q, v[1])
	if near <= far+0.03 {
		t.Errorf("shrimp at %.3f, promotions at %.3f", near, far)
	}
	t.Logf("shrimp at %.3f, promotions at %.3f", near, far)
}
