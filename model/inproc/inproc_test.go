package inproc

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/model"
)

// tiny is a whole encoder with random weights, for what does not depend on
// the numbers.
func tiny() *Weights {
	r := rand.New(rand.NewPCG(3, 4))
	w := &Weights{Config: Config{Model: "tiny", Dim: 32, Heads: 2, Layers: 2, Inner: 64, MaxTokens: 64,
		Pooling: "mean", NormEps: 1e-12, QueryPrefix: "query: ", PassagePrefix: "passage: "}}
	w.Vocabulary = strings.Fields("[PAD] [UNK] [CLS] [SEP] query passage : shellfish allergy ##s shrimp or crab the a no ! 贝 类 cafe")
	for c := 'a'; c <= 'z'; c++ {
		w.Vocabulary = append(w.Vocabulary, "##"+string(c))
	}
	w.shape()
	random := func(n int) []float32 {
		f := make([]float32, n)
		for i := range f {
			f[i] = float32(r.NormFloat64()) * 0.3
		}
		return f
	}
	err := w.each(func(p *[]float32, n int) error {
		*p = random(n)
		return nil
	}, func(p *[]int8, n int) error {
		*p = Quantise(1, n, random(n)).Q
		return nil
	})
	if err != nil {
		panic(err)
	}
	return w
}

func save(t testing.TB, w *Weights) (string, []byte) {
	t.Helper()
	var b bytes.Buffer
	if err := w.Write(&b); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m.tenet")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, b.Bytes()
}

func openTiny(t testing.TB, workers int, k kernel) *Model {
	t.Helper()
	path, _ := save(t, tiny())
	m, err := open(path, Options{Workers: workers}, k)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func embed(t testing.TB, m *Model, use model.Use, texts ...string) [][]float32 {
	t.Helper()
	v, err := m.Embed(context.Background(), use, texts...)
	if err != nil {
		t.Fatal(err)
	}
	if len(v) != len(texts) {
		t.Fatalf("%d vectors for %d texts", len(v), len(texts))
	}
	return v
}

// samples are texts of all the lengths that change how rows are padded.
func samples() []string {
	var out []string
	for i := range 70 {
		out = append(out, strings.Repeat("shellfish allergy ", i)+fmt.Sprint("no crab", i))
	}
	return out
}

var _ model.Embedder = (*Model)(nil)

func TestEveryKernelGivesTheSameVectorToTheBit(t *testing.T) {
	want := embed(t, openTiny(t, 1, portable()), model.Passage, samples()...)
	for _, k := range kernels() {
		for i, v := range embed(t, openTiny(t, 1, k), model.Passage, samples()...) {
			if !slices.Equal(v, want[i]) {
				t.Fatalf("text %d differs between %s and portable", i, k.name)
			}
		}
	}
}

func TestEveryKernelGivesThePackedModelsVectorToTheBit(t *testing.T) {
	path := packed(t)
	var want [][]float32
	for _, k := range slices.Backward(kernels()) { // portable first
		m, err := open(path, Options{}, k)
		if err != nil {
			t.Fatal(err)
		}
		if got := embed(t, m, model.Query, sentence); want == nil {
			want = got
		} else if !slices.Equal(got[0], want[0]) {
			t.Errorf("%s gives other bits than the portable kernel", k.name)
		}
	}
}

func TestAVectorDoesNotDependOnItsCompany(t *testing.T) {
	one, two := openTiny(t, 1, kernels()[0]), openTiny(t, 4, kernels()[0])
	texts := samples()
	together, parallel := embed(t, one, model.Passage, texts...), embed(t, two, model.Passage, texts...)
	for i, text := range texts {
		alone := embed(t, one, model.Passage, text)[0]
		if !slices.Equal(alone, together[i]) || !slices.Equal(alone, parallel[i]) {
			t.Fatalf("text %d alone, in a batch and with four workers gives different vectors", i)
		}
	}
}

func TestQueriesAndPassagesDiffer(t *testing.T) {
	m := openTiny(t, 1, kernels()[0])
	if slices.Equal(embed(t, m, model.Query, "crab")[0], embed(t, m, model.Passage, "crab")[0]) {
		t.Error("the prefix makes no difference")
	}
}

func TestStrangeTextsGetAVectorOrTheZeroVector(t *testing.T) {
	m := openTiny(t, 2, kernels()[0])
	zero := map[string]string{
		"empty": "", "white space": " \t\r\n\u00a0\u3000", "only emoji": "🙂🙃🦐", "only control": "\x00\x01\u200f\u202e",
		"only invalid UTF-8": "\xff\xfe\xed\xa0\x80", "only marks": "\u0301\u0302", "word of 1 MB": strings.Repeat("a", 1<<20),
		"only a BOM": "\ufeff", "a lone separator": "\u2028", "Han": "贝类",
		"Arabic": "حساسية من المحار", "mostly Hindi": "मुझे shrimp से एलर्जी है",
	}
	for name, text := range zero {
		if v := embed(t, m, model.Passage, text)[0]; len(v) != 32 || slices.ContainsFunc(v, func(f float32) bool { return f != 0 }) {
			t.Errorf("%s: not the zero vector", name)
		}
	}
	some := map[string]string{
		"1 MB of words": strings.Repeat("shrimp or crab ", 70000), "1 MB of punctuation": strings.Repeat("!", 1<<20),
		"invalid bytes inside": "shell\xfffish \xc3( allergy", "control token as text": "[CLS] [SEP] crab", "stacked marks": "crab" + strings.Repeat("\u0301", 5000) + " crab",
		"right to left": "\u202eshrimp", "accents": "CAFÉ", "a Han word among others": "no 贝类 crab", "emoji among words": "no🦐 crab",
	}
	for name, text := range some {
		v := embed(t, m, model.Query, text)[0]
		if n := dot(v, v); math.Abs(n-1) > 1e-5 {
			t.Errorf("%s: squared length %v, want 1", name, n)
		}
	}
	if !slices.Equal(embed(t, m, model.Passage, "shell\xfffish")[0], embed(t, m, model.Passage, "shellfish")[0]) {
		t.Error("invalid bytes change the vector")
	}
}

func TestOnlyTheBeginningOfALongTextCounts(t *testing.T) {
	m := openTiny(t, 1, kernels()[0])
	long := strings.Repeat("crab ", 1000)
	start := time.Now()
	a := embed(t, m, model.Passage, long+"shrimp", long+strings.Repeat("no ", 1<<18))
	if !slices.Equal(a[0], a[1]) {
		t.Error("text beyond the model's length changes the vector")
	}
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("long texts took %v; they must cost no more than the model's length", d)
	}
}

func TestBadCallsAreErrors(t *testing.T) {
	m := openTiny(t, 2, kernels()[0])
	if v, err := m.Embed(context.Background(), model.Passage); err != nil || len(v) != 0 {
		t.Errorf("no texts: %v, %v", v, err)
	}
	if _, err := m.Embed(context.Background(), model.Use(9), "x"); tenet.KindOf(err) != tenet.Invalid {
		t.Errorf("unknown use: %v", err)
	}
	if _, err := m.Embed(context.Background(), model.Query, make([]string, MaxTexts+1)...); tenet.KindOf(err) != tenet.Invalid {
		t.Errorf("too many texts: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if v, err := m.Embed(ctx, model.Query, "crab"); v != nil || tenet.KindOf(err) != tenet.Unavailable {
		t.Errorf("ended context: %v, %v", v, err)
	}
}

func TestTheSpaceNamesTheWeights(t *testing.T) {
	a := openTiny(t, 1, kernels()[0])
	other := tiny()
	other.Layer[1].DownBias[0] += 0.001
	path, _ := save(t, other)
	b, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if a.Space() == b.Space() || a.Space().Dim != 32 || !strings.HasPrefix(a.Space().Model, "tiny/") {
		t.Errorf("spaces %v and %v", a.Space(), b.Space())
	}
	if c := openTiny(t, 3, portable()); c.Space() != a.Space() {
		t.Errorf("the same weights are two spaces: %v and %v", a.Space(), c.Space())
	}
}

func TestADamagedFileIsAClearError(t *testing.T) {
	path, whole := save(t, tiny())
	refused := func(name string, b []byte) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path, Options{}); tenet.KindOf(err) != tenet.Invalid || !strings.Contains(err.Error(), "model") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, n := range []int{0, 7, 8, 12, 15, 16, 100, len(whole) / 2, len(whole) - 1} {
		refused(fmt.Sprintf("cut to %d bytes", n), whole[:n])
	}
	for i := 8; i < len(whole); i += 331 {
		b := bytes.Clone(whole)
		b[i] ^= 0x10
		refused(fmt.Sprintf("bit flipped at %d", i), b)
	}
	refused("longer", append(bytes.Clone(whole), 0, 0, 0, 0))
	refused("something else", []byte("PK\x03\x04 this is a zip archive, not a packed model"))
	if _, err := Open(filepath.Join(t.TempDir(), "none"), Options{}); tenet.KindOf(err) != tenet.NotFound {
		t.Errorf("missing file: %v", err)
	}
}

// A file can be whole and still be no model: the checksum is no defence
// against who made it.
func TestAFileThatLiesAboutItsSizesIsRefused(t *testing.T) {
	for name, lie := range map[string]func(*Config){
		"no width":        func(c *Config) { c.Dim = 0 },
		"huge width":      func(c *Config) { c.Dim = 1 << 40 },
		"odd width":       func(c *Config) { c.Dim = 33 },
		"more layers":     func(c *Config) { c.Layers = 40 },
		"fewer layers":    func(c *Config) { c.Layers = 1 },
		"negative layers": func(c *Config) { c.Layers = -1 },
		"no heads":        func(c *Config) { c.Heads = 0 },
		"other pooling":   func(c *Config) { c.Pooling = "max" },
		"no special":      func(c *Config) { c.Vocabulary[2] = "x" },
		"no vocabulary":   func(c *Config) { c.Vocabulary = nil },
		"long prefix":     func(c *Config) { c.QueryPrefix = strings.Repeat("query ", 50) },
		"epsilon":         func(c *Config) { c.NormEps = -1 },
	} {
		w := tiny()
		lie(&w.Config)
		file := forge(t, w)
		path := filepath.Join(t.TempDir(), "m")
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path, Options{}); tenet.KindOf(err) != tenet.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}
