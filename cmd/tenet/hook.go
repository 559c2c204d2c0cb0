package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// hookCmd are command hooks of Claude Code: they record what the user typed
// with an app's key that the model does not hold, and hand the context over.
type hookCmd struct {
	UserPromptSubmit hookPromptCmd  `cmd:"" name:"user-prompt-submit" help:"Record what the user typed as theirs and print the context for it. Blocks the prompt when memory cannot be loaded."`
	SessionStart     hookStartCmd   `cmd:"" name:"session-start" help:"Print all facts for a conversation that begins, resumes or was compacted."`
	Stop             hookStopCmd    `cmd:"" name:"stop" help:"Record what the assistant said; the conversation becomes due for consolidation."`
	PreCompact       hookCompactCmd `cmd:"" name:"pre-compact" help:"See that the conversation is due for consolidation before its transcript is cut."`
}

// hookFlags are what every hook takes. The key comes from TENET_HOOK_KEY_FILE
// (mode 0600) or TENET_HOOK_KEY, and else from TENET_API_KEY.
type hookFlags struct {
	Patience time.Duration `help:"How long the hook may take; then it fails as it would for any error." default:"2s"`
	Tokens   int           `help:"Budget of the context. Facts are never cut: over it the hook fails." default:"2000"`
	OnError  string        `name:"on-error" help:"What a prompt meets when memory cannot be loaded: block, or warn the user and the model and go on." enum:"block,warn" default:"block"`
}

// hookInput is what the hooks read of their input.
type hookInput struct {
	Session string `json:"session_id"`
	Prompt  string `json:"prompt"`
	Said    string `json:"last_assistant_message"`
}

// hookOutput is what Claude Code reads.
type hookOutput struct {
	Decision      string        `json:"decision,omitempty"`
	Reason        string        `json:"reason,omitempty"`
	SystemMessage string        `json:"systemMessage,omitempty"` // shown to the user
	Specific      *hookSpecific `json:"hookSpecificOutput,omitempty"`
}

type hookSpecific struct {
	Event   string `json:"hookEventName"`
	Context string `json:"additionalContext"`
}

// maxHookContext is how many characters Claude Code takes whole; of more it
// shows a preview, and facts would be cut without a word.
const maxHookContext = 10_000

const maxHookInput = 4 << 20

type hookPromptCmd struct{ hookFlags }
type hookStartCmd struct{ hookFlags }
type hookStopCmd struct{ hookFlags }
type hookCompactCmd struct{ hookFlags }

func (c hookPromptCmd) Run(a *app) error {
	out, err := a.hooked(c.hookFlags, func(ctx context.Context, in hookInput, s conversation) (hookOutput, error) {
		// A prompt that is blocked was not said: the user sends it again, and it
		// would stand in the log once for each try.
		out, err := c.load(ctx, "UserPromptSubmit", in, s, memory.Budget{Tokens: c.Tokens})
		if err != nil && c.OnError == "block" || strings.TrimSpace(in.Prompt) == "" {
			return out, err
		}
		if _, appendErr := s.Append(ctx, tenet.UserMessage(in.Prompt)); appendErr != nil {
			return hookOutput{}, appendErr
		}
		return out, err
	})
	if err != nil && c.OnError == "block" {
		out = hookOutput{Decision: "block", Reason: hookFailed(err) + " The prompt was not sent. Try again, or set the hook's --on-error warn to go on without memory."}
	} else if err != nil {
		out = withoutMemory("UserPromptSubmit", err)
	}
	return a.hookAnswer(out)
}

func (c hookStartCmd) Run(a *app) error {
	out, err := a.hooked(c.hookFlags, func(ctx context.Context, in hookInput, s conversation) (hookOutput, error) {
		return c.load(ctx, "SessionStart", in, s, memory.Budget{Tokens: c.Tokens, Recall: -1})
	})
	if err != nil { // a session's start can't be blocked; the first prompt is
		out = withoutMemory("SessionStart", err)
	}
	return a.hookAnswer(out)
}

func (c hookStopCmd) Run(a *app) error {
	out, err := a.hooked(c.hookFlags, func(ctx context.Context, in hookInput, s conversation) (hookOutput, error) {
		if strings.TrimSpace(in.Said) != "" {
			if _, err := s.Append(ctx, tenet.AssistantMessage(in.Said)); err != nil {
				return hookOutput{}, err
			}
		}
		return hookOutput{}, a.due(ctx, s)
	})
	if err != nil { // blocking a stop would make the model go on
		out = hookOutput{SystemMessage: hookFailed(err) + " This turn may not be remembered."}
	}
	return a.hookAnswer(out)
}

func (c hookCompactCmd) Run(a *app) error {
	out, err := a.hooked(c.hookFlags, func(ctx context.Context, in hookInput, s conversation) (hookOutput, error) {
		return hookOutput{}, a.due(ctx, s)
	})
	if err != nil {
		out = hookOutput{SystemMessage: hookFailed(err) + " What was said may not be remembered."}
	}
	return a.hookAnswer(out)
}

// hooked reads the hook's input and opens its conversation, all in the time
// that a user may be kept waiting.
func (a *app) hooked(f hookFlags, do func(context.Context, hookInput, conversation) (hookOutput, error)) (hookOutput, error) {
	ctx, cancel := context.WithTimeout(a.ctx, f.Patience)
	defer cancel()
	a.ctx = ctx
	if err := a.hookKey(); err != nil {
		return hookOutput{}, err
	}
	type result struct {
		out hookOutput
		err error
	}
	done := make(chan result, 1) // reading input and opening a file do not look at the context
	go func() {
		var in hookInput
		data, err := io.ReadAll(io.LimitReader(a.in, maxHookInput+1))
		if err != nil || len(data) > maxHookInput || json.Unmarshal(data, &in) != nil || in.Session == "" {
			done <- result{err: tenet.Errorf(tenet.Invalid, "hook", "standard input is not a hook's JSON with a session_id, or over %d bytes", maxHookInput)}
			return
		}
		s, err := a.openSession(in.Session, nil, writes, false)
		if err != nil {
			done <- result{err: err}
			return
		}
		out, err := do(ctx, in, s)
		done <- result{out, err}
	}()
	select {
	case r := <-done:
		return r.out, r.err
	case <-ctx.Done():
		return hookOutput{}, tenet.Errorf(tenet.Unavailable, "hook", "no answer within %s", f.Patience)
	}
}

// hookKey takes the app's key from where the model is not to look.
func (a *app) hookKey() error {
	key := a.getenv("TENET_HOOK_KEY")
	if name := a.getenv("TENET_HOOK_KEY_FILE"); name != "" {
		info, err := os.Stat(name)
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			return tenet.Errorf(tenet.Denied, "hook", "TENET_HOOK_KEY_FILE may be read by others: its mode must be 0600")
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return tenet.Errorf(tenet.Denied, "hook", "TENET_HOOK_KEY_FILE cannot be read: %s", osReason(err))
		}
		key = strings.TrimSpace(string(data))
	}
	if key != "" {
		a.set.values["api_key"] = key
	}
	return nil
}

// load is the context block as a hook hands it over.
func (f hookFlags) load(ctx context.Context, event string, in hookInput, s conversation, b memory.Budget) (hookOutput, error) {
	w, err := s.Context(ctx, in.Prompt, b)
	if err != nil {
		return hookOutput{}, err
	}
	text := w.System
	if text == "" {
		text = "Tenet knows nothing about this user yet.\n"
	}
	text += "Give Tenet's tools this session: " + printable(in.Session) + "\n"
	if n := utf8.RuneCountInString(text); n > maxHookContext {
		return hookOutput{}, tenet.Errorf(tenet.Invalid, "hook", "the context is %d characters, of which a hook may pass on %d; lower --tokens", n, maxHookContext)
	}
	return hookOutput{Specific: &hookSpecific{event, text}}, nil
}

// due leaves the conversation to a server's worker, which its last message made
// it due for. On a file there is no worker, so it is consolidated here.
func (a *app) due(ctx context.Context, s conversation) error {
	if a.set.values["server"] != "" {
		return nil
	}
	by, err := a.principal(tenet.App)
	if err != nil {
		return err
	}
	m, err := a.engine(writes)
	if err != nil {
		return err
	}
	_, err = m.Consolidate(ctx, by, s.Info().Scope, s.Info().ID)
	return err
}

func hookFailed(err error) string {
	kind := tenet.KindOf(err)
	text := "Tenet: memory is not available (" + kind.String() + ")."
	if te, ok := err.(*tenet.Error); ok && kind != tenet.Internal && te.Reason != "" {
		text = "Tenet: memory is not available: " + te.Reason + "."
	}
	return text
}

// withoutMemory tells both that there is no memory, so that its absence is not
// taken for there being nothing to know.
func withoutMemory(event string, err error) hookOutput {
	return hookOutput{SystemMessage: hookFailed(err), Specific: &hookSpecific{event,
		"The user's memory could not be loaded. You do not know what is known about them, allergies and limits included: say so, and do nothing that depends on it.\n"}}
}

func (a *app) hookAnswer(out hookOutput) error {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return tenet.Errorf(tenet.Unavailable, "hook", "standard output is closed")
	}
	return nil
}

// hookExit keeps an exit code of a hook from meaning more than it says: to
// Claude Code 2 is "block", which is right for a prompt and nothing else.
func hookExit(args []string, code int) int {
	if code == 2 && slices.Contains(args, "hook") && !slices.Contains(args, "user-prompt-submit") {
		return 1
	}
	if code != 0 && slices.Contains(args, "hook") && slices.Contains(args, "user-prompt-submit") {
		return 2
	}
	return code
}
