package eval

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/model"
)

// Cached is an embedder whose vectors are kept in a file, so that a set is
// embedded once however often it is measured. The vectors are those of the
// embedder to the bit.
type Cached struct {
	from  model.Embedder
	mu    sync.Mutex
	known map[[32]byte][]float32
	file  *os.File
}

// OpenCached opens or makes the file of the embedder's space in a folder.
func OpenCached(from model.Embedder, dir string) (*Cached, error) {
	const op = "open vectors"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, tenet.Errorf(tenet.Unavailable, op, "the folder cannot be made")
	}
	name := strings.ReplaceAll(from.Space().Name(), "/", "_") + ".vectors"
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, tenet.Errorf(tenet.Unavailable, op, "the file cannot be opened")
	}
	all, err := io.ReadAll(f)
	if err != nil {
		f.Close()
		return nil, tenet.Errorf(tenet.Unavailable, op, "the file cannot be read")
	}
	c := &Cached{from: from, known: map[[32]byte][]float32{}, file: f}
	size := c.rowSize()
	for ; len(all) >= size; all = all[size:] {
		v := make([]float32, from.Space().Dim)
		for i := range v {
			v[i] = math.Float32frombits(binary.LittleEndian.Uint32(all[32+4*i:]))
		}
		c.known[[32]byte(all)] = v
	}
	if len(all) > 0 { // a run was killed while it wrote
		if info, err := f.Stat(); err == nil {
			f.Truncate(info.Size() - int64(len(all)))
		}
	}
	return c, nil
}

func (c *Cached) rowSize() int { return 32 + 4*c.from.Space().Dim }

// Close closes the file.
func (c *Cached) Close() error { return c.file.Close() }

// Space implements model.Embedder.
func (c *Cached) Space() model.Space { return c.from.Space() }

// Embed implements model.Embedder.
func (c *Cached) Embed(ctx context.Context, use model.Use, texts ...string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	keys := make([][32]byte, len(texts))
	var missing []int
	c.mu.Lock()
	for i, t := range texts {
		keys[i] = sha256.Sum256(append([]byte{byte(use)}, t...))
		if v, ok := c.known[keys[i]]; ok {
			out[i] = v
		} else {
			missing = append(missing, i)
		}
	}
	c.mu.Unlock()
	if len(missing) == 0 {
		return out, nil
	}
	ask := make([]string, len(missing))
	for j, i := range missing {
		ask[j] = texts[i]
	}
	vs, err := c.from.Embed(ctx, use, ask...)
	if err != nil {
		return nil, err
	}
	if len(vs) != len(ask) {
		return nil, tenet.Errorf(tenet.Internal, "embed", "%d vectors for %d texts", len(vs), len(ask))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var rows []byte
	for j, i := range missing {
		out[i], c.known[keys[i]] = vs[j], vs[j]
		rows = append(rows, keys[i][:]...)
		for _, x := range vs[j] {
			rows = binary.LittleEndian.AppendUint32(rows, math.Float32bits(x))
		}
	}
	if _, err := c.file.Write(rows); err != nil {
		return nil, tenet.Errorf(tenet.Unavailable, "embed", "the file of vectors cannot be written")
	}
	return out, nil
}
