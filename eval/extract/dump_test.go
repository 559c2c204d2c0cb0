package extract

import (
	"fmt"
	"os"
	"testing"
)

func TestDump(t *testing.T) {
	path := os.Getenv("DUMP")
	if path == "" {
		t.Skip()
	}
	f, _ := os.Create(path)
	defer f.Close()
	n := map[string]int{}
	tot := map[string]int{}
	for _, r := range rows(t) {
		tot[r.set]++
		for _, e := range extractions(t, r) {
			n[r.set]++
			fmt.Fprintf(f, "%s\t%s\t%s\t%s\t%q\t%q\n", r.set, r.id, e.key(), e.c.Value, e.c.Text, r.text)
		}
	}
	fmt.Println(n, tot)
}
