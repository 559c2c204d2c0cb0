package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/tenet-memory/tenet"
)

// quoteTag makes a strong ETag of an id. Ids that HTTP could not carry, and
// sets of several, are digested.
func quoteTag(ids ...string) string {
	if len(ids) == 1 && tagSafe(ids[0]) {
		return `"` + ids[0] + `"`
	}
	h := sha256.New()
	for _, id := range ids {
		h.Write([]byte(id))
		h.Write([]byte{0})
	}
	return `"set:` + hex.EncodeToString(h.Sum(nil)[:16]) + `"`
}

func tagSafe(id string) bool {
	for i := range len(id) {
		if c := id[i]; c < 0x21 || c > 0x7e || c == '"' {
			return false
		}
	}
	return id != ""
}

// conditional reports whether the client made its write depend on a version.
func conditional(r *http.Request) bool {
	return r.Method != http.MethodGet && (r.Header.Get("If-Match") != "" || r.Header.Get("If-None-Match") != "")
}

// condition are the headers of a write that depends on a version.
type condition struct {
	match, noneMatch string
}

// version is the one the client expects: none for If-None-Match: *, and empty
// when it names no condition.
func (c condition) version(none string) (string, error) {
	switch {
	case c.match != "" && c.noneMatch != "":
		return "", tenet.Errorf(tenet.Invalid, "condition", "If-Match and If-None-Match exclude each other")
	case c.noneMatch != "":
		if strings.TrimSpace(c.noneMatch) != "*" {
			return "", tenet.Errorf(tenet.Invalid, "condition", "If-None-Match on a write takes * only")
		}
		return none, nil
	case c.match == "":
		return "", nil
	}
	tag := strings.TrimSpace(c.match)
	switch {
	case tag == "*":
		return "", tenet.Errorf(tenet.Invalid, "condition", "If-Match takes the version that you read, not *")
	case strings.HasPrefix(tag, "W/"):
		return "", &problemError{status: http.StatusPreconditionFailed, detail: "a weak ETag never matches"}
	case len(tag) < 3 || tag[0] != '"' || tag[len(tag)-1] != '"' || !tagSafe(tag[1:len(tag)-1]):
		return "", tenet.Errorf(tenet.Invalid, "condition", "If-Match takes one quoted ETag")
	}
	return tag[1 : len(tag)-1], nil
}

// required is version for a write that must be conditional.
func (c condition) required(none string) (string, error) {
	v, err := c.version(none)
	if err == nil && v == "" {
		return "", &problemError{status: http.StatusPreconditionRequired,
			detail: "say which version you replace: If-Match with its ETag, or If-None-Match: * for a new one"}
	}
	return v, err
}

// noneMatch reports whether a client that has one of the tags needs no answer.
func noneMatch(headers []string, tag string) bool {
	for _, h := range headers {
		for t := range strings.SplitSeq(h, ",") {
			if t = strings.TrimSpace(t); t == "*" || strings.TrimPrefix(t, "W/") == tag {
				return true
			}
		}
	}
	return false
}
