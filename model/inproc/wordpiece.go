package inproc

import (
	"errors"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// wordpiece is the uncased BERT tokeniser. Unlike the reference it does not
// recognise "[SEP]" and the like inside a text: a text is never control.
type wordpiece struct {
	start, cont   map[string]int32 // pieces that begin a word, pieces that continue one
	longest       int              // bytes of the longest piece
	cls, sep, unk int32
}

// maxWord is the length in runes beyond which the reference takes a word for
// unknown.
const maxWord = 100

func newWordpiece(vocabulary []string) (*wordpiece, error) {
	t := &wordpiece{start: make(map[string]int32, len(vocabulary)), cont: make(map[string]int32, len(vocabulary)/4), cls: -1, sep: -1, unk: -1}
	for i, p := range vocabulary {
		id := int32(i)
		switch p {
		case "[CLS]":
			t.cls = id
		case "[SEP]":
			t.sep = id
		case "[UNK]":
			t.unk = id
		default:
			if len(p) > 2 && p[:2] == "##" {
				t.cont[p[2:]] = id
			} else {
				t.start[p] = id
			}
			t.longest = max(t.longest, len(p))
		}
	}
	if t.cls < 0 || t.sep < 0 || t.unk < 0 {
		return nil, errors.New("vocabulary without [CLS], [SEP] or [UNK]")
	}
	return t, nil
}

// append adds the pieces of text to ids until there are limit of them, and
// reads no further than that: one megabyte costs no more than one page.
func (t *wordpiece) append(ids []int32, text string, limit int) []int32 {
	var (
		word  []byte // the word under way, normalised
		runes int
		it    norm.Iter
	)
	flush := func() {
		if runes > 0 {
			ids = t.word(ids, word, runes)
		}
		word, runes = word[:0], 0
	}
	it.InitString(norm.NFD, text)
	for !it.Done() && len(ids) < limit {
		for segment := it.Next(); len(segment) > 0; {
			r, n := utf8.DecodeRune(segment)
			segment = segment[n:]
			switch {
			case r == utf8.RuneError || r == 0 || unicode.Is(unicode.Mn, r):
			case unicode.IsSpace(r):
				flush()
			case unicode.Is(unicode.C, r):
			case separate(r):
				flush()
				word, runes = utf8.AppendRune(word, r), 1
				flush()
			case runes > maxWord: // already unknown; its rest need not be kept
			default:
				word = utf8.AppendRune(word, unicode.ToLower(r))
				runes++
			}
		}
	}
	flush()
	return ids[:min(len(ids), limit)]
}

// word splits one word into the longest pieces from the left; a word that does
// not come out even is unknown as a whole.
func (t *wordpiece) word(ids []int32, word []byte, runes int) []int32 {
	if runes > maxWord {
		return append(ids, t.unk)
	}
	from := len(ids)
	pieces := t.start
	for at := 0; at < len(word); {
		end := min(len(word), at+t.longest)
		for ; end > at; end-- {
			if id, ok := pieces[string(word[at:end])]; ok {
				ids = append(ids, id)
				break
			}
		}
		if end == at {
			return append(ids[:from], t.unk)
		}
		at, pieces = end, t.cont
	}
	return ids
}

// separate tells the runes that are words of their own: punctuation, all of
// ASCII's symbols, and Han characters.
func separate(r rune) bool {
	if r < utf8.RuneSelf {
		return r > ' ' && r < 0x7f && !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	}
	return unicode.IsPunct(r) || r >= 0x4E00 && r <= 0x9FFF || r >= 0x3400 && r <= 0x4DBF ||
		r >= 0xF900 && r <= 0xFAFF || r >= 0x20000 && r <= 0x2A6DF || r >= 0x2A700 && r <= 0x2B73F ||
		r >= 0x2B740 && r <= 0x2B81F || r >= 0x2B920 && r <= 0x2CEAF || r >= 0x2F800 && r <= 0x2FA1F
}

// anyKnown reports whether some id is a piece of the vocabulary.
func (t *wordpiece) anyKnown(ids []int32) bool {
	for _, id := range ids {
		if id != t.unk {
			return true
		}
	}
	return false
}

// foreign reports whether the beginning of text has more letters of other
// scripts than of Latin.
func foreign(text string) bool {
	latin, other := 0, 0
	for i, r := range text {
		if i > 4096 {
			break
		}
		switch {
		case unicode.Is(unicode.Latin, r):
			latin++
		case r >= utf8.RuneSelf && unicode.IsLetter(r):
			other++
		}
	}
	return other > latin
}
