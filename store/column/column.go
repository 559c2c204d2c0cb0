// Package column is how the stores write what is sealed, or kept as one column:
// a plain binary form that, unlike JSON, keeps every byte of an id, a tier that
// is missing, a value's spelling and any year. Its forms are on disk: a change
// is another version of the form, never another reading of the same bytes.
//
// It imports tenet, the standard library and a library of Snappy's format.
package column

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"time"
	"unsafe"

	"github.com/klauspost/compress/s2"

	"github.com/tenet-memory/tenet"
)

const (
	NoStart = math.MinInt64 // an unknown or absent start, in microseconds
	NoEnd   = math.MaxInt64 // an open end
)

// Start and End write a time that may be zero; From reads either.
func Start(t time.Time) int64 {
	if t.IsZero() {
		return NoStart
	}
	return t.UnixMicro()
}

func End(t time.Time) int64 {
	if t.IsZero() {
		return NoEnd
	}
	return t.UnixMicro()
}

func From(n int64) time.Time {
	if n == NoStart || n == NoEnd {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}

// Since and Micros are for columns in which no time is 0.
func Since(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return From(n)
}

func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// Encoder appends to B. Its zero value is ready to use.
type Encoder struct{ B []byte }

func (e *Encoder) Num(n int64)      { e.B = binary.AppendVarint(e.B, n) }
func (e *Encoder) Time(t time.Time) { e.Num(Start(t)) }
func (e *Encoder) Str(s string) {
	e.B = binary.AppendUvarint(e.B, uint64(len(s)))
	e.B = append(e.B, s...)
}
func (e *Encoder) Flag(b bool) {
	var n int64
	if b {
		n = 1
	}
	e.Num(n)
}

// Decoder reads what an Encoder wrote from the front of B; once Bad it returns
// zeros.
type Decoder struct {
	B   []byte
	Bad bool
	// Shares says that B never changes again, so that strings may be parts of it.
	Shares bool
}

func (d *Decoder) Num() int64 {
	n, size := binary.Varint(d.B)
	if size <= 0 {
		d.Bad, d.B = true, nil
		return 0
	}
	d.B = d.B[size:]
	return n
}

func (d *Decoder) Str() string {
	n, size := binary.Uvarint(d.B)
	if size <= 0 || n > uint64(len(d.B)-size) {
		d.Bad, d.B = true, nil
		return ""
	}
	b := d.B[size : size+int(n)]
	d.B = d.B[size+int(n):]
	if d.Shares {
		return unsafe.String(unsafe.SliceData(b), len(b))
	}
	return string(b)
}

// Raw is Str without a copy: the bytes stay those of the decoder's input.
func (d *Decoder) Raw() []byte {
	n, size := binary.Uvarint(d.B)
	if size <= 0 || n > uint64(len(d.B)-size) {
		d.Bad, d.B = true, nil
		return nil
	}
	b := d.B[size : size+int(n) : size+int(n)]
	d.B = d.B[size+int(n):]
	if n == 0 {
		return nil
	}
	return b
}

func (d *Decoder) Time() time.Time { return From(d.Num()) }
func (d *Decoder) Flag() bool      { return d.Num() != 0 }

// Count reads a length, never more than what is left could hold.
func (d *Decoder) Count() int {
	n := d.Num()
	if n < 0 || n > int64(len(d.B)) {
		d.Bad, d.B = true, nil
		return 0
	}
	return int(n)
}

// Err reports whether the whole was read and nothing is left.
func (d *Decoder) Err() error {
	if d.Bad || len(d.B) > 0 {
		return tenet.Errorf(tenet.Internal, "decode", "a stored column is damaged")
	}
	return nil
}

func EncodeStrings[S ~string](e *Encoder, ss []S) {
	e.Num(int64(len(ss)))
	for _, s := range ss {
		e.Str(string(s))
	}
}

func DecodeStrings[S ~string](d *Decoder) []S {
	n := d.Count()
	if n == 0 {
		return nil
	}
	ss := make([]S, n)
	for i := range ss {
		ss[i] = S(d.Str())
	}
	return ss
}

// EncodeOrigins writes origins; the scope's own key, which nearly all of them
// name, is left out, so that it stands nowhere but in subjects.
func EncodeOrigins(os []tenet.Origin, own string) []byte {
	e := Encoder{make([]byte, 0, 96)}
	e.Num(int64(len(os)))
	for _, o := range os {
		e.Str(o.Principal)
		e.Str(string(o.Channel))
		e.Flag(o.Subject == own)
		if o.Subject != own {
			e.Str(o.Subject)
		}
		e.Str(string(o.Session))
		e.Str(string(o.Message))
		e.Str(o.ToolCall)
		e.Time(o.Holds.From)
		e.Time(o.Holds.To)
	}
	return e.B
}

// Union is agreed with those of more that are new to it and to known.
func Union(known, agreed, more []tenet.Origin) []tenet.Origin {
	for _, o := range more {
		if !slices.Contains(known, o) && !slices.Contains(agreed, o) {
			agreed = append(agreed, o)
		}
	}
	return agreed
}

func DecodeOrigins(b []byte, own string) ([]tenet.Origin, error) {
	if len(b) == 0 {
		return nil, nil
	}
	d := Decoder{B: bytes.Clone(b), Shares: true}
	os := make([]tenet.Origin, d.Count())
	for i := range os {
		o := &os[i]
		o.Principal = d.Str()
		o.Channel = tenet.Channel(d.Str())
		o.Subject = own
		if !d.Flag() {
			o.Subject = d.Str()
		}
		o.Session = tenet.SessionID(d.Str())
		o.Message = tenet.MessageID(d.Str())
		o.ToolCall = d.Str()
		o.Holds = tenet.Interval{From: d.Time(), To: d.Time()}
	}
	return os, d.Err()
}

func EncodeCandidate(c tenet.Candidate) []byte {
	var e Encoder
	e.Num(1) // the form's version
	e.Str(string(c.ID))
	e.Num(int64(c.Tier))
	e.Str(c.Key)
	e.Str(string(c.Value))
	e.Str(c.Text)
	EncodeStrings(&e, c.Cites)
	e.Str(c.Quote)
	e.Str(string(c.Session))
	EncodeStrings(&e, c.Recalled)
	e.Str(c.Speaker)
	e.Num(c.Position)
	e.Time(c.Valid.From)
	e.Time(c.Valid.To)
	e.Flag(c.Multi)
	e.Flag(c.Safety)
	e.Num(int64(c.Op))
	e.Str(c.Route)
	e.Str(string(c.IfVersion))
	e.Str(c.ProposedBy)
	e.Time(c.ProposedAt)
	return e.B
}

func DecodeCandidate(b []byte, scope tenet.Scope) (tenet.Candidate, error) {
	d := Decoder{B: b}
	c := d.Candidate(scope)
	return c, d.Err()
}

func (d *Decoder) Candidate(scope tenet.Scope) tenet.Candidate {
	if d.Num() != 1 { // the form is unknown
		d.Bad = true
		return tenet.Candidate{}
	}
	c := tenet.Candidate{Scope: scope}
	c.ID = tenet.CandidateID(d.Str())
	c.Tier = tenet.Tier(d.Num())
	c.Key = d.Str()
	if v := d.Str(); v != "" {
		c.Value = []byte(v)
	}
	c.Text = d.Str()
	c.Cites = DecodeStrings[tenet.MessageID](d)
	c.Quote = d.Str()
	c.Session = tenet.SessionID(d.Str())
	c.Recalled = DecodeStrings[tenet.RecordID](d)
	c.Speaker = d.Str()
	c.Position = d.Num()
	c.Valid.From = d.Time()
	c.Valid.To = d.Time()
	c.Multi = d.Flag()
	c.Safety = d.Flag()
	c.Op = tenet.Op(d.Num())
	c.Route = d.Str()
	c.IfVersion = tenet.RecordID(d.Str())
	c.ProposedBy = d.Str()
	c.ProposedAt = d.Time()
	return c
}

func EncodeMessage(e *Encoder, m tenet.Message) {
	e.Str(string(m.ID))
	e.Str(string(m.Session))
	e.Num(m.Seq)
	e.Num(int64(m.Role))
	e.Str(string(m.Channel))
	e.Str(m.Speaker)
	e.Str(m.Text)
	e.Time(m.SaidAt)
	e.Str(m.ClientID)
	EncodeStrings(e, m.ToolCalls)
	e.Str(m.ToolCallID)
	e.Flag(m.RetainNone)
	e.Num(int64(m.Label))
	e.Str(m.RecordedBy)
	e.Time(m.RecordedAt)
}

func DecodeMessage(d *Decoder) tenet.Message {
	var m tenet.Message
	m.ID = tenet.MessageID(d.Str())
	m.Session = tenet.SessionID(d.Str())
	m.Seq = d.Num()
	m.Role = tenet.Role(d.Num())
	m.Channel = tenet.Channel(d.Str())
	m.Speaker = d.Str()
	m.Text = d.Str()
	m.SaidAt = d.Time()
	m.ClientID = d.Str()
	m.ToolCalls = DecodeStrings[string](d)
	m.ToolCallID = d.Str()
	m.RetainNone = d.Flag()
	m.Label = tenet.Label(d.Num())
	m.RecordedBy = d.Str()
	m.RecordedAt = d.Time()
	return m
}

func EncodeReceipt(r tenet.Receipt) []byte {
	var e Encoder
	e.Str(r.ID)
	EncodeStrings(&e, r.Facts)
	EncodeStrings(&e, r.Recalled)
	e.Num(int64(len(r.Pending)))
	for _, n := range r.Pending {
		e.Num(n)
	}
	e.Num(int64(r.Lowest))
	e.Num(int64(r.Tokens))
	for _, s := range r.Scores {
		for _, n := range scoreParts(&s) {
			e.Num(int64(*n))
		}
	}
	return e.B
}

// scoreParts are a score's numbers in the order in which they are kept: a new
// one goes to the end, behind a version.
func scoreParts(s *tenet.Score) [10]*int32 {
	return [10]*int32{&s.Turn, &s.Window, &s.Session, &s.Near, &s.Speaker, &s.Preference, &s.Time, &s.Standing, &s.Dense, &s.Exact}
}

func DecodeReceipt(body []byte) (tenet.Receipt, error) {
	d := Decoder{B: body}
	r := tenet.Receipt{ID: d.Str()}
	r.Facts = DecodeStrings[tenet.RecordID](&d)
	r.Recalled = DecodeStrings[tenet.RecordID](&d)
	for range d.Count() {
		r.Pending = append(r.Pending, d.Num())
	}
	r.Lowest = tenet.Label(d.Num())
	r.Tokens = int(d.Num())
	if len(d.B) > 0 { // receipts were kept without scores before
		r.Scores = make([]tenet.Score, len(r.Recalled))
		for i := range r.Scores {
			for _, n := range scoreParts(&r.Scores[i]) {
				*n = int32(d.Num())
			}
		}
	}
	return r, d.Err()
}

// EncodeCheckpoint writes what of a checkpoint has no column of its own.
func EncodeCheckpoint(k tenet.Checkpoint) []byte {
	e := Encoder{make([]byte, 0, len(k.State)+256)}
	e.Num(1) // the form's version
	e.Str(string(k.State))
	e.Str(k.By)
	e.Num(int64(len(k.Done)))
	for _, s := range k.Done {
		e.Str(s.Name)
		e.Str(string(s.Outcome))
	}
	EncodeStrings(&e, k.Effects)
	return Pack(e.B)
}

// DecodeCheckpoint keeps parts of plain.
func DecodeCheckpoint(plain []byte, k *tenet.Checkpoint) error {
	plain, err := Unpack(plain)
	if err != nil {
		return err
	}
	d := Decoder{B: plain}
	if d.Num() != 1 {
		return tenet.Errorf(tenet.Internal, "decode", "a stored checkpoint has an unknown form")
	}
	k.State = d.Raw()
	k.By = d.Str()
	for range d.Count() {
		k.Done = append(k.Done, tenet.Step{Name: d.Str(), Outcome: d.Raw()})
	}
	k.Effects = DecodeStrings[string](&d)
	return d.Err()
}

// packed is the version that Pack puts before what it made smaller.
const packed = 2

// Pack makes a column that begins with its form's version smaller, as a block of
// Snappy's format, where that is worth it: what is sealed can't be made smaller
// any more.
func Pack(b []byte) []byte {
	if len(b) < 256 {
		return b
	}
	out := binary.AppendVarint(make([]byte, 0, 1+s2.MaxEncodedLen(len(b))), packed)
	block := s2.EncodeSnappy(out[1:cap(out)], b)
	if len(block) > len(b)-len(b)/8 {
		return b
	}
	return out[:1+len(block)]
}

// Unpack reverses Pack; what was not packed comes back as it is.
func Unpack(b []byte) ([]byte, error) {
	d := Decoder{B: b}
	if d.Num() != packed {
		return b, nil
	}
	// No byte of the format stands for more than some twenty of the text.
	if n, err := s2.DecodedLen(d.B); err == nil && n/32 <= len(d.B) {
		if out, err := s2.Decode(nil, d.B); err == nil {
			return out, nil
		}
	}
	return nil, tenet.Errorf(tenet.Internal, "decode", "a stored column is damaged")
}

// AsBytes and AsNumbers are the same memory as the other type.
func AsBytes(v []int8) []byte {
	if len(v) == 0 {
		return []byte{}
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), len(v))
}

func AsNumbers(b []byte) []int8 {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*int8)(unsafe.Pointer(&b[0])), len(b))
}
