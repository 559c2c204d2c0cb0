// Package eval measures Tenet through its public engine: the same calls a host
// makes, with no switch of its own. It reads retrieval sets, runs their
// queries, and scores the rankings.
//
// It imports tenet, memory, transcript and the standard library. It opens no
// database: the caller brings an engine over empty stores.
package eval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
)

// Doc is one document of a set. Documents of one session are in conversation
// order. Session, Time and Role may be empty; Time is as published.
type Doc struct {
	ID      string `json:"id"`
	Tenant  string `json:"tenant"`
	Session string `json:"session"`
	Time    string `json:"time"`
	Role    string `json:"role"`
	Text    string `json:"text"`
}

// Query is one question. It is scored only when Gold is not empty and Exclude
// is not set.
type Query struct {
	ID       string   `json:"id"`
	Tenant   string   `json:"tenant"`
	Category string   `json:"category"`
	Text     string   `json:"text"`
	Time     string   `json:"time,omitempty"`
	Gold     []string `json:"gold"`
	Exclude  bool     `json:"exclude,omitempty"`
}

// Scored reports whether the query counts.
func (q Query) Scored() bool { return len(q.Gold) > 0 && !q.Exclude }

// Set is a folder with docs.jsonl and queries.jsonl.
type Set struct {
	Name    string
	Docs    []Doc
	Queries []Query
}

// maxLine bounds one line of a set, in bytes.
const maxLine = 4 << 20

// ReadSet reads a folder. Lines end at \n only: texts may hold other line
// separators. Unknown fields are allowed, published sets carry more than is
// read here. It returns NotFound for a missing file and Invalid, with file and
// line, for one that does not fit.
func ReadSet(dir string) (Set, error) {
	s := Set{Name: filepath.Base(filepath.Clean(dir))}
	if err := readLines(filepath.Join(dir, "docs.jsonl"), func(d Doc) error {
		if d.ID == "" {
			return errors.New("document without id")
		}
		s.Docs = append(s.Docs, d)
		return nil
	}); err != nil {
		return Set{}, err
	}
	if err := readLines(filepath.Join(dir, "queries.jsonl"), func(q Query) error {
		if q.ID == "" {
			return errors.New("query without id")
		}
		s.Queries = append(s.Queries, q)
		return nil
	}); err != nil {
		return Set{}, err
	}
	return s, nil
}

// Write writes the set into a folder in the form ReadSet reads.
func (s Set) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return tenet.Errorf(tenet.Unavailable, "write set", "the folder cannot be made")
	}
	if err := writeLines(filepath.Join(dir, "docs.jsonl"), s.Docs); err != nil {
		return err
	}
	return writeLines(filepath.Join(dir, "queries.jsonl"), s.Queries)
}

func readLines[T any](path string, take func(T) error) error {
	f, err := os.Open(path)
	if err != nil {
		return tenet.Errorf(tenet.NotFound, "read set", "%s cannot be opened", path)
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 64<<10)
	for n := 1; ; n++ {
		line, err := readLine(r)
		if err == io.EOF && len(line) == 0 {
			return nil
		}
		if err != nil && err != io.EOF {
			return tenet.Errorf(tenet.Invalid, "read set", "%s:%d: %v", path, n, err)
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var v T
		if json.Unmarshal(line, &v) != nil {
			return tenet.Errorf(tenet.Invalid, "read set", "%s:%d: not the expected object", path, n)
		}
		if err := take(v); err != nil {
			return tenet.Errorf(tenet.Invalid, "read set", "%s:%d: %v", path, n, err)
		}
	}
}

func readLine(r *bufio.Reader) ([]byte, error) {
	var out []byte
	for {
		part, err := r.ReadSlice('\n')
		out = append(out, part...)
		if len(out) > maxLine {
			return nil, errors.New("line over 4 MiB")
		}
		if err != bufio.ErrBufferFull {
			return out, err
		}
	}
}

func writeLines[T any](path string, vs []T) error {
	f, err := os.Create(path)
	if err != nil {
		return tenet.Errorf(tenet.Unavailable, "write set", "%s cannot be created", path)
	}
	w := bufio.NewWriter(f)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, v := range vs {
		if err := enc.Encode(v); err != nil {
			f.Close()
			return err
		}
	}
	if err := w.Flush(); err != nil {
		f.Close()
		return tenet.Errorf(tenet.Unavailable, "write set", "%s cannot be written", path)
	}
	return f.Close()
}

// timeForms are the forms in which the published sets write time.
var timeForms = []string{
	time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly,
	"3:04 pm on 2 January, 2006", "January-2-2006", "2006/01/02 (Mon) 15:04",
}

// parseTime reads a published time; one in no known form is unknown.
func parseTime(s string) time.Time {
	s = strings.TrimSpace(s)
	for _, form := range timeForms {
		if t, err := time.Parse(form, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}
