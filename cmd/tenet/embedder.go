package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/model"
	"github.com/tenet-memory/tenet/model/inproc"
	"github.com/tenet-memory/tenet/model/openai"
)

// packedSuffix marks a packed model in the folder of models.
const packedSuffix = ".tenet"

// defaultModel is the one that make model installs; docs/models.md says why.
const defaultModel = "e5-small-v2"

// modelFolder is where installed models lie, or "" where there is no home.
func modelFolder(set settings, getenv func(string) string) string {
	if dir := set.values["models"]; dir != "" {
		return dir
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".local", "share", "tenet", "models")
	}
	return ""
}

// chosenModel is the installed model that is used: the one that tenet model use
// named, or the default. "" is none.
func chosenModel(dir string) string {
	if dir == "" {
		return ""
	}
	if b, err := os.ReadFile(filepath.Join(dir, "default")); err == nil {
		return strings.TrimSpace(string(b))
	}
	return defaultModel
}

// embedder is what the settings ask for: nil for none. In-process weights are
// read when they are first needed.
func (a *app) embedder() (model.Embedder, error) {
	v := a.set.values
	switch name := v["embedder"]; name {
	case "none":
		return nil, nil
	case "openai":
		return openai.NewEmbedder(a.ctx, openai.EmbedderConfig{
			BaseURL: v["embed_url"], Model: v["embed_model"], Key: v["embed_key"], Dim: a.set.embedDim,
			QueryPrefix: v["embed_query_prefix"], PassagePrefix: v["embed_passage_prefix"],
		})
	default:
		dir := modelFolder(a.set, a.getenv)
		asked := name != "auto"
		if !asked {
			name = chosenModel(dir)
		}
		if name == "" || name == "none" || dir == "" && !asked {
			return nil, nil
		}
		path := filepath.Join(dir, name+packedSuffix)
		if _, err := os.Stat(path); err != nil {
			if asked {
				return nil, tenet.Errorf(tenet.NotFound, "open", "the model %s is not installed: tenet model install %s", name, name)
			}
			a.sayOnce(dir)
			return nil, nil
		}
		return &lazyModel{path: path}, nil
	}
}

// sayOnce tells, once on a machine, that recall goes by words alone.
func (a *app) sayOnce(dir string) {
	told := filepath.Join(dir, "told")
	if _, err := os.Stat(told); err == nil {
		return
	}
	if os.MkdirAll(dir, 0o755) != nil || os.WriteFile(told, nil, 0o644) != nil {
		return
	}
	if !a.json {
		a.note("no embedding model is installed: recall goes by words. tenet model install adds one (this is said once)")
	}
}

// lazyModel reads its weights (27 ms, 40 MB) at the first text: most commands
// have none.
type lazyModel struct {
	path string
	once sync.Once
	m    *inproc.Model
	err  error
}

func (l *lazyModel) open() (*inproc.Model, error) {
	l.once.Do(func() { l.m, l.err = inproc.Open(l.path, inproc.Options{}) })
	return l.m, l.err
}

// Space implements model.Embedder. A model that cannot be opened has the zero
// space, and every Embed its error.
func (l *lazyModel) Space() model.Space {
	m, err := l.open()
	if err != nil {
		return model.Space{}
	}
	return m.Space()
}

// Embed implements model.Embedder.
func (l *lazyModel) Embed(ctx context.Context, use model.Use, texts ...string) ([][]float32, error) {
	m, err := l.open()
	if err != nil {
		return nil, err
	}
	return m.Embed(ctx, use, texts...)
}

// embedWhatIsNew follows a command that wrote: consolidation embeds all that
// waits, others a batch. It is no error of the command when that fails; recall
// goes on by words.
func (a *app) embedWhatIsNew(command string) {
	limit := 1
	switch name, _, _ := strings.Cut(command, " "); name {
	case "consolidate":
		limit = 0
	case "remember", "session":
	default:
		return
	}
	if err := a.place(limit); err != nil && a.ctx.Err() == nil {
		a.note("embedding failed, and will be tried again: " + tenet.KindOf(err).String())
	}
}

// place gives records that have no vector theirs, at most limit batches of
// them; zero: all. What is left waits for tenet consolidate or the server.
func (a *app) place(limit int) error {
	if a.opened == nil {
		return nil
	}
	for n := 0; limit == 0 || n < limit; n++ {
		if placed, err := a.opened.EmbedOnce(a.ctx); err != nil || placed == 0 {
			return err
		}
	}
	return nil
}
