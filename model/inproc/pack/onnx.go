package pack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// graph is what packing needs of an ONNX file: its float tensors by name, and
// for every MatMul node the name of its right side - exporters keep the
// layer's name on the node and give the transposed weight a number for a name.
type graph struct {
	tensors map[string]tensor
	right   map[string]string
}

type tensor struct {
	dims []int
	data []float32
}

// readONNX reads the few protobuf fields that graph wants; the numbers are
// those of the ONNX schema: ModelProto.graph 7, GraphProto.node 1 and
// initializer 5, NodeProto.input 1, name 3, op_type 4, TensorProto.dims 1,
// data_type 2, name 8, raw_data 9.
func readONNX(b []byte) (*graph, error) {
	g := &graph{tensors: map[string]tensor{}, right: map[string]string{}}
	err := fields(b, func(num int, _ uint64, data []byte) error {
		if num != 7 {
			return nil
		}
		return fields(data, func(num int, _ uint64, data []byte) error {
			switch num {
			case 1:
				return g.node(data)
			case 5:
				return g.tensor(data)
			}
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	if len(g.tensors) == 0 {
		return nil, errors.New("onnx: no weights in it")
	}
	return g, nil
}

func (g *graph) node(b []byte) error {
	var (
		name, op string
		inputs   []string
	)
	err := fields(b, func(num int, _ uint64, data []byte) error {
		switch num {
		case 1:
			inputs = append(inputs, string(data))
		case 3:
			name = string(data)
		case 4:
			op = string(data)
		}
		return nil
	})
	if err == nil && op == "MatMul" && len(inputs) == 2 {
		g.right[name] = inputs[1]
	}
	return err
}

func (g *graph) tensor(b []byte) error {
	const float = 1 // TensorProto.DataType
	var (
		name string
		kind uint64
		raw  []byte
		t    tensor
	)
	err := fields(b, func(num int, v uint64, data []byte) error {
		switch {
		case num == 1 && data != nil: // packed
			for len(data) > 0 {
				v, n := binary.Uvarint(data)
				if n <= 0 {
					return errTruncated
				}
				t.dims, data = append(t.dims, int(v)), data[n:]
			}
		case num == 1:
			t.dims = append(t.dims, int(v))
		case num == 2:
			kind = v
		case num == 8:
			name = string(data)
		case num == 9:
			raw = data
		}
		return nil
	})
	if err != nil || kind != float {
		return err // position ids and other integers are no weights
	}
	size := 1
	for _, d := range t.dims {
		if d < 0 || d > 1<<28 || size > 1<<28 {
			return fmt.Errorf("tensor %q is too large", name)
		}
		size *= d
	}
	if len(raw) != 4*size {
		return fmt.Errorf("tensor %q has %d bytes of data for %d numbers (quantised or external data are not read)", name, len(raw), size)
	}
	t.data = make([]float32, size)
	for i := range t.data {
		t.data[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	g.tensors[name] = t
	return nil
}

var errTruncated = errors.New("cut short or damaged")

// fields calls f for every field of one protobuf message: with the number for
// varint and fixed fields, with the bytes for length-delimited ones.
func fields(b []byte, f func(num int, v uint64, data []byte) error) error {
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		if n <= 0 || tag>>3 == 0 || tag>>3 > 1<<29 {
			return errTruncated
		}
		b = b[n:]
		var (
			v    uint64
			data []byte
		)
		switch tag & 7 {
		case 0:
			if v, n = binary.Uvarint(b); n <= 0 {
				return errTruncated
			}
			b = b[n:]
		case 1, 5:
			n = 4
			if tag&7 == 1 {
				n = 8
			}
			if len(b) < n {
				return errTruncated
			}
			b = b[n:]
		case 2:
			size, n := binary.Uvarint(b)
			if n <= 0 || size > uint64(len(b)-n) {
				return errTruncated
			}
			data, b = b[n:n+int(size)], b[n+int(size):]
			if data == nil {
				data = []byte{}
			}
		default:
			return errTruncated
		}
		if err := f(int(tag>>3), v, data); err != nil {
			return err
		}
	}
	return nil
}
