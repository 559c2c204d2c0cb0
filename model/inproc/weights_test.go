package inproc

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"math"
	"strings"
	"testing"
)

// forge writes the tensors of tiny under another header, with a right checksum.
func forge(t testing.TB, w *Weights) []byte {
	t.Helper()
	_, honest := save(t, tiny())
	size := int(binary.LittleEndian.Uint32(honest[8:]))
	header, err := json.Marshal(w.Config)
	if err != nil {
		t.Fatal(err)
	}
	b := binary.LittleEndian.AppendUint32([]byte(magic), uint32(len(header)))
	b = append(b, header...)
	b = append(b, make([]byte, padding(len(header)))...)
	b = append(b, honest[12+size+padding(size):len(honest)-4]...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	w := tiny()
	var b bytes.Buffer
	if err := w.Write(&b); err != nil {
		t.Fatal(err)
	}
	r, _, err := Read(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := r.Write(&again); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Error("written, read and written again is another file")
	}
}

func TestNumbersThatAreNotFiniteAreNotPacked(t *testing.T) {
	w := tiny()
	w.NormBias[3] = float32(math.NaN())
	if err := w.Write(new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "finite") {
		t.Errorf("got %v", err)
	}
	w = tiny()
	w.NormBias = w.NormBias[1:]
	if err := w.Write(new(bytes.Buffer)); err == nil {
		t.Error("a short array was packed")
	}
}

func TestQuantisedRowsStayWithinHalfAStep(t *testing.T) {
	f := []float32{1, -2, 0.5, 0, 0, 0, 0, 1e-3, 100, 0.1, -127, 126}
	m := Quantise(3, 4, f)
	for i, v := range f {
		if got := float32(m.Q[i]) * m.Scale[i/4]; math.Abs(float64(got-v)) > float64(m.Scale[i/4])*0.501 {
			t.Errorf("%v became %v", v, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	_, b := save(f, tiny())
	f.Add(b)
	f.Add(b[:100])
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		Read(b) // an error or weights, never a panic
	})
}
