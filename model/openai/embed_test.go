package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/model"
	"github.com/tenet-memory/tenet/model/inproc"
	"github.com/tenet-memory/tenet/model/openai"
)

// counted is an embedder whose vectors say what they were made of.
type counted struct{ calls atomic.Int64 }

func (*counted) Space() model.Space { return model.Space{Model: "counted", Dim: 3} }

func (c *counted) Embed(_ context.Context, use model.Use, texts ...string) ([][]float32, error) {
	c.calls.Add(1)
	var out [][]float32
	for _, t := range texts {
		out = append(out, []float32{float32(len(t)), float32(use), 1})
	}
	return out, nil
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

func TestBothSidesOfTheProtocolAgree(t *testing.T) {
	t.Parallel()
	e := &counted{}
	url := serve(t, openai.Handler(e, "m", "query: ", "passage: "))
	c, err := openai.NewEmbedder(t.Context(), openai.EmbedderConfig{BaseURL: url, Model: "m", QueryPrefix: "query: ", PassagePrefix: "passage: ", Batch: 4})
	if err != nil {
		t.Fatal(err)
	}
	if c.Space().Dim != 3 || !strings.Contains(c.Space().Model, "query: ") {
		t.Errorf("space %+v", c.Space())
	}
	texts := []string{"a", "bb", "", "ccc", "dddd", "\xffe", "ffffff", " ", "gg"}
	for _, use := range []model.Use{model.Query, model.Passage} {
		vs, err := c.Embed(t.Context(), use, texts...)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range vs {
			n := float64(len(strings.ToValidUTF8(texts[i], "")))
			if strings.TrimSpace(texts[i]) == "" {
				if v[0] != 0 || v[2] != 0 {
					t.Errorf("an empty text has the vector %v", v)
				}
				continue
			}
			length := math.Sqrt(n*n + float64(use)*float64(use) + 1)
			if math.Abs(float64(v[0])-n/length) > 1e-6 || math.Abs(float64(v[1])-float64(use)/length) > 1e-6 {
				t.Errorf("use %d, text %d: %v", use, i, v)
			}
		}
	}
	other, err := openai.NewEmbedder(t.Context(), openai.EmbedderConfig{BaseURL: url, Model: "m", Dim: 3})
	if err != nil {
		t.Fatal(err)
	}
	if other.Space().Name() == c.Space().Name() {
		t.Error("other prefixes are another space")
	}
}

func TestABadServerIsAnErrorNotAVector(t *testing.T) {
	t.Parallel()
	vector := func(index int, numbers string) string {
		return fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":%s}`, index, numbers)
	}
	list := func(vs ...string) string {
		return `{"object":"list","model":"m","data":[` + strings.Join(vs, ",") + `],"usage":{"prompt_tokens":1,"total_tokens":1}}`
	}
	for name, c := range map[string]struct {
		status int
		body   string
		want   tenet.Kind
	}{
		"fewer vectors":       {200, list(vector(0, "[1,2,3]")), tenet.Internal},
		"more vectors":        {200, list(vector(0, "[1,2,3]"), vector(1, "[1,2,3]"), vector(2, "[1,2,3]")), tenet.Internal},
		"one text twice":      {200, list(vector(0, "[1,2,3]"), vector(0, "[1,2,3]")), tenet.Internal},
		"an index out of all": {200, list(vector(0, "[1,2,3]"), vector(7, "[1,2,3]")), tenet.Internal},
		"another dimension":   {200, list(vector(0, "[1,2,3]"), vector(1, "[1,2]")), tenet.Internal},
		"an empty vector":     {200, list(vector(0, "[1,2,3]"), vector(1, "[]")), tenet.Internal},
		"NaN":                 {200, list(vector(0, "[1,2,3]"), vector(1, "[NaN,1,2]")), tenet.Internal},
		"too large":           {200, list(vector(0, "[1,2,3]"), vector(1, "[1e300,1e300,1]")), tenet.Internal},
		"no JSON":             {200, "hello", tenet.Internal},
		"nothing":             {200, "", tenet.Internal},
		"a refusal":           {400, `{"error":{"message":"secret words of the request"}}`, tenet.Internal},
		"a wrong key":         {401, `{"error":{"message":"no"}}`, tenet.Internal},
		"overload":            {429, `{"error":{"message":"later"}}`, tenet.Unavailable},
		"a broken server":     {500, `{"error":{"message":"oops"}}`, tenet.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.status)
				w.Write([]byte(c.body))
			}))
			cl, err := openai.NewEmbedder(t.Context(), openai.EmbedderConfig{BaseURL: url, Model: "m", Dim: 3, Timeout: 5 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			vs, err := cl.Embed(t.Context(), model.Query, "secret words", "more of them")
			if err == nil || vs != nil || tenet.KindOf(err) != c.want {
				t.Fatalf("%v, %v; want kind %v", vs, err, c.want)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error quotes the text: %v", err)
			}
		})
	}
}

func TestASlowOrAbsentServerIsUnavailable(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	slow := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { close(stop) })
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, url := range map[string]string{"slow": slow, "absent": gone.URL + "/v1"} {
		c, err := openai.NewEmbedder(t.Context(), openai.EmbedderConfig{BaseURL: url, Model: "m", Dim: 3, Timeout: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		started := time.Now()
		if _, err := c.Embed(t.Context(), model.Query, "a"); tenet.KindOf(err) != tenet.Unavailable {
			t.Errorf("%s: %v", name, err)
		}
		if d := time.Since(started); d > 10*time.Second {
			t.Errorf("%s: it took %v", name, d)
		}
		if _, err := openai.NewEmbedder(t.Context(), openai.EmbedderConfig{BaseURL: url, Model: "m", Timeout: 100 * time.Millisecond}); tenet.KindOf(err) != tenet.Unavailable {
			t.Errorf("%s, dimension unknown: %v", name, err)
		}
	}
	for _, bad := range []openai.EmbedderConfig{{}, {BaseURL: "ftp://x", Model: "m"}, {BaseURL: "http://x/v1"}, {BaseURL: "http://x/v1", Model: "m", Dim: -1}} {
		if _, err := openai.NewEmbedder(t.Context(), bad); tenet.KindOf(err) != tenet.Invalid {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// TestARealModelBehindTheProtocol serves the in-process model over a real
// socket, the one real model that can be had here, and wants its vectors back.
func TestARealModelBehindTheProtocol(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("TENET_MODELS")
	if dir == "" {
		home, _ := os.UserHomeDir()
		dir = filepath.Join(home, ".local", "share", "tenet", "models")
	}
	m, err := inproc.Open(filepath.Join(dir, "e5-small-v2.tenet"), inproc.Options{})
	if err != nil {
		t.Skip("the in-process model is not installed: make model")
	}
	url := serve(t, openai.Handler(m, "e5-small-v2", "query: ", "passage: "))
	c, err := openai.NewEmbedder(t.Context(), openai.EmbedderConfig{BaseURL: url, Model: "e5-small-v2", QueryPrefix: "query: ", PassagePrefix: "passage: "})
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"shellfish allergy", "I cannot eat shrimp or crab.", "this week's promotions"}
	for _, use := range []model.Use{model.Query, model.Passage} {
		want, err := m.Embed(t.Context(), use, texts...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Embed(t.Context(), use, texts...)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			var dot float64
			for j := range want[i] {
				dot += float64(want[i][j]) * float64(got[i][j])
			}
			if dot < 0.999999 {
				t.Errorf("use %d, %q: cosine %v with the vector made here", use, texts[i], dot)
			}
		}
	}
}

func TestTheServerRefusesWhatItCannotAnswer(t *testing.T) {
	t.Parallel()
	url := serve(t, openai.Handler(&counted{}, "m", "query: ", "passage: "))
	for body, want := range map[string]int{
		`{`: 400, `{"model":"m"}`: 400, `{"model":"m","input":[]}`: 400, `{"model":"m","input":[1,2]}`: 400, `{"model":"other","input":"a"}`: 404,
		`{"model":"m","input":"a"}`: 200, `{"model":"m","input":["a","b"],"encoding_format":"base64"}`: 200,
	} {
		resp, err := http.Post(url+"/embeddings", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		var v map[string]any
		if err := json.NewDecoder(resp.Body).Decode(&v); err != nil || resp.StatusCode != want {
			t.Errorf("%s: %d %v", body, resp.StatusCode, err)
		}
		resp.Body.Close()
	}
}
