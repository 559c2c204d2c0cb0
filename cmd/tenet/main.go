// Command tenet is Tenet's command line: a thin shell over package memory that
// reads configuration, opens a store, calls one method and prints the answer.
// It holds no rule of its own: what may be remembered, the gate decides.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/tenet-memory/tenet"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// grammar is every command and flag. Flags of globals are pointers, so that a
// flag that is given beats the file and the environment even when it is empty.
type grammar struct {
	globals

	Remember     rememberCmd     `cmd:"" help:"Propose a fact or note with its evidence and wait for the verdict."`
	Facts        factsCmd        `cmd:"" help:"Load every fact by identity: complete, exact, without a query."`
	History      historyCmd      `cmd:"" help:"Show every value ever believed under a key, on both time axes."`
	Retract      retractCmd      `cmd:"" help:"Take a fact back: it never was true."`
	End          endCmd          `cmd:"" help:"End a fact: it is no longer true."`
	Session      sessionCmd      `cmd:"" help:"Write and read a conversation."`
	Context      contextCmd      `cmd:"" help:"Assemble working memory for the next model call."`
	Recall       recallCmd       `cmd:"" help:"Find notes and episodes by meaning."`
	Import       importCmd       `cmd:"" help:"Import conversations (JSON lines, LoCoMo, OpenAI chats, ChatGPT exports), exports of Tenet, dumps of mem0 and LangGraph."`
	Export       exportCmd       `cmd:"" help:"Write everything that is kept about a subject, or the tenant, as signed JSON lines."`
	Report       reportCmd       `cmd:"" help:"Write everything that is held about a subject, for a person to read."`
	Consolidate  consolidateCmd  `cmd:"" help:"Take sessions through extraction and the gate."`
	Audit        auditCmd        `cmd:"" help:"Review what was decided, and what is held."`
	Verify       verifyCmd       `cmd:"" help:"Recompute the audit chain and every row it covers."`
	Vet          vetCmd          `cmd:"" help:"Say what remember would decide, and write nothing."`
	Ask          askCmd          `cmd:"" help:"Ask the user about a held candidate: what they are shown, and the nonce."`
	Confirm      confirmCmd      `cmd:"" help:"Confirm what was shown, as the user."`
	Authorize    authorizeCmd    `cmd:"" help:"Say whether an action may be taken on what a session's context held."`
	Taint        taintCmd        `cmd:"" help:"List everything that came from a source, and take it back."`
	Rescan       rescanCmd       `cmd:"" help:"Judge again, under the present rules, what is believed; show what they would not let in."`
	Gate         gateCmd         `cmd:"" help:"Look at what the gate refused."`
	Policy       policyCmd       `cmd:"" help:"Check and test a policy file."`
	Eval         evalCmd         `cmd:"" help:"Measure this build on a folder of data."`
	Jobs         jobsCmd         `cmd:"" help:"Look after consolidation: what waits, failed or was given up."`
	Conflicts    conflictsCmd    `cmd:"" help:"List what says nearly the same and may contradict itself."`
	Reextract    reextractCmd    `cmd:"" help:"Extract again from the turns that are kept, and show or apply the difference."`
	Doc          docCmd          `cmd:"" help:"Keep documents: files that an agent files for itself."`
	Thread       threadCmd       `cmd:"" help:"Keep frameworks' own state: opaque versions, byte for byte."`
	Checkpoint   checkpointCmd   `cmd:"" help:"Keep and resume where a run stands."`
	Effect       effectCmd       `cmd:"" help:"Carry external side effects out at most once unasked."`
	Forget       forgetCmd       `cmd:"" help:"Sweep what has lost its use out of the default results; nothing is deleted."`
	Outcome      outcomeCmd      `cmd:"" help:"Say how a use of recalled records turned out."`
	Erase        eraseCmd        `cmd:"" help:"Make something gone with all that hangs on it. It cannot be undone."`
	Erasure      erasureCmd      `cmd:"" help:"Look at erasures and check their receipts."`
	LegalHold    legalHoldCmd    `cmd:"" help:"Keep a subject from being erased and from expiring."`
	Backup       backupCmd       `cmd:"" help:"Copy the database file while it is in use."`
	Restore      restoreCmd      `cmd:"" help:"Put a copy in the place of the database; later erasures are carried out again."`
	Fsck         fsckCmd         `cmd:"" help:"Look at the whole database: chains, orphans, indexes. Nothing is repaired."`
	Model        modelCmd        `cmd:"" help:"Install and choose the embedding model that runs in process."`
	Stats        statsCmd        `cmd:"" help:"Count what a memory holds and what was decided in it."`
	Top          topCmd          `cmd:"" help:"Watch what a server does: writes, recalls, the queue, tokens, latencies; q ends it."`
	Key          keyCmd          `cmd:"" help:"Manage API keys."`
	MasterKey    masterKeyCmd    `cmd:"" help:"Look after the key that wraps every subject's data key."`
	Serve        serveCmd        `cmd:"" help:"Serve the engine over HTTP."`
	MCP          mcpCmd          `cmd:"" name:"mcp" help:"Serve one memory to an agent over the Model Context Protocol, on standard input and output."`
	Migrate      migrateCmd      `cmd:"" name:"migrate-store" help:"Copy a file into PostgreSQL, resumably, and compare the two at the end."`
	IndexVectors indexVectorsCmd `cmd:"" name:"index-vectors" help:"Let the database search the vectors of very large scopes (PostgreSQL with pgvector)."`
	Doctor       doctorCmd       `cmd:"" help:"Look at the databases and say what is wrong and what to do."`
	Hook         hookCmd         `cmd:"" help:"Hooks of Claude Code: record what the user typed, hand the context over."`
	Demo         demoCmd         `cmd:"" help:"Sarah's story on real code: no network, no key, a few seconds."`
	Config       configCmd       `cmd:"" help:"Look at the configuration."`
	Version      versionCmd      `cmd:"" help:"Print the version."`
}

// globals are the flags of every command; settings.go says what they mean.
type globals struct {
	ConfigFile       *string `name:"config" placeholder:"FILE" help:"Configuration file (default ./tenet.yaml when it is there)."`
	Store            *string `placeholder:"DSN" help:"Database: a path, sqlite:PATH or postgres://... (default ./tenet.db)."`
	Sessions         *string `placeholder:"DSN" help:"Where sessions are kept: redis://... (default: with the store)."`
	Tenant           *string `help:"Tenant (default \"default\")."`
	User             *string `xor:"subject" help:"Whose memory: a user. Same as --subject user:ID."`
	Project          *string `xor:"subject" help:"Whose memory: a project. Same as --subject project:ID."`
	Subject          *string `xor:"subject" help:"Whose memory: user:ID, project:ID or tenant."`
	As               *string `placeholder:"KIND" help:"Act as app, agent, user, connector or operator (default app; operator for audit and verify)."`
	Actor            *string `placeholder:"NAME" help:"Name of who acts (default cli)."`
	Owns             *string `placeholder:"KEYS" help:"Fact keys that a connector owns, separated by commas."`
	Durable          *string `placeholder:"on|off" help:"off: sessions only, durable calls are unavailable (default on)."`
	SessionTTL       *string `name:"session-ttl" placeholder:"DURATION" help:"How long a session's log is kept after its last message (default for ever)."`
	EpisodeRetention *string `name:"episode-retention" placeholder:"DURATION" help:"How long a verbatim turn keeps its text (default for ever)."`
	AuditRetention   *string `name:"audit-retention" placeholder:"DURATION" help:"How long an audit entry is kept that nothing needs (default for ever)."`

	PolicyFile *string `name:"policy" placeholder:"FILE" help:"Policy file (default: the built-in policy)."`
	Listen     *string `placeholder:"ADDR" help:"Address to serve on (default 127.0.0.1:7766)."`
	Server     *string `placeholder:"URL" help:"Run the command against a Tenet server instead of a file."`
	APIKey     *string `name:"key" placeholder:"SECRET" help:"API key for --server; TENET_API_KEY keeps it out of the process list."`

	JSON bool `name:"json" help:"Print JSON."`
}

// app is one run of the program.
type app struct {
	ctx    context.Context
	getenv func(string) string
	in     io.Reader
	out    io.Writer
	err    io.Writer
	json   bool
	set    settings
	opened *engine
	log    *slog.Logger // of a server; nil: what no caller would see is not said
}

// run is the whole program but for the process: tests call it.
func run(ctx context.Context, args []string, getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{ctx: ctx, getenv: getenv, in: stdin, out: stdout, err: stderr}
	args = jsonFile(args)
	// Before the flags are parsed, an error about them needs its form already.
	a.json = slices.Contains(args, "--json")
	if len(args) == 0 {
		args = []string{"--help"}
	}
	err := a.command(args)
	if a.opened != nil {
		if cerr := a.opened.close(); err == nil {
			err = cerr
		}
	}
	if err == nil {
		return 0
	}
	a.fail(err)
	return hookExit(args, exitCode(err))
}

// parse reads the arguments; nil when help was asked for and given.
func (a *app) parse(g *grammar, args []string) (*kong.Context, error) {
	helped := false
	k, err := kong.New(g,
		kong.Name("tenet"),
		kong.Description("Governed memory for AI agents: three tiers, one gate."),
		kong.Writers(a.out, a.err),
		kong.Exit(func(int) { helped = true }),
		kong.ConfigureHelp(kong.HelpOptions{NoExpandSubcommands: true, FlagsLast: true}),
		kong.Help(helpWithExitCodes),
		kong.WithHyphenPrefixedParameters(true), // --after -20, --quote "- no nuts"
	)
	if err != nil {
		return nil, tenet.Errorf(tenet.Internal, "start", "%v", err)
	}
	for i, arg := range args { // the parser would turn each bad byte into U+FFFD, and merge ids
		if !utf8.ValidString(arg) {
			return nil, tenet.Errorf(tenet.Invalid, "usage", "argument %d is not valid UTF-8", i+1)
		}
	}
	parsed, err := k.Parse(args)
	if helped {
		return nil, nil
	}
	if err != nil {
		return nil, tenet.Errorf(tenet.Invalid, "usage", "%s; see tenet --help", usage(err))
	}
	return parsed, nil
}

// command parses the arguments, loads the configuration and runs one command.
func (a *app) command(args []string) error {
	var g grammar
	parsed, err := a.parse(&g, args)
	if err != nil || parsed == nil {
		return err
	}
	a.json = g.JSON
	if parsed.Command() == "version" { // works whatever the configuration
		return parsed.Run(a)
	}
	if a.set, err = load(g.globals, a.getenv); err != nil {
		return err
	}
	if err := parsed.Run(a); err != nil {
		return err
	}
	a.embedWhatIsNew(parsed.Command())
	return nil
}

// usage is kong's word for a mistake; it names flags and arguments. It may
// quote an argument, so it is cut to its first line.
func usage(err error) string {
	var p *kong.ParseError
	if errors.As(err, &p) {
		err = p.Unwrap()
	}
	s, _, _ := strings.Cut(err.Error(), "\n")
	return printable(s)
}

// helpWithExitCodes prints kong's help and, for the program as a whole, what
// the exit codes mean.
func helpWithExitCodes(o kong.HelpOptions, ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(o, ctx); err != nil {
		return err
	}
	if ctx.Selected() == nil {
		fmt.Fprintf(ctx.Stdout, "\nExit codes:\n%s", exitHelp())
	}
	return nil
}
