package main

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMakeRunServes: the first command of the README tells its story and then
// serves the same memory, until it is interrupted.
func TestMakeRunServes(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs(repository)
	must(t, err)
	self, err := os.Executable()
	must(t, err)
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "bin"), 0o755))
	must(t, os.Symlink(filepath.Join(root, "examples"), filepath.Join(dir, "examples")))
	must(t, os.WriteFile(filepath.Join(dir, "bin", "tenet"), []byte("#!/bin/sh\nTENET_TEST_MAIN=run exec "+self+" \"$@\"\n"), 0o755))
	at := "127.0.0.1:" + freePort(t)
	cmd := exec.Command("make", "-s", "-f", filepath.Join(root, "Makefile"), "-o", "build", "run", "STORE=data/run.db")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TENET_LISTEN="+at, "HOME="+dir)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as a terminal has it: Ctrl-C reaches all of them
	must(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	up := false
	for end := time.Now().Add(2 * time.Minute); !up && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if res, err := http.Get("http://" + at + "/readyz"); err == nil {
			res.Body.Close()
			up = res.StatusCode == http.StatusOK
		}
	}
	must(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGINT))
	<-ended
	if printed := out.String(); !up || !strings.Contains(printed, "allergy: Severe shellfish allergy.") || !strings.Contains(printed, at) {
		t.Errorf("up %v, after\n%s", up, printed)
	}
}
