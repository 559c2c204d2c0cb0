package inproc

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"unsafe"
)

// The packed file, little endian throughout:
//
//	magic   8 bytes  "TENETEM1"
//	length  uint32   of the header
//	header           JSON of Config
//	tensors          the arrays of Weights in the order of each, every array
//	                 padded with zeros to a multiple of 4 bytes: float32
//	                 vectors as they are; a matrix as its float32 row scales
//	                 and then its rows of int8 (value = scale * int8)
//	check   uint32   CRC-32C of everything before
//
// Shapes are not stored: they follow from Config, so a file has one possible
// length and anything else is refused before a number of it is read.
const (
	magic     = "TENETEM1"
	maxHeader = 4 << 20
	maxPrefix = 100 // bytes
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Config is everything of an encoder that is not a number to multiply with.
type Config struct {
	Model         string   `json:"model"` // name and version of the weights
	Dim           int      `json:"dim"`
	Heads         int      `json:"heads"`
	Layers        int      `json:"layers"`
	Inner         int      `json:"inner"`     // width of the feed-forward part
	MaxTokens     int      `json:"maxTokens"` // what the model reads, [CLS] and [SEP] included
	Pooling       string   `json:"pooling"`   // "mean" or "cls"
	NormEps       float32  `json:"normEps"`
	QueryPrefix   string   `json:"queryPrefix"`
	PassagePrefix string   `json:"passagePrefix"`
	Vocabulary    []string `json:"vocabulary"` // WordPiece, by id
}

// check bounds every size, so that a damaged header can neither ask for more
// memory than a file could hold nor break the kernels' assumptions.
func (c *Config) check() error {
	switch {
	case c.Model == "" || len(c.Model) > 100:
		return errors.New("model name missing or too long")
	case c.Dim < 16 || c.Dim > 4096 || c.Inner < 16 || c.Inner > 16384 || c.Dim%16 != 0 || c.Inner%16 != 0:
		return fmt.Errorf("width %d or inner width %d outside the bounds, or no multiple of 16", c.Dim, c.Inner)
	case c.Heads < 1 || c.Dim%c.Heads != 0 || (c.Dim/c.Heads)%16 != 0:
		return fmt.Errorf("%d heads do not divide width %d in multiples of 16", c.Heads, c.Dim)
	case c.Layers < 1 || c.Layers > 48 || c.MaxTokens < 8 || c.MaxTokens > 8192:
		return fmt.Errorf("%d layers or %d tokens outside the bounds", c.Layers, c.MaxTokens)
	case c.Pooling != "mean" && c.Pooling != "cls":
		return fmt.Errorf("unknown pooling %q", c.Pooling)
	case !(c.NormEps > 0 && c.NormEps < 1):
		return fmt.Errorf("normEps %v is not between 0 and 1", c.NormEps)
	case len(c.QueryPrefix) > maxPrefix || len(c.PassagePrefix) > maxPrefix:
		return errors.New("a prefix is too long")
	case len(c.Vocabulary) < 5 || len(c.Vocabulary) > 1<<20:
		return fmt.Errorf("vocabulary of %d pieces", len(c.Vocabulary))
	}
	return nil
}

// Matrix is int8 rows with one scale each.
type Matrix struct {
	Rows, Cols int
	Scale      []float32
	Q          []int8
}

// Quantise rounds a row-major float matrix to int8, each row by its own scale.
func Quantise(rows, cols int, f []float32) Matrix {
	m := Matrix{rows, cols, make([]float32, rows), make([]int8, rows*cols)}
	for r := range rows {
		row := f[r*cols : (r+1)*cols]
		var top float32
		for _, v := range row {
			top = max(top, float32(math.Abs(float64(v))))
		}
		if top == 0 {
			continue
		}
		m.Scale[r] = top / 127
		for i, v := range row {
			m.Q[r*cols+i] = int8(math.RoundToEven(float64(v) * 127 / float64(top)))
		}
	}
	return m
}

// Layer is one transformer layer. QKV holds the rows of query, key and value
// one below the other.
type Layer struct {
	QKV, Out, Up, Down                           Matrix
	QKVBias, OutBias, UpBias, DownBias           []float32
	Norm1Scale, Norm1Bias, Norm2Scale, Norm2Bias []float32
}

// Weights is a whole encoder of the BERT family.
type Weights struct {
	Config
	Word                Matrix    // one row a piece of the vocabulary
	Position            []float32 // MaxTokens x Dim, the type-0 row already added
	NormScale, NormBias []float32
	Layer               []Layer
}

// shape lays out the arrays that c asks for; each then visits them.
func (w *Weights) shape() {
	d, in := w.Dim, w.Inner
	mat := func(rows, cols int) Matrix { return Matrix{Rows: rows, Cols: cols} }
	w.Word = mat(len(w.Vocabulary), d)
	w.Layer = make([]Layer, w.Layers)
	for i := range w.Layer {
		l := &w.Layer[i]
		l.QKV, l.Out, l.Up, l.Down = mat(3*d, d), mat(d, d), mat(in, d), mat(d, in)
	}
}

// each visits every array in file order, with the length that it must have.
func (w *Weights) each(vec func(*[]float32, int) error, bytes func(*[]int8, int) error) error {
	var err error
	v := func(p *[]float32, n int) {
		if err == nil {
			err = vec(p, n)
		}
	}
	m := func(x *Matrix) {
		v(&x.Scale, x.Rows)
		if err == nil {
			err = bytes(&x.Q, x.Rows*x.Cols)
		}
	}
	d := w.Dim
	m(&w.Word)
	v(&w.Position, w.MaxTokens*d)
	v(&w.NormScale, d)
	v(&w.NormBias, d)
	for i := range w.Layer {
		l := &w.Layer[i]
		m(&l.QKV)
		v(&l.QKVBias, 3*d)
		m(&l.Out)
		v(&l.OutBias, d)
		v(&l.Norm1Scale, d)
		v(&l.Norm1Bias, d)
		m(&l.Up)
		v(&l.UpBias, w.Inner)
		m(&l.Down)
		v(&l.DownBias, d)
		v(&l.Norm2Scale, d)
		v(&l.Norm2Bias, d)
	}
	return err
}

func padding(n int) int { return -n & 3 }

// Write packs w into dst.
func (w *Weights) Write(dst io.Writer) error {
	if err := w.check(); err != nil {
		return fmt.Errorf("packing: %w", err)
	}
	header, err := json.Marshal(w.Config)
	if err != nil {
		return err
	}
	sum := crc32.New(castagnoli)
	b := bufio.NewWriterSize(io.MultiWriter(dst, sum), 1<<16)
	b.WriteString(magic)
	b.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(header))))
	b.Write(header)
	b.Write(make([]byte, padding(len(header))))
	err = w.each(func(p *[]float32, n int) error {
		if len(*p) != n {
			return fmt.Errorf("packing: an array has %d numbers and must have %d", len(*p), n)
		}
		for _, f := range *p {
			if f-f != 0 {
				return errors.New("packing: the weights hold a number that is not finite")
			}
			b.Write(binary.LittleEndian.AppendUint32(b.AvailableBuffer(), math.Float32bits(f)))
		}
		return nil
	}, func(p *[]int8, n int) error {
		if len(*p) != n {
			return fmt.Errorf("packing: a matrix has %d numbers and must have %d", len(*p), n)
		}
		for _, q := range *p {
			b.WriteByte(byte(q))
		}
		_, err := b.Write(make([]byte, padding(n)))
		return err
	})
	if err != nil {
		return err
	}
	if err := b.Flush(); err != nil {
		return err
	}
	_, err = dst.Write(binary.LittleEndian.AppendUint32(nil, sum.Sum32()))
	return err
}

// Read unpacks a file that Write made and returns its checksum. The int8 rows
// are views of file, which must not change afterwards.
func Read(file []byte) (*Weights, uint32, error) {
	if !bytes.HasPrefix(file, []byte(magic)) {
		return nil, 0, errors.New("not a packed model (its first bytes are wrong)")
	}
	if len(file) < 16 {
		return nil, 0, errors.New("packed model cut short")
	}
	size := int(binary.LittleEndian.Uint32(file[8:]))
	rest := file[12 : len(file)-4]
	if size > maxHeader || size+padding(size) > len(rest) {
		return nil, 0, errors.New("packed model cut short within its header")
	}
	sum := binary.LittleEndian.Uint32(file[len(file)-4:])
	if crc32.Checksum(file[:len(file)-4], castagnoli) != sum {
		return nil, 0, errors.New("packed model damaged or cut short (its checksum does not match); pack it again")
	}
	w := new(Weights)
	if err := json.Unmarshal(rest[:size], &w.Config); err != nil {
		return nil, 0, fmt.Errorf("header of the packed model: %w", err)
	}
	if err := w.check(); err != nil {
		return nil, 0, fmt.Errorf("header of the packed model: %w", err)
	}
	rest = rest[size+padding(size):]
	w.shape()
	take := func(n int) ([]byte, error) {
		if n > len(rest) {
			return nil, errors.New("packed model shorter than its header says")
		}
		b := rest[:n]
		rest = rest[n:]
		return b, nil
	}
	err := w.each(func(p *[]float32, n int) error {
		b, err := take(4 * n)
		if err != nil {
			return err
		}
		f := make([]float32, n)
		for i := range f {
			f[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
			if f[i]-f[i] != 0 {
				return errors.New("packed model holds a number that is not finite")
			}
		}
		*p = f
		return nil
	}, func(p *[]int8, n int) error {
		b, err := take(n + padding(n))
		if err != nil {
			return err
		}
		*p = unsafe.Slice((*int8)(unsafe.Pointer(&b[0])), n) // the same bytes, read with a sign
		return nil
	})
	if err == nil && len(rest) != 0 {
		err = errors.New("packed model longer than its header says")
	}
	if err != nil {
		return nil, 0, err
	}
	return w, sum, nil
}
