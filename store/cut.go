package store

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// Cutter ends how long an audit chain keeps what nothing needs any more. It is
// a port of its own: Apply adds to a chain, and refuses a Cut decision.
type Cutter interface {
	// Cut carries a Cut decision out, in one transaction under the scope's lock.
	// Entries from before the decision's Before go, with their words and with
	// what they wrote of which nothing is left: refused candidates without a
	// text, states of retention and stretches of sessions that later ones took
	// the place of, earlier cuts, and expired notes and episodes that no other record
	// names. Every other entry is carried: what any row names, what erased or
	// imported something, what made an API key that is not revoked. The cut
	// itself is the chain's next entry.
	//
	// Nothing is cut, and the zero Cut returned, when all that could go are cuts.
	// It is Conflict, with code LEGAL_HOLD, under a legal hold, and Internal when
	// the chain does not verify: damage is not cut away.
	Cut(ctx context.Context, d gate.Decision) (Cut, error)
	// Uncut returns scopes, of any tenant, that have an entry from before the
	// given time which no cut has looked at, and on which no cut was tried at
	// since or later, at most limit. Those under a legal hold are left out.
	Uncut(ctx context.Context, before, since time.Time, limit int) ([]tenet.Scope, error)
}

// Cut is the sealed head of a chain: what stands there for the entries up to a
// position that were removed. It is signed, and the entry Seq of the chain
// covers it. It holds no id and no word.
type Cut struct {
	Chain   string    `json:"chain"`
	Seq     uint64    `json:"seq"` // the entry that records it
	At      time.Time `json:"at"`
	Upto    uint64    `json:"upto"`    // of the entries up to here only the carried ones are left
	Hash    []byte    `json:"hash"`    // of entry Upto: what the next one continues from
	Removed uint64    `json:"removed"` // by this cut; all cuts together: Upto less the carried ones
	// Where the scope's numbers stood behind entry Upto.
	Text  uint64 `json:"text"`
	Stats uint64 `json:"stats"`
	Sleep uint64 `json:"sleep"`
	Facts uint64 `json:"facts"`
	// Entries are the carried ones, see Carried; Links covers them.
	Entries []byte `json:"entries"`
	Links   []byte `json:"links"`
}

// Carried is an entry that a cut left in place: its position, where Text stood
// behind it, and its hash, which only Cut.Carry needs.
type Carried struct {
	Seq, Text uint64
	Hash      []byte
}

// IsZero reports whether there is no cut.
func (c Cut) IsZero() bool { return c.Upto == 0 }

// Carry sets the entries that stay.
func (c *Cut) Carry(es []Carried) {
	c.Entries = nil
	sum := sha256.New()
	var last Carried
	for _, e := range es {
		c.Entries = binary.AppendUvarint(c.Entries, e.Seq-last.Seq)
		c.Entries = binary.AppendUvarint(c.Entries, e.Text-last.Text)
		link(sum, e)
		last = e
	}
	c.Links = sum.Sum(nil)
}

// Carried returns the entries that stay, without their hashes.
func (c Cut) Carried() ([]Carried, error) {
	var out []Carried
	var last Carried
	for b := c.Entries; len(b) > 0; {
		seq, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, errCut
		}
		text, m := binary.Uvarint(b[n:])
		if m <= 0 || seq == 0 {
			return nil, errCut
		}
		last = Carried{Seq: last.Seq + seq, Text: last.Text + text}
		out, b = append(out, last), b[n+m:]
	}
	if last.Seq > c.Upto {
		return nil, errCut
	}
	return out, nil
}

func link(w interface{ Write([]byte) (int, error) }, e Carried) {
	var b []byte
	b = binary.BigEndian.AppendUint64(b, e.Seq)
	b = binary.BigEndian.AppendUint64(b, e.Text)
	b = binary.BigEndian.AppendUint64(b, uint64(len(e.Hash)))
	w.Write(append(b, e.Hash...))
}

var errCut = tenet.Errorf(tenet.Internal, "cut", "the sealed head of the chain was altered, or is of another chain")

const cutForm = "tenet audit cut 1\n"

// Signing is the key that signs receipts of erasures, and cuts.
func (k MasterKey) Signing() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(k.Secret("erasure receipts"))
}

// SignCut is a cut as it is kept, and its signature.
func (k MasterKey) SignCut(c Cut) (body, sig []byte) {
	body, err := json.Marshal(c)
	if err != nil {
		panic("store: a cut does not encode: " + err.Error())
	}
	return body, ed25519.Sign(k.Signing(), append([]byte(cutForm), body...))
}

// OpenCut reads a cut that is kept as entry seq of a chain. It is Internal when
// it was altered, or stood elsewhere.
func (k MasterKey) OpenCut(chain string, seq uint64, body, sig []byte) (c Cut, err error) {
	if !ed25519.Verify(k.Signing().Public().(ed25519.PublicKey), append([]byte(cutForm), body...), sig) {
		return c, errCut
	}
	if json.Unmarshal(body, &c) != nil || c.Chain != chain || c.Seq != seq || c.Upto == 0 || c.Upto >= seq {
		return Cut{}, errCut
	}
	return c, nil
}

// CutDigest is what the entry that records a cut covers.
func CutDigest(body []byte) []byte {
	sum := sha256.Sum256(append([]byte(cutForm), body...))
	return sum[:]
}

// Nameless reports whether an error is that a row names nobody, which fsck and
// verify tell: it keeps no other scope from what is done to all of them.
func Nameless(err error) bool {
	var e *tenet.Error
	return errors.As(err, &e) && e.Kind == tenet.Internal
}

// CheckCut is how every Cutter begins: whether the decision is the gate's, and
// of that kind.
func CheckCut(d gate.Decision) error {
	switch p := d.Plan(); {
	case d.IsZero():
		return tenet.Errorf(tenet.Refused, "cut", "the decision was not made by the gate")
	case p.Kind != gate.Cut || p.Before.IsZero():
		return tenet.Errorf(tenet.Invalid, "cut", "another kind of decision")
	}
	return nil
}

// Walk follows a chain from its first entry to its last, across its cut. It
// needs no key.
type Walk struct {
	cut     Cut
	carried []Carried
	met     int
	sum     interface {
		Write([]byte) (int, error)
		Sum([]byte) []byte
	}
	next   uint64
	prev   []byte
	last   time.Time
	sealed bool // the entry that records the cut was met
}

// NewWalk begins before the first entry of a chain with that cut, the zero one
// for none.
func NewWalk(c Cut) (*Walk, error) {
	w := &Walk{cut: c, sum: sha256.New(), next: c.Upto + 1, prev: c.Hash}
	var err error
	w.carried, err = c.Carried()
	return w, err
}

// Step takes the next entry. text is where Text stood behind it, for one that
// was carried; past reports that it was not. why says what is wrong, with the
// entry that it is wrong with.
func (w *Walk) Step(e tenet.AuditEntry) (text uint64, past bool, bad uint64, why string) {
	defer func() { w.last = e.At }()
	sound := bytes.Equal(e.Hash, EntryHash(e))
	if late := !w.last.IsZero() && !e.At.After(w.last); late {
		bad, why = e.Seq, "the entry is not later than the one before it"
	}
	if !sound {
		bad, why = e.Seq, "the entry was altered"
	}
	if e.Seq <= w.cut.Upto {
		switch {
		case w.met == len(w.carried) || e.Seq < w.carried[w.met].Seq:
			return 0, false, e.Seq, "an entry that was cut off is back"
		case e.Seq > w.carried[w.met].Seq:
			return 0, false, w.carried[w.met].Seq, "an entry is missing that the sealed head carries"
		}
		c := w.carried[w.met]
		c.Hash = e.Hash
		link(w.sum, c)
		w.met++
		return c.Text, false, bad, why
	}
	if e.Seq == w.cut.Upto+1 && w.cut.Upto > 0 {
		if b, y := w.head(); y != "" {
			bad, why = b, y
		}
	}
	switch {
	case e.Seq != w.next:
		bad, why = min(w.next, e.Seq), "an entry is missing"
	case !bytes.Equal(e.Prev, w.prev):
		bad, why = e.Seq, "the entry does not follow the one before it"
	}
	w.prev, w.next = e.Hash, e.Seq+1
	w.sealed = w.sealed || e.Seq == w.cut.Seq && e.Action == gate.Cut.String()
	return 0, true, bad, why
}

// End says what is wrong with a chain that ends here: one that was cut goes on at
// least to the entry that records the cut.
func (w *Walk) End() (bad uint64, why string) {
	if w.cut.IsZero() {
		return 0, ""
	}
	if bad, why = w.head(); why == "" && !w.sealed {
		bad, why = w.cut.Seq, "the entry is missing that records the cut"
	}
	return bad, why
}

// head reports whether all that the cut carries was met, as it was.
func (w *Walk) head() (bad uint64, why string) {
	switch {
	case w.met < len(w.carried):
		return w.carried[w.met].Seq, "an entry is missing that the sealed head carries"
	case !bytes.Equal(w.sum.Sum(nil), w.cut.Links):
		return w.cut.Seq, "the carried entries are not those of the sealed head"
	}
	return 0, ""
}

// Next is the position that the next entry must have, Prev the hash that it
// continues from, and Last the time of the last.
func (w *Walk) Next() uint64    { return w.next }
func (w *Walk) Prev() []byte    { return w.prev }
func (w *Walk) Last() time.Time { return w.last }
