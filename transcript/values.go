package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/tenet-memory/tenet"
)

// layout is how the JSON values of a file stand.
type layout struct {
	format Format
	array  bool // elements of one array
	lines  bool // a value a line; neither: one value
	// chat: the array's elements are messages of one chat
	chat bool
}

// value is one JSON value of a file, or the reason why it can't be had.
type value struct {
	offset int64
	raw    []byte
	reason string
}

// inspect finds out how a file is laid out and, unless given, its format.
func inspect(r io.ReadSeeker, format Format) (layout, error) {
	lay := layout{format: format}
	switch format {
	case "", LoCoMo, OpenAI:
	case JSONL:
		return layout{format: JSONL, lines: true}, nil
	default:
		return lay, invalid("unknown format; want jsonl, locomo or openai")
	}
	b, _, err := start(r)
	if err != nil {
		return lay, err
	}
	first, err := b.Peek(1)
	if err == io.EOF {
		return lay, invalid("the file is empty")
	} else if err != nil {
		return lay, err
	}
	switch first[0] {
	case '[':
		lay.array = true
	case '{':
		if lay.lines, err = isLines(b); err != nil {
			return lay, err
		}
	default:
		return lay, invalid("not JSON: want an object or an array")
	}
	// The first few values decide; a broken one is passed over.
	seen := 0
	for v, err := range values(r, lay) {
		if err != nil {
			return lay, err
		}
		if seen++; seen > 20 {
			break
		}
		f, chat := formatOf(v.raw, lay)
		if f == "" {
			continue
		}
		if lay.format == "" {
			lay.format = f
		}
		lay.chat = chat && lay.array
		break
	}
	if lay.format == "" {
		return lay, invalid("the format is not recognised; say which it is")
	}
	return lay, nil
}

// formatOf decides by the keys of an object what holds it.
func formatOf(raw []byte, lay layout) (f Format, chat bool) {
	keys := map[string]bool{}
	d := json.NewDecoder(bytes.NewReader(raw))
	tok, _ := d.Token()
	if tok == json.Delim('[') && lay.lines {
		return OpenAI, false
	}
	if tok != json.Delim('{') {
		return "", false
	}
	for d.More() {
		tok, err := d.Token()
		key, ok := tok.(string)
		if err != nil || !ok {
			break
		}
		keys[key] = true
		var skip json.RawMessage
		if d.Decode(&skip) != nil {
			break
		}
	}
	switch {
	case keys["messages"] || keys["mapping"]:
		return OpenAI, false
	case keys["conversation"]:
		return LoCoMo, false
	case lay.array && keys["role"]:
		return OpenAI, true
	case !lay.array && (keys["session"] || keys["role"] || keys["speaker"]):
		return JSONL, false
	}
	return "", false
}

// start rewinds r and returns a reader past a byte order mark and white space.
func start(r io.ReadSeeker) (*bufio.Reader, int64, error) {
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return nil, 0, err
	}
	b := bufio.NewReaderSize(r, 64<<10)
	var off int64
	if bom, _ := b.Peek(3); string(bom) == "\ufeff" {
		b.Discard(3)
		off = 3
	}
	for {
		c, err := b.ReadByte()
		if err == io.EOF {
			return b, off, nil
		} else if err != nil {
			return nil, 0, err
		}
		if !space(c) {
			return b, off, b.UnreadByte()
		}
		off++
	}
}

func space(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// isLines reports whether a file that starts with an object has a value a
// line: its first line is a value by itself or, when that one is broken, its
// second is, and the first does not just go on there.
func isLines(b *bufio.Reader) (bool, error) {
	line, _, err := readLine(b, MaxLine)
	if err != nil && err != io.EOF && !errors.Is(err, errLong) {
		return false, err
	}
	if line, _ = trim(line); json.Valid(line) {
		return true, nil
	}
	next, _, _ := readLine(b, MaxLine)
	next, _ = trim(next)
	goesOn := len(line) > 0 && bytes.IndexByte([]byte("{[,:"), line[len(line)-1]) >= 0
	return !goesOn && bytes.HasPrefix(next, []byte("{")) && json.Valid(next), nil
}

// values yields the JSON values of a file as bytes, in one of three layouts. An
// error is a failure to read and ends it.
func values(r io.ReadSeeker, lay layout) iter.Seq2[value, error] {
	return func(yield func(value, error) bool) {
		b, off, err := start(r)
		switch {
		case err != nil:
			yield(value{}, err)
		case lay.array:
			elements(b, off, yield)
		case lay.lines:
			lines(b, off, yield)
		default:
			whole(b, off, yield)
		}
	}
}

// whole yields a file of one value.
func whole(b *bufio.Reader, off int64, yield func(value, error) bool) {
	raw, err := io.ReadAll(io.LimitReader(b, MaxConversation+1))
	if err != nil {
		yield(value{}, err)
		return
	}
	v := value{offset: off, raw: raw}
	if len(raw) > MaxConversation {
		v = value{offset: off, reason: tooLarge(MaxConversation)}
	}
	yield(v, nil)
}

func tooLarge(limit int) string {
	return fmt.Sprintf("a conversation is over %d MiB", limit>>20)
}

func invalid(text string) error { return tenet.Errorf(tenet.Invalid, "import", "%s", text) }

var errLong = errors.New("line too long")

// readLine reads one line without its end and says how many bytes it took. A
// line over max is consumed and is errLong.
func readLine(b *bufio.Reader, max int) (line []byte, took int64, err error) {
	long := false
	for {
		part, err := b.ReadSlice('\n')
		took += int64(len(part))
		if len(line)+len(part) > max {
			long, line = true, nil
		} else if !long {
			line = append(line, part...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if long && (err == nil || err == io.EOF) {
			return nil, took, errLong
		}
		return line, took, err
	}
}

// trim drops JSON's white space around raw and says how much stood before it.
func trim(raw []byte) (value []byte, before int) {
	const blanks = " \t\r\n"
	value = bytes.TrimLeft(raw, blanks)
	return bytes.TrimRight(value, blanks), len(raw) - len(value)
}

// lines yields a value a line and passes over blank ones.
func lines(b *bufio.Reader, off int64, yield func(value, error) bool) {
	for {
		line, took, err := readLine(b, MaxLine)
		line, before := trim(line)
		v := value{offset: off + int64(before), raw: line}
		off += took
		switch {
		case errors.Is(err, errLong):
			v.reason = fmt.Sprintf("a line is over %d MiB", MaxLine>>20)
		case err != nil && err != io.EOF:
			yield(value{}, err)
			return
		case len(line) == 0:
			if err == io.EOF {
				return
			}
			continue
		}
		if !yield(v, nil) || err == io.EOF {
			return
		}
	}
}

// elements yields the elements of an array one at a time, so that a large file
// is never in memory and one broken element does not hide the next. It counts
// brackets outside of strings and leaves syntax to whoever decodes.
func elements(b *bufio.Reader, off int64, yield func(value, error) bool) {
	b.ReadByte() // the bracket
	at := off + 1
	var raw []byte
	from := at
	depth, quoted, escaped, over := 0, false, false, false
	emit := func() bool {
		v := value{offset: from}
		v.raw, _ = trim(raw)
		if over {
			v = value{offset: from, reason: tooLarge(MaxConversation)}
		}
		raw, over = nil, false
		return yield(v, nil)
	}
	some := false // elements before this one
	for {
		c, err := b.ReadByte()
		if err == io.EOF {
			yield(value{offset: from, reason: "the file ends inside an array"}, nil)
			return
		} else if err != nil {
			yield(value{}, err)
			return
		}
		at++
		switch {
		case quoted:
			quoted = escaped || c != '"'
			escaped = !escaped && c == '\\'
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			depth++
		case depth > 0 && (c == '}' || c == ']'):
			depth--
		case depth == 0 && (c == ',' || c == ']'):
			if c == ',' || some || len(raw) > 0 {
				if !emit() {
					return
				}
			}
			if c == ']' {
				trailing(b, at, yield)
				return
			}
			some, from = true, at
			continue
		}
		if len(raw) == 0 && !over && space(c) {
			from = at
			continue
		}
		if len(raw) >= MaxConversation {
			raw, over = raw[:0], true
		}
		if !over {
			raw = append(raw, c)
		}
	}
}

// trailing reports anything but white space after the end of the array.
func trailing(b *bufio.Reader, at int64, yield func(value, error) bool) {
	for {
		c, err := b.ReadByte()
		switch {
		case err == io.EOF:
			return
		case err != nil:
			yield(value{}, err)
			return
		case !space(c):
			yield(value{offset: at, reason: "data after the end of the array"}, nil)
			return
		}
		at++
	}
}
