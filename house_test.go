package tenet_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A document that names a test as its ground names one that exists.
func TestTheTestsThatDocumentsNameExist(t *testing.T) {
	t.Parallel()
	have := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test[A-Z]\w*)\(`)
	if err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() != "." && strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case strings.HasSuffix(path, "_test.go"):
			text, err := os.ReadFile(path)
			for _, m := range declared.FindAllSubmatch(text, -1) {
				have[string(m[1])] = true
			}
			return err
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, page := range append(pages, "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, fence := range regexp.MustCompile("(?m)^```.*$").FindAllString(string(text), -1) {
			if i%2 == 0 && fence == "```" {
				t.Errorf("%s: the %dth fenced block does not say what it is: what runs them (cmd/tenet) has to know", page, i/2+1)
			}
		}
		for _, name := range regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(string(text), -1) {
			named++
			if !have[name] && !prefixes(have, name) {
				t.Errorf("%s names %s, which no file has", page, name)
			}
		}
	}
	if named == 0 {
		t.Error("no document names a test")
	}
}

// prefixes reports whether name, as go test -run takes it, begins a test's name.
func prefixes(have map[string]bool, name string) bool {
	for n := range have {
		if strings.HasPrefix(n, name) {
			return true
		}
	}
	return false
}

// TestNoFileNamesWherePackagesComeFrom: a client of packages knows its mirror
// from its own configuration, and so do the scripts.
func TestNoFileNamesWherePackagesComeFrom(t *testing.T) {
	t.Parallel()
	hosts := regexp.MustCompile(`(?i)\b(deb\.debian|archive\.ubuntu|pypi|pythonhosted|registry\.npmjs|proxy\.golang|sum\.golang|repo1?\.maven|static\.crates)\.(org|com|io)\b`)
	if !hosts.MatchString("deb.debian" + ".org") {
		t.Fatal("the search is broken")
	}
	read := 0
	if err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (slices.Contains([]string{"node_modules", "bin", "data"}, d.Name()) || d.Name() != "." && strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		read++
		if m := hosts.FindString(readFile(t, path)); m != "" {
			t.Errorf("%s names %s", path, m)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if read < 500 {
		t.Errorf("%d files were read", read)
	}
}
