package postgres

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/tenet-memory/tenet"
)

// What is sealed or kept as one column is written in a plain binary form:
// unlike JSON it keeps every byte of an id, a tier that is missing, a value's
// spelling and any year.

const (
	noStart = math.MinInt64 // an unknown or absent start, in microseconds
	noEnd   = math.MaxInt64 // an open end
)

// start and end write a time that may be zero; from reads either.
func start(t time.Time) int64 {
	if t.IsZero() {
		return noStart
	}
	return t.UnixMicro()
}

func end(t time.Time) int64 {
	if t.IsZero() {
		return noEnd
	}
	return t.UnixMicro()
}

func from(n int64) time.Time {
	if n == noStart || n == noEnd {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
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

// encodeOrigins writes origins; the scope's own key, which nearly all of them
// name, is left out, so that it stands nowhere but in subjects.
func encodeOrigins(os []tenet.Origin, own string) []byte {
	e := encoder{make([]byte, 0, 96)}
	e.num(int64(len(os)))
	for _, o := range os {
		e.str(o.Principal)
		e.str(string(o.Channel))
		e.flag(o.Subject == own)
		if o.Subject != own {
			e.str(o.Subject)
		}
		e.str(string(o.Session))
		e.str(string(o.Message))
		e.str(o.ToolCall)
		e.time(o.Holds.From)
		e.time(o.Holds.To)
	}
	return e.b
}

func decodeOrigins(b []byte, own string) ([]tenet.Origin, error) {
	if len(b) == 0 {
		return nil, nil
	}
	d := decoder{b: b}
	os := make([]tenet.Origin, d.count())
	for i := range os {
		o := &os[i]
		o.Principal = d.str()
		o.Channel = tenet.Channel(d.str())
		o.Subject = own
		if !d.flag() {
			o.Subject = d.str()
		}
		o.Session = tenet.SessionID(d.str())
		o.Message = tenet.MessageID(d.str())
		o.ToolCall = d.str()
		o.Holds = tenet.Interval{From: d.time(), To: d.time()}
	}
	return os, d.err()
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
