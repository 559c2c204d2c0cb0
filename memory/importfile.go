package memory

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

// maxLine bounds one line of an export: the largest is a decision about very
// many records.
const maxLine = 64 << 20

// sigBytes is what the signature takes of a line's end.
var sigBytes = len(sigLead) + base64.RawURLEncoding.EncodedLen(ed25519.SignatureSize) + len(sigTail)

// fileReader reads an export and checks every line's signature and place.
type fileReader struct {
	r     *bufio.Reader
	n     int // of the line that was read last
	key   ed25519.PublicKey
	prev  []byte
	body  []byte   // of the line that was read last, without its signature
	head  headLine // of the part
	left  exportCount
	owed  [3]int // messages, receipts and proposals that the session announced
	begun bool   // a session has
	scope tenet.Scope
}

func newFileReader(r io.Reader) *fileReader {
	return &fileReader{r: bufio.NewReaderSize(r, 1<<16)}
}

func (f *fileReader) bad(format string, args ...any) error {
	return tenet.Errorf(tenet.Invalid, "import", "line %d "+format, append([]any{f.n}, args...)...)
}

// next reads a line: a *headLine, entryLine, sessionLine, messageLine,
// receiptLine or proposalLine; io.EOF when the file has ended as it should.
func (f *fileReader) next() (any, error) {
	v, err := f.read()
	if end, ok := v.(*endLine); ok && err == nil {
		switch {
		case end.Lines != f.n || f.head.Part != f.head.Parts:
			return nil, f.bad("ends the file too early")
		case !f.complete():
			return nil, f.bad("ends the file, but the part is not complete")
		}
		if _, err := f.r.ReadByte(); err != io.EOF {
			f.n++
			return nil, f.bad("comes after the end")
		}
		return nil, io.EOF
	}
	return v, err
}

func (f *fileReader) read() (any, error) {
	f.n++
	line, err := f.raw()
	if err != nil {
		return nil, err
	}
	if len(line) <= sigBytes || !bytes.HasPrefix(line[len(line)-sigBytes:], []byte(sigLead)) {
		return nil, f.bad("has no signature")
	}
	f.body = append(line[:len(line)-sigBytes:len(line)-sigBytes], '}')
	sig, err := base64.RawURLEncoding.Strict().DecodeString(string(line[len(line)-sigBytes+len(sigLead) : len(line)-len(sigTail)]))
	if err != nil || line[len(line)-1] != '}' || line[len(line)-2] != '"' {
		return nil, f.bad("has no signature")
	}
	if f.n == 1 { // the key is in it
		var h headLine
		if tenet.DecodeJSON(f.body, &h) != nil {
			return nil, f.bad("is not the header of an export")
		}
		if f.key, err = hex.DecodeString(h.Key); err != nil || len(f.key) != ed25519.PublicKeySize {
			return nil, f.bad("names no key")
		}
	}
	if !ed25519.Verify(f.key, signedLine(f.prev, f.body), sig) {
		return nil, f.bad("was altered, moved or left out before it: its signature does not hold")
	}
	f.prev = sig
	return f.decode()
}

// raw reads a line without its end.
func (f *fileReader) raw() ([]byte, error) {
	var line []byte
	for {
		part, err := f.r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, f.bad("is over %d MiB", maxLine>>20)
		case err == bufio.ErrBufferFull:
		case err == io.EOF && len(line) == 0:
			return nil, f.bad("is missing: the file was cut off")
		case err == io.EOF:
			return nil, f.bad("is cut off")
		case err != nil:
			return nil, tenet.Errorf(tenet.Unavailable, "import", "the file cannot be read")
		default:
			return line[:len(line)-1], nil
		}
	}
}

// complete reports whether everything that was announced has come.
func (f *fileReader) complete() bool {
	return f.left == (exportCount{}) && f.owed == [3]int{}
}

func (f *fileReader) decode() (any, error) {
	var kind struct {
		Line string `json:"line"`
	}
	if json.Unmarshal(f.body, &kind) != nil {
		return nil, f.bad("is not JSON")
	}
	if f.n == 1 && kind.Line != "header" {
		return nil, f.bad("is not the header of an export")
	}
	owe := func(i int) error {
		for _, before := range f.owed[:i] {
			if before > 0 {
				return f.bad("comes too early")
			}
		}
		if f.owed[i]--; f.owed[i] < 0 {
			return f.bad("was not announced")
		}
		return nil
	}
	var v any
	var err error
	switch kind.Line {
	case "header":
		h := new(headLine)
		if v = h; tenet.DecodeJSON(f.body, v) != nil {
			break
		}
		return h, f.enter(*h)
	case "entry":
		if f.left.Entries--; f.left.Entries < 0 || f.begun {
			return nil, f.bad("was not announced")
		}
		v = new(entryLine)
	case "session":
		if f.left.Sessions--; f.left.Sessions < 0 || f.owed != [3]int{} {
			return nil, f.bad("was not announced")
		}
		f.begun = true
		v = new(sessionLine)
	case "message":
		v, err = new(messageLine), owe(0)
	case "receipt":
		v, err = new(receiptLine), owe(1)
	case "proposal":
		v, err = new(proposalLine), owe(2)
	case "end":
		v = new(endLine)
	default:
		return nil, f.bad("is of no known kind")
	}
	if err != nil {
		return nil, err
	}
	if tenet.DecodeJSON(f.body, v) != nil {
		return nil, f.bad("does not have the form of a line %q", kind.Line)
	}
	switch l := v.(type) {
	case *entryLine:
		f.left.Records -= len(l.Records)
	case *sessionLine:
		f.owed = [3]int{l.Messages, l.Receipts, l.Proposals}
	}
	return v, nil
}

// enter begins a part.
func (f *fileReader) enter(h headLine) error {
	first := f.n == 1
	switch {
	case h.Form != exportForm:
		return f.bad("is of a form that this version does not know")
	case !first && (h.Tenant != f.head.Tenant || h.Key != f.head.Key || h.Parts != f.head.Parts), h.Part != f.head.Part+1, h.Part > h.Parts:
		return f.bad("does not go on where the part before it ended")
	case !first && !f.complete():
		return f.bad("begins a part, but the one before it is not complete")
	}
	sub, err := tenet.ParseSubject(h.Subject)
	if err == nil {
		f.scope, err = tenet.NewScope(h.Tenant, sub)
	}
	if err != nil {
		return f.bad("names no subject")
	}
	f.head, f.left, f.begun = h, h.Counts, false
	return nil
}

func (f *fileReader) checkEntry(l *entryLine) error {
	p := l.plan(f.scope)
	switch {
	case p.Kind == 0 || p.Kind == gate.Import:
		return f.bad("is an entry of no known action")
	case p.At.IsZero():
		return f.bad("has no time")
	}
	for _, r := range p.Insert {
		if r.ID == "" || r.Tier == 0 || !r.Label.Known() || r.Seen < 1 || len(r.Origins) == 0 {
			return f.bad("holds a record without an id, tier, label or origin")
		}
	}
	return nil
}

// whole gathers a session whose line was just read.
func (f *fileReader) whole(l *sessionLine) (store.WholeSession, error) {
	var w store.WholeSession
	s, err := l.session(f.scope)
	if err != nil {
		return w, f.bad("reads what is no subject")
	}
	w.Session = s
	for range l.Messages + l.Receipts + l.Proposals {
		v, err := f.next()
		if err != nil {
			return w, err
		}
		switch v := v.(type) {
		case *messageLine:
			w.Messages = append(w.Messages, v.Message)
		case *receiptLine:
			w.Receipts = append(w.Receipts, v.Receipt)
		case *proposalLine:
			v.Candidate.Scope = f.scope
			w.Proposals = append(w.Proposals, v.Candidate)
		}
	}
	return w, nil
}
