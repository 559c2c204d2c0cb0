package tenet_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/httpapi"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/policy"
	"github.com/tenet-memory/tenet/store/sqlite"
)

// The clients' types are those of the API as it is. After a change of the API,
// make generate-clients writes them anew: it runs this test with
// TENET_GENERATE=1.
func TestClientsAreMadeFromThisAPI(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed; make test-integrations needs it, too")
	}
	made := t.TempDir()
	document := filepath.Join(made, "openapi.json")
	if err := os.WriteFile(document, apiDocument(t), 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("TENET_GENERATE") != "" {
		made = "clients"
	}
	if out, err := exec.Command(python, "clients/generate.py", document, "--into", made).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, path := range []string{"python/tenet_memory/types.py", "python/tenet_memory/aio.py", "typescript/src/types.ts"} {
		if readFile(t, filepath.Join(made, path)) != readFile(t, filepath.Join("clients", path)) {
			t.Errorf("clients/%s is not of this API: run make generate-clients", path)
		}
	}
}

// apiDocument is the OpenAPI document, with every optional route.
func apiDocument(t *testing.T) []byte {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	mem, err := memory.Open(t.Context(), memory.Config{Ledger: db, Sessions: db, Gate: gate.New(policy.Default(), policy.Keys())})
	if err != nil {
		t.Fatal(err)
	}
	api, err := httpapi.New(httpapi.Config{
		Memory: mem, Keys: new(memory.Keyring),
		Authenticate: func(context.Context, string) (tenet.Principal, error) { return tenet.Principal{}, nil },
		Reextract: func(context.Context, *memory.Operator, string, time.Time, bool) (memory.Reextraction, error) {
			return memory.Reextraction{}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return api.Document()
}
