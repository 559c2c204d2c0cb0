package memtool

import (
	"regexp"
	"strconv"
	"strings"
)

// rootDir is where every path of the tool begins.
const rootDir = "/memories"

// path is a path of the tool, canonical: its parts below the root.
type path struct {
	parts []string
	given string // as the caller wrote it, for replies
}

func (p path) root() bool { return len(p.parts) == 0 }

// document is the path's document; the root's is the prefix of all.
func (p path) document() string { return strings.Join(append([]string{"memories"}, p.parts...), "/") }

func (p path) String() string { return "/" + p.document() }

// parsePath canonicalises a path, or refuses one that would leave the root or
// could be read as leaving it by whoever decodes it once more.
func parsePath(given string) (path, error) {
	if given == "" {
		return path{}, replyf("Missing required argument: path")
	}
	if !strings.HasPrefix(given, rootDir) {
		return path{}, replyf("Path must start with %s, got: %s", rootDir, given)
	}
	rest := strings.TrimPrefix(given, rootDir)
	if rest != "" && rest[0] != '/' || escapes(rest) {
		return path{}, replyf("Path %s would escape %s directory", given, rootDir)
	}
	p := path{given: given}
	for part := range strings.SplitSeq(rest, "/") {
		if part != "" && part != "." {
			p.parts = append(p.parts, part)
		}
	}
	return p, nil
}

// escapes reports a part that goes up, a backslash, or either of them or a slash
// behind percent signs, however often they were applied.
func escapes(rest string) bool {
	slashes := strings.Count(rest, "/")
	for range 4 {
		if strings.Contains(rest, `\`) || strings.Count(rest, "/") > slashes || strings.ContainsRune(rest, 0) {
			return true
		}
		for part := range strings.SplitSeq(rest, "/") {
			if part == ".." {
				return true
			}
		}
		decoded := unescaped(rest)
		if decoded == rest {
			return false
		}
		rest = decoded
	}
	return true // encoded more often than anybody means well
}

var triplet = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// unescaped takes one layer of percent signs off. What is no escape stays: it
// would not stop another decoder from reading the rest.
func unescaped(s string) string {
	return triplet.ReplaceAllStringFunc(s, func(hex string) string {
		b, _ := strconv.ParseUint(hex[1:], 16, 8)
		return string([]byte{byte(b)})
	})
}
