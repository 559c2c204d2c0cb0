package main

import (
	"strings"
	"testing"
)

// TestIndexVectorsFromTheCommandLine: on a database that has large scopes by
// the threshold it is given, and on stores it is not for.
func TestIndexVectorsFromTheCommandLine(t *testing.T) {
	pg, _ := servers(t)
	s := newShell(t)
	if r := s.run("index-vectors"); r.code != 2 || !strings.Contains(r.err, "PostgreSQL") {
		t.Errorf("on a file: exit %d, %s", r.code, r.err)
	}
	s.store = pg
	s.env["TENET_MASTER_KEY"] = strings.Repeat("7", 64)
	s.env["TENET_EMBEDDER"] = "none"
	s.ok("remember", "--user", "sarah", "--tier", "note", "--quote", "I like quiet hotels.", "", "Sarah likes quiet hotels.")
	if r := s.run("index-vectors", "--over", "0"); r.code != 2 {
		t.Errorf("--over 0: exit %d", r.code)
	}
	out := s.ok("index-vectors", "--over", "1")
	if !strings.Contains(out, "no scope has 1 vectors") {
		t.Errorf("without vectors: %s", out)
	}
	// As an embedder would have left it.
	onPostgres(t, pg, `INSERT INTO tenet.spaces (name) VALUES ('m/2')`,
		`INSERT INTO tenet.vectors (scope, record, space, position, numbers, tenant) SELECT scope, id, (SELECT space FROM tenet.spaces), 1, '\x0102', tenant FROM tenet.records`)
	out = s.ok("index-vectors", "--over", "1")
	if !strings.Contains(out, "1 vectors, 4 indexes") {
		t.Errorf("with one: %s", out)
	}
	out = s.run("doctor").out
	if !strings.Contains(out, "1 scopes are searched in the database") {
		t.Errorf("doctor: %s", out)
	}
}
