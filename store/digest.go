package store

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"hash"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// DataKey is a subject's own key. Digests are HMACs under it and refused texts
// are sealed with it, so that destroying it leaves neither readable.
type DataKey [32]byte

// NewDataKey draws a key from the system's random source.
func NewDataKey() DataKey {
	var k DataKey
	rand.Read(k[:])
	return k
}

// digest writes typed, length-prefixed fields, so that no two different
// sequences of fields have the same bytes.
type digest struct{ hash.Hash }

func (k DataKey) digest(domain string) digest {
	d := digest{hmac.New(sha256.New, k[:])}
	d.str(domain)
	return d
}

func (d digest) num(n int64) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	d.Write(b[:])
}

func (d digest) bytes(b []byte) { d.num(int64(len(b))); d.Write(b) }
func (d digest) str(s string)   { d.bytes([]byte(s)) }

func (d digest) time(t time.Time) {
	if t.IsZero() {
		d.num(-1 << 63)
		return
	}
	d.num(t.UnixMicro())
}

func (d digest) flag(b bool) {
	if b {
		d.num(1)
	} else {
		d.num(0)
	}
}

func (d digest) json(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic("store: a vocabulary type does not encode: " + err.Error())
	}
	d.bytes(b)
}

// RecordDigest covers everything of a record that is never written again:
// all but the end of its known time, its successor, its counters and expiry.
func RecordDigest(k DataKey, r tenet.Record) []byte {
	d := k.digest("record")
	d.str(string(r.ID))
	d.num(int64(r.Tier))
	d.str(r.Key)
	d.bytes(r.Value)
	d.str(r.Text)
	d.num(int64(r.Label))
	d.json(r.Origins)
	d.str(string(r.Session))
	d.str(string(r.Message))
	d.str(r.ToolCall)
	d.str(r.Speaker)
	d.num(r.Position)
	d.time(r.Valid.From)
	d.time(r.Valid.To)
	d.time(r.Known.From)
	d.str(string(r.Supersedes))
	d.str(string(r.FragmentOf))
	d.str(string(r.Elevates))
	d.flag(r.Multi)
	d.flag(r.Safety)
	d.time(r.ExpiresAt)
	d.str(r.Signature)
	return d.Sum(nil)
}

// EvidenceDigest covers one kept excerpt of a record.
func EvidenceDigest(k DataKey, record tenet.RecordID, e tenet.Evidence) []byte {
	d := k.digest("evidence")
	d.str(string(record))
	d.str(string(e.Message))
	d.str(string(e.Session))
	d.num(int64(e.Role))
	d.num(int64(e.Label))
	d.str(e.Excerpt)
	d.time(e.SaidAt)
	return d.Sum(nil)
}

// ContentDigest covers what a candidate says, so that the same id with other
// content is found. What the engine adds (session, times of proposal) is not
// part of it.
func ContentDigest(k DataKey, c tenet.Candidate) []byte {
	d := k.digest("candidate")
	d.num(int64(c.Tier))
	d.str(c.Key)
	d.bytes(c.Value)
	d.str(c.Text)
	d.str(c.Quote)
	d.json(c.Cites)
	d.flag(c.Multi)
	d.flag(c.Safety)
	d.num(int64(c.Op))
	d.time(tenet.Micros(c.Valid.From))
	d.time(tenet.Micros(c.Valid.To))
	d.str(c.Speaker)
	d.num(c.Position)
	return d.Sum(nil)
}

// ChangeDigest covers an End or Retract, for the same purpose.
func ChangeDigest(k DataKey, p gate.Plan) []byte {
	d := k.digest("change")
	d.num(int64(p.Kind))
	for _, c := range p.Close {
		d.str(string(c.Record))
		d.str(string(c.Reason))
	}
	return d.Sum(nil)
}

// Written is what one decision wrote, as digests: what Verify recomputes from
// the rows that carry the entry's number.
type Written struct {
	Ref, Actor, Why string
	Content         []byte            // ContentDigest or ChangeDigest; nil for other kinds
	Records         map[string][]byte // record id -> RecordDigest
	Evidence        [][]byte          // in order
	Closed          []gate.Close      // in order of record id
	Agreed          *gate.Agreement
	Expired         []tenet.RecordID // in order
	Stage           *StageMark
	Settled         *gate.Settlement
	Tally           *gate.Tally
	Rests           []gate.Rest         // in order of record id
	Aged            []tenet.CandidateID // in order
	Tombs           [][]byte            // TombDigest of each, in order of their digests
	Erased          []ErasedMark        // in order of entry
	Cut             []byte              // CutDigest of the sealed head that the entry records
	Verdict         tenet.Verdict
	RecordIDs       []string // the keys of Records, in order
}

// StageMark is the part of a staged stretch that stays after its candidates
// are judged.
type StageMark struct {
	Session  string // the session's surrogate, not its external id
	From, To int64
	Count    int
}

// EntryDigest covers all that a decision wrote.
func EntryDigest(k DataKey, w Written) []byte {
	d := k.digest("entry")
	d.str(w.Ref)
	d.str(w.Actor)
	d.str(w.Why)
	d.bytes(w.Content)
	d.num(int64(len(w.RecordIDs)))
	for _, id := range w.RecordIDs {
		d.str(id)
		d.bytes(w.Records[id])
	}
	d.num(int64(len(w.Evidence)))
	for _, e := range w.Evidence {
		d.bytes(e)
	}
	d.num(int64(len(w.Closed)))
	for _, c := range w.Closed {
		d.str(string(c.Record))
		d.str(string(c.Reason))
		d.str(string(c.By))
	}
	d.json(w.Agreed)
	d.json(w.Expired)
	d.json(w.Stage)
	d.json(w.Settled)
	if w.Tally != nil {
		d.str("tally")
		d.json(w.Tally)
	}
	for _, r := range w.Rests {
		d.str("rest")
		d.str(string(r.Record))
		d.flag(r.Dormant)
		d.flag(r.Pinned)
		d.time(r.LowSince)
		d.time(r.ServedAt)
	}
	v := w.Verdict
	d.str(string(v.Candidate))
	d.num(int64(v.Outcome))
	d.str(string(v.Record))
	d.str(string(v.Replaced))
	d.num(int64(v.Tier))
	d.str(v.Key)
	d.num(int64(v.Label))
	d.str(v.Effect)
	d.json(v.Codes)
	d.json(v.Findings)
	d.str(v.RuleSet)
	d.time(v.At)
	// What came later, written only where it is: older entries keep their digests.
	if len(w.Aged) > 0 {
		d.str("aged")
		d.json(w.Aged)
	}
	if len(w.Tombs) > 0 {
		d.str("tombstones")
		for _, t := range w.Tombs {
			d.bytes(t)
		}
	}
	if w.Cut != nil {
		d.str("cut")
		d.bytes(w.Cut)
	}
	if len(w.Erased) > 0 {
		d.str("erased")
		for _, m := range w.Erased {
			d.num(m.Seq)
			d.num(m.Did)
			d.bytes(m.Digest)
		}
	}
	return d.Sum(nil)
}

// EntryHash links an entry to the one before it. It needs no key, so anyone
// who holds an exported chain can check it.
func EntryHash(e tenet.AuditEntry) []byte {
	d := digest{sha256.New()}
	d.str("tenet audit 1")
	d.num(int64(e.Seq))
	d.str(e.Action)
	d.num(int64(e.Outcome))
	d.json(e.Codes)
	d.str(e.RuleSet)
	d.time(e.At)
	d.bytes(e.Digest)
	d.bytes(e.Prev)
	return d.Sum(nil)
}

// Seal encrypts with AES-256-GCM under the subject's key; about binds the
// text to its row, so that sealed texts can't be swapped.
func (k DataKey) Seal(plain []byte, about string) []byte {
	aead := k.aead()
	nonce := make([]byte, aead.NonceSize())
	rand.Read(nonce)
	return aead.Seal(nonce, nonce, plain, []byte(about))
}

// Unseal reverses Seal; an altered or swapped text is an Internal error.
func (k DataKey) Unseal(sealed []byte, about string) ([]byte, error) {
	return k.Opener().Unseal(sealed, about)
}

// Opener is a data key made ready to unseal many texts. The zero Opener opens
// nothing.
type Opener struct{ aead cipher.AEAD }

// Opener makes the key ready: most of what a short text costs.
func (k DataKey) Opener() Opener { return Opener{k.aead()} }

// Unseal reverses Seal; an altered or swapped text is an Internal error.
func (o Opener) Unseal(sealed []byte, about string) ([]byte, error) {
	return o.UnsealBytes(sealed, []byte(about))
}

// UnsealBytes is Unseal for a caller who puts about together in place.
func (o Opener) UnsealBytes(sealed, about []byte) ([]byte, error) {
	if o.aead == nil || len(sealed) < o.aead.NonceSize() {
		return nil, tenet.Errorf(tenet.Internal, "unseal", "a sealed text is too short")
	}
	plain, err := o.aead.Open(nil, sealed[:o.aead.NonceSize()], sealed[o.aead.NonceSize():], about)
	if err != nil {
		return nil, tenet.Errorf(tenet.Internal, "unseal", "a sealed text was altered")
	}
	return plain, nil
}

func (k DataKey) aead() cipher.AEAD {
	block, err := aes.NewCipher(k[:])
	if err != nil {
		panic(err) // a 32-byte key cannot fail
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return aead
}

// ClientIDDigest names a client's id of a message without saying it.
func ClientIDDigest(k DataKey, id string) []byte {
	d := k.digest("client id")
	d.str(id)
	return d.Sum(nil)
}

// SaidDigest covers what has to be the same when a message is appended again
// under its client id.
func SaidDigest(k DataKey, m tenet.Message) []byte {
	d := k.digest("said")
	d.num(int64(m.Role))
	d.str(m.Text)
	d.str(m.ToolCallID)
	d.num(int64(len(m.ToolCalls)))
	for _, c := range m.ToolCalls {
		d.str(c)
	}
	return d.Sum(nil)
}

// OutcomeDigest covers an effect's outcome, so that another one is found
// where the outcome itself is sealed.
func OutcomeDigest(k DataKey, outcome []byte) []byte {
	d := k.digest("effect outcome")
	d.bytes(outcome)
	return d.Sum(nil)
}

// BlobDigest covers the bytes of a thread's version.
func BlobDigest(k DataKey, b tenet.Blob) []byte {
	d := k.digest("blob")
	d.bytes(b.Data)
	d.bytes(b.Meta)
	return d.Sum(nil)
}
