package main

import (
	"fmt"
	"strconv"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/model"
	"github.com/tenet-memory/tenet/store"
)

type jobsCmd struct {
	List  jobsListCmd  `cmd:"" help:"List the tenant's sessions that are not consolidated to the end, failures first."`
	Show  jobsShowCmd  `cmd:"" help:"Show where one session stands, with a verdict for each item."`
	Retry jobsRetryCmd `cmd:"" help:"Give a session that was given up a new row of attempts."`
	Drop  jobsDropCmd  `cmd:"" help:"Give up what a session has not consolidated; the audit chain says so."`
	Stats jobsStatsCmd `cmd:"" help:"Count writes, verdicts, supersession, corroboration and the queue."`
}

type jobsListCmd struct {
	Skip  int `help:"Skip this many."`
	Limit int `help:"At most this many." default:"100"`
}

func (c jobsListCmd) Run(a *app) error {
	whole, err := tenet.NewScope(a.set.tenant, tenet.WholeTenant()) // whose memory does not matter: all of the tenant's are listed
	if err != nil {
		return err
	}
	o, err := a.operator(whole)
	if err != nil {
		return err
	}
	jobs, err := o.Jobs(a.ctx, c.Skip, c.Limit)
	if err != nil {
		return err
	}
	return a.print(map[string]any{"jobs": orEmpty(jobs)}, func() {
		var rows [][]string
		for _, j := range jobs {
			rows = append(rows, []string{
				string(j.State), j.Scope.String(), string(j.Session), strconv.FormatInt(j.Messages, 10), strconv.Itoa(j.Attempts), dash(string(j.Code)), stamp(j.DueAt),
			})
		}
		a.table("STATE|SCOPE|SESSION|MESSAGES|ATTEMPTS|LAST|DUE", rows)
	})
}

type jobsShowCmd struct {
	Session string `arg:"" help:"The session's id."`
	After   string `help:"Only verdicts after this candidate." placeholder:"CANDIDATE"`
	Limit   int    `help:"At most this many verdicts." default:"100"`
}

func (c jobsShowCmd) Run(a *app) error {
	scope, by, err := a.acting(tenet.Operator)
	if err != nil {
		return err
	}
	m, err := a.engine(reads)
	if err != nil {
		return err
	}
	s, err := m.Status(a.ctx, by, scope, tenet.SessionID(c.Session), tenet.CandidateID(c.After), c.Limit)
	if err != nil {
		return err
	}
	return a.print(s, func() {
		a.printf("%s: %s, %d messages and %d candidates wait\n", printable(c.Session), s.State, s.Messages, s.Staged)
		var rows [][]string
		for _, v := range s.Verdicts {
			rows = append(rows, []string{string(v.Candidate), v.Outcome.String(), v.Tier.String(), dash(printable(v.Key)), dash(codes(v.Codes))})
		}
		a.table("CANDIDATE|OUTCOME|TIER|KEY|CODES", rows)
	})
}

type jobsRetryCmd struct {
	Session string `arg:"" help:"The session's id."`
}

func (c jobsRetryCmd) Run(a *app) error {
	o, err := a.review()
	if err != nil {
		return err
	}
	if err := o.Retry(a.ctx, tenet.SessionID(c.Session)); err != nil {
		return err
	}
	return a.print(map[string]any{"session": c.Session, "due": true}, func() { a.printf("%s is due again\n", printable(c.Session)) })
}

type jobsDropCmd struct {
	Session string `arg:"" help:"The session's id."`
	Why     string `required:"" help:"The reason, for the audit chain."`
}

func (c jobsDropCmd) Run(a *app) error {
	o, err := a.review()
	if err != nil {
		return err
	}
	n, err := o.Drop(a.ctx, tenet.SessionID(c.Session), c.Why)
	if err != nil {
		return err
	}
	return a.print(map[string]any{"session": c.Session, "skipped": n}, func() {
		a.printf("%s: %d messages are skipped; they stay in its log\n", printable(c.Session), n)
	})
}

type jobsStatsCmd struct{}

func (jobsStatsCmd) Run(a *app) error {
	o, err := a.review()
	if err != nil {
		return err
	}
	s, err := o.Stats(a.ctx)
	if err != nil {
		return err
	}
	return a.print(s, func() {
		a.printf("%d entries from %s to %s\n", s.Entries, stamp(s.First), stamp(s.Last))
		a.counts(s)
	})
}

type conflictsCmd struct {
	All bool `help:"Clusters without a possible conflict, too."`
}

func (c conflictsCmd) Run(a *app) error {
	o, err := a.review()
	if err != nil {
		return err
	}
	list := o.Conflicts
	if c.All {
		list = o.Clusters
	}
	clusters, err := list(a.ctx)
	if err != nil {
		return err
	}
	return a.print(map[string]any{"clusters": orEmpty(clusters)}, func() {
		for _, cl := range clusters {
			a.printf("cluster %s\n", cl.ID)
			for _, r := range cl.Records {
				a.printf("  %s %s %s [%s, since %s] %s\n", r.Tier, dash(printable(r.Key)), printable(r.Text), r.Label, stamp(r.Valid.From), r.ID)
			}
			for _, p := range cl.Conflicts {
				a.printf("  possible conflict: %s and %s\n", p[0], p[1])
			}
		}
		if len(clusters) == 0 {
			a.printf("nothing similar is in doubt\n")
		}
	})
}

type reextractCmd struct {
	Since     moment `help:"Only turns said since then (default all)." placeholder:"TIME"`
	Extractor string `help:"rules, verbatim, or the configured model as anthropic or openai." enum:"rules,verbatim,anthropic,openai" default:"rules"`
	Commit    bool   `help:"Apply the difference; without it, it is only shown."`
}

// reextract runs an extractor of this process, or of the server.
func (a *app) reextract(o reviewer, c reextractCmd) (memory.Reextraction, error) {
	if r, ok := o.(remoteReview); ok {
		return r.reextract(a.ctx, c.Extractor, c.Since.Time, c.Commit)
	}
	local, ok := o.(*memory.Operator)
	if !ok {
		return memory.Reextraction{}, tenet.Errorf(tenet.Internal, "reextract", "neither a file nor a server")
	}
	x, err := a.extractor(c.Extractor)
	if err != nil {
		return memory.Reextraction{}, err
	}
	return local.Reextract(a.ctx, x, c.Since.Time, c.Commit)
}

// extractor is the named one over the opened database. A model that is not
// configured is an error, not another extractor.
func (a *app) extractor(name string) (model.Extractor, error) {
	if name == "anthropic" || name == "openai" {
		if _, err := modelExtractor(name, a.set.values); err != nil {
			return nil, tenet.Errorf(tenet.Invalid, "reextract", "%s is not configured here: extractor_model, extractor_key", name)
		}
	}
	facts, _ := a.opened.db.(store.Reader) // every database is one
	return extractorOf(name, a.set.values, facts, nil), nil
}

func (c reextractCmd) Run(a *app) error {
	o, err := a.review()
	if err != nil {
		return err
	}
	r, err := a.reextract(o, c)
	if err != nil {
		return err
	}
	return a.print(r, func() {
		a.printf("%s over %d turns of %d sessions: %d the same, %d new, %d no longer derived, %d ends not repeated\n",
			r.Extractor, r.Messages, r.Sessions, r.Same, len(r.Added), len(r.Removed), r.Skipped)
		for _, cand := range r.Added {
			a.printf("  + %s\n", printable(fmt.Sprint(cand.Key, " ", cand.Text)))
		}
		for _, rec := range r.Removed {
			a.printf("  - %s [%s]\n", printable(fmt.Sprint(rec.Key, " ", rec.Text)), rec.ID)
		}
		if !r.Committed {
			a.printf("nothing is changed; --commit applies it\n")
		}
	})
}
