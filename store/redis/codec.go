package redis

import (
	"encoding/binary"
	"math"
	"strconv"
	"time"

	"github.com/tenet-memory/tenet"
)

// What is sealed as one value is written in a plain binary form: unlike JSON it
// keeps every byte of an id, a value's spelling and any year. Times that scripts
// compare are decimal microseconds, empty for none.

const noStart = math.MinInt64 // an absent time

func start(t time.Time) int64 {
	if t.IsZero() {
		return noStart
	}
	return t.UnixMicro()
}

func from(n int64) time.Time {
	if n == noStart {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}

// micros and when are start and from for scripts.
func micros(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.UnixMicro(), 10)
}

func when(s string) time.Time {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return time.UnixMicro(n).UTC()
	}
	return time.Time{}
}

func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

func decimal[N ~int | ~int64 | ~uint64](n N) string { return strconv.FormatInt(int64(n), 10) }

func bit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

type encoder struct{ b []byte }

func (e *encoder) num(n int64)      { e.b = binary.AppendVarint(e.b, n) }
func (e *encoder) time(t time.Time) { e.num(start(t)) }
func (e *encoder) str(s string) {
	e.b = binary.AppendUvarint(e.b, uint64(len(s)))
	e.b = append(e.b, s...)
}
func (e *encoder) flag(b bool) {
	var n int64
	if b {
		n = 1
	}
	e.num(n)
}

// decoder reads what encoder wrote; once bad it returns zeros.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) num() int64 {
	n, size := binary.Varint(d.b)
	if size <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[size:]
	return n
}

func (d *decoder) str() string {
	n, size := binary.Uvarint(d.b)
	if size <= 0 || n > uint64(len(d.b)-size) {
		d.bad, d.b = true, nil
		return ""
	}
	s := string(d.b[size : size+int(n)])
	d.b = d.b[size+int(n):]
	return s
}

func (d *decoder) time() time.Time { return from(d.num()) }
func (d *decoder) flag() bool      { return d.num() != 0 }

// count reads a length, never more than what is left could hold.
func (d *decoder) count() int {
	n := d.num()
	if n < 0 || n > int64(len(d.b)) {
		d.bad, d.b = true, nil
		return 0
	}
	return int(n)
}

// err reports whether the whole was read and nothing is left.
func (d *decoder) err() error {
	if d.bad || len(d.b) > 0 {
		return tenet.Errorf(tenet.Internal, "decode", "a stored column is damaged")
	}
	return nil
}

func encodeStrings[S ~string](e *encoder, ss []S) {
	e.num(int64(len(ss)))
	for _, s := range ss {
		e.str(string(s))
	}
}

func decodeStrings[S ~string](d *decoder) []S {
	n := d.count()
	if n == 0 {
		return nil
	}
	ss := make([]S, n)
	for i := range ss {
		ss[i] = S(d.str())
	}
	return ss
}

func encodeCandidate(c tenet.Candidate) []byte {
	var e encoder
	e.num(1) // the form's version
	e.str(string(c.ID))
	e.num(int64(c.Tier))
	e.str(c.Key)
	e.str(string(c.Value))
	e.str(c.Text)
	encodeStrings(&e, c.Cites)
	e.str(c.Quote)
	e.str(string(c.Session))
	encodeStrings(&e, c.Recalled)
	e.str(c.Speaker)
	e.num(c.Position)
	e.time(c.Valid.From)
	e.time(c.Valid.To)
	e.flag(c.Multi)
	e.flag(c.Safety)
	e.num(int64(c.Op))
	e.str(c.Route)
	e.str(string(c.IfVersion))
	e.str(c.ProposedBy)
	e.time(c.ProposedAt)
	return e.b
}

func decodeCandidate(b []byte, scope tenet.Scope) (tenet.Candidate, error) {
	d := decoder{b: b}
	c := d.candidate(scope)
	return c, d.err()
}

func (d *decoder) candidate(scope tenet.Scope) tenet.Candidate {
	if d.num() != 1 { // the form is unknown
		d.bad = true
		return tenet.Candidate{}
	}
	c := tenet.Candidate{Scope: scope}
	c.ID = tenet.CandidateID(d.str())
	c.Tier = tenet.Tier(d.num())
	c.Key = d.str()
	if v := d.str(); v != "" {
		c.Value = []byte(v)
	}
	c.Text = d.str()
	c.Cites = decodeStrings[tenet.MessageID](d)
	c.Quote = d.str()
	c.Session = tenet.SessionID(d.str())
	c.Recalled = decodeStrings[tenet.RecordID](d)
	c.Speaker = d.str()
	c.Position = d.num()
	c.Valid.From = d.time()
	c.Valid.To = d.time()
	c.Multi = d.flag()
	c.Safety = d.flag()
	c.Op = tenet.Op(d.num())
	c.Route = d.str()
	c.IfVersion = tenet.RecordID(d.str())
	c.ProposedBy = d.str()
	c.ProposedAt = d.time()
	return c
}
