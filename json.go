package tenet

import (
	"bytes"
	"encoding/json"
	"io"
	"unicode/utf8"
)

// maxDepth bounds the nesting of a value; deeper input is hostile.
const maxDepth = 64

// CheckJSON returns an Invalid error unless data is exactly one JSON value
// that means the same to every reader: valid UTF-8, no lone surrogate escape
// (which Go would silently turn into U+FFFD, merging identities), no
// duplicate object key, nested at most 64 deep, nothing after it.
func CheckJSON(data []byte) error {
	if !utf8.Valid(data) {
		return Errorf(Invalid, "json", "not valid UTF-8")
	}
	if i := loneSurrogate(data); i >= 0 {
		return Errorf(Invalid, "json", "lone surrogate escape at offset %d", i)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := checkValue(d, 0); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return Errorf(Invalid, "json", "trailing data at offset %d", d.InputOffset())
	}
	return nil
}

func checkValue(d *json.Decoder, depth int) error {
	if depth > maxDepth {
		return Errorf(Invalid, "json", "nested deeper than %d", maxDepth)
	}
	tok, err := d.Token()
	if err != nil {
		return Errorf(Invalid, "json", "syntax error at offset %d", d.InputOffset())
	}
	delim, ok := tok.(json.Delim)
	if !ok {
		return nil
	}
	var seen map[string]bool
	if delim == '{' {
		seen = map[string]bool{}
	}
	for d.More() {
		if seen != nil {
			tok, err := d.Token()
			if err != nil {
				return Errorf(Invalid, "json", "syntax error at offset %d", d.InputOffset())
			}
			key, _ := tok.(string)
			if seen[key] {
				return Errorf(Invalid, "json", "duplicate key at offset %d", d.InputOffset())
			}
			seen[key] = true
		}
		if err := checkValue(d, depth+1); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return Errorf(Invalid, "json", "syntax error at offset %d", d.InputOffset())
	}
	return nil
}

// loneSurrogate finds a \uD800-\uDFFF escape that is not half of a pair, and
// returns its offset, or -1. It reads escapes only, so it needs no parser.
func loneSurrogate(data []byte) int {
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		if i+1 < len(data) && data[i+1] != 'u' {
			i++ // the escaped character, a backslash perhaps
			continue
		}
		hi, ok := hex4(data, i)
		if !ok || hi < 0xD800 || hi > 0xDFFF {
			i += 5
			continue
		}
		lo, ok := hex4(data, i+6)
		if hi > 0xDBFF || !ok || lo < 0xDC00 || lo > 0xDFFF {
			return i
		}
		i += 11
	}
	return -1
}

// hex4 reads a \uXXXX escape at i.
func hex4(data []byte, i int) (rune, bool) {
	if i+6 > len(data) || data[i] != '\\' || data[i+1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range data[i+2 : i+6] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// DecodeJSON strictly decodes data into v: CheckJSON, and no unknown field.
// It returns an Invalid error that names the offset or field, never a value.
func DecodeJSON(data []byte, v any) error {
	if err := CheckJSON(data); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return Errorf(Invalid, "json", "%s", decodeReason(err))
	}
	return nil
}

// decodeReason names what did not fit without quoting the value.
func decodeReason(err error) string {
	switch e := err.(type) {
	case *json.UnmarshalTypeError:
		return "field " + e.Field + " has the wrong type"
	case *Error:
		return e.Reason
	case *json.SyntaxError:
		return "syntax error"
	}
	if s := err.Error(); len(s) > 20 && s[:20] == "json: unknown field " {
		return s[6:]
	}
	return "does not fit"
}
