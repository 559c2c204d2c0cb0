package main

import (
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/eval"
)

// evalRetrievalCmd measures a set through the same engine as every command.
type evalRetrievalCmd struct {
	Dir      string `arg:"" help:"Folder with docs.jsonl and queries.jsonl."`
	Figures  string `name:"json-file" placeholder:"FILE" help:"Write the figures as JSON. --json FILE is the same; --json alone prints them."`
	Rankings string `name:"run" placeholder:"FILE" help:"Write the rankings: one line a query, {id, hits}."`
	Embedder string `placeholder:"NAME" help:"none, openai, or an installed model (default as configured)."`
	Plot     string `placeholder:"FILE" help:"Write a plot of the figures as SVG."`
	Compare  string `placeholder:"RUN" help:"Compare with the rankings of an earlier run, by a paired bootstrap."`
	Vectors  string `placeholder:"FOLDER" help:"Keep vectors in this folder, so that a set is embedded once."`
}

func (c evalRetrievalCmd) Run(a *app) error {
	set, err := eval.ReadSet(c.Dir)
	if err != nil {
		return err
	}
	if c.Embedder != "" {
		a.set.values["embedder"] = c.Embedder
	}
	emb, err := a.embedder()
	if err != nil {
		return err
	}
	if emb != nil && c.Vectors != "" {
		cached, err := eval.OpenCached(emb, c.Vectors)
		if err != nil {
			return err
		}
		defer cached.Close()
		emb = cached
	}
	dir, err := os.MkdirTemp(scratch(), "tenet-eval-")
	if err != nil {
		return tenet.Errorf(tenet.Unavailable, "eval", "no temporary folder: %s", osReason(err))
	}
	defer os.RemoveAll(dir)
	s := a.set
	s.vault = dsn{}
	s.durable, s.debounce = true, time.Hour // sessions are ended, not waited for
	e, err := openSQLite(a.ctx, s, engineOptions{path: filepath.Join(dir, "eval.db"), embedder: emb})
	if err != nil {
		return err
	}
	defer e.close()
	run, err := eval.Retrieve(a.ctx, e.Memory, set, a.progress())
	if err != nil {
		return err
	}
	rep := eval.Score(set, run)
	rep.Embedder = "none"
	if emb != nil {
		rep.Embedder = emb.Space().Name()
	}
	for path, write := range map[string]func(io.Writer) error{
		c.Rankings: run.WriteRankings, c.Plot: rep.WritePlot,
		c.Figures: func(w io.Writer) error {
			enc := json.NewEncoder(w)
			enc.SetIndent("", "  ")
			return enc.Encode(rep)
		},
	} {
		if err := writeTo(path, write); err != nil {
			return err
		}
	}
	var diffs []eval.Compared
	if c.Compare != "" {
		old, err := eval.ReadRankings(c.Compare)
		if err != nil {
			return err
		}
		diffs = eval.CompareRuns(eval.Score(set, eval.Run{Rankings: old}), rep)
	}
	var v any = rep
	if diffs != nil {
		v = struct {
			eval.Report
			Compared []eval.Compared `json:"compared"`
		}{rep, diffs}
	}
	return a.print(v, func() { a.measured(rep, diffs) })
}

// jsonFile turns the --json FILE of an eval command into --json-file FILE: the
// same flag without a value is every command's own.
func jsonFile(args []string) []string {
	if len(args) == 0 || args[0] != "eval" {
		return args
	}
	out := slices.Clone(args)
	for i, arg := range out {
		if file, ok := strings.CutPrefix(arg, "--json="); ok && file != "true" && file != "false" {
			out[i] = "--json-file=" + file
		}
		if arg != "--json" || i+1 == len(out) || strings.HasPrefix(out[i+1], "-") {
			continue
		}
		if info, err := os.Stat(out[i+1]); err != nil || !info.IsDir() {
			out[i] = "--json-file"
		}
	}
	return out
}

// scratch is where the database of a measurement lies: in memory where there is
// a file system for it, since nothing of it is to outlast a power cut.
func scratch() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() && os.Getenv("TMPDIR") == "" {
		return "/dev/shm"
	}
	return ""
}

func writeTo(path string, write func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		return tenet.Errorf(tenet.Unavailable, "eval", "%s cannot be created: %s", path, osReason(err))
	}
	if err := write(f); err != nil {
		f.Close()
		return tenet.Errorf(tenet.Unavailable, "eval", "%s cannot be written", path)
	}
	return f.Close()
}

// progress shows how far a run has come, where somebody looks.
func (a *app) progress() eval.Progress {
	if !terminal(a.err) {
		return nil
	}
	var last time.Time
	return func(stage string, done, total int) {
		if now := time.Now(); now.Sub(last) > 500*time.Millisecond || done == total {
			last = now
			io.WriteString(a.err, "\r"+stage+" "+strconv.Itoa(done)+" of "+strconv.Itoa(total)+"   ")
			if done == total {
				io.WriteString(a.err, "\n")
			}
		}
	}
}

func (a *app) measured(rep eval.Report, diffs []eval.Compared) {
	f := func(x float64) string { return strconv.FormatFloat(100*x, 'f', 1, 64) }
	row := func(name string, m eval.Metrics) []string {
		return []string{name, strconv.Itoa(m.N), f(m.Recall5), f(m.Recall10), f(m.Recall20), f(m.Hit1), f(m.Hit5), f(m.Hit10), f(m.All10), f(m.MRR), f(m.NDCG10)}
	}
	rows := [][]string{row("overall", rep.Overall)}
	for _, name := range slices.Sorted(maps.Keys(rep.Categories)) {
		rows = append(rows, row(name, rep.Categories[name]))
	}
	a.table("CATEGORY|N|R@5|R@10|R@20|HIT@1|HIT@5|HIT@10|ALL@10|MRR|NDCG@10", rows)
	a.printf("\nset %s, embedder %s\n", printable(rep.Set), rep.Embedder)
	a.printf("documents %d, kept %d, of them merged with an equal one %d; leaks %d\n", rep.Documents, rep.Kept, rep.Merged, rep.Leaks)
	if rep.Degraded > 0 {
		a.printf("degraded %d: the embedder did not answer for these queries, they were ranked by words\n", rep.Degraded)
	}
	for _, code := range slices.Sorted(maps.Keys(rep.Refused)) {
		a.printf("  refused, and so a miss: %d %s\n", rep.Refused[code], code)
	}
	for _, why := range slices.Sorted(maps.Keys(rep.Excluded)) {
		a.printf("  not scored: %d (%s)\n", rep.Excluded[why], why)
	}
	a.printf("import %.1f s; a query p50 %.0f us, p99 %.0f us\n", rep.ImportMS/1000, rep.QueryP50US, rep.QueryP99US)
	if diffs == nil {
		return
	}
	rows = nil
	for _, d := range diffs {
		rows = append(rows, []string{d.Category, d.Measure, strconv.Itoa(d.N), f(d.Mean), f(d.Low) + " .. " + f(d.High), strconv.Itoa(d.Wins), strconv.Itoa(d.Loss)})
	}
	a.printf("\nagainst the earlier run (paired bootstrap, 10,000 resamples, 95%% interval):\n")
	a.table("CATEGORY|MEASURE|N|DIFFERENCE|INTERVAL|BETTER|WORSE", rows)
}

type evalConvertCmd struct {
	Kind string `arg:"" help:"locomo or longmemeval." enum:"locomo,longmemeval"`
	File string `arg:"" help:"The published file."`
	Dir  string `arg:"" help:"Folder to write docs.jsonl and queries.jsonl into."`
}

func (c evalConvertCmd) Run(a *app) error {
	convert := eval.ConvertLoCoMo
	if c.Kind == "longmemeval" {
		convert = eval.ConvertLongMemEval
	}
	set, err := convert(c.File)
	if err != nil {
		return err
	}
	if err := set.Write(c.Dir); err != nil {
		return err
	}
	return a.print(map[string]int{"documents": len(set.Docs), "queries": len(set.Queries)}, func() {
		a.printf("%d documents and %d queries into %s\n", len(set.Docs), len(set.Queries), c.Dir)
	})
}
