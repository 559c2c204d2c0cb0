package main

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/roots"
)

// How often the server looks at its policy file and takes a root.
const (
	policyEvery = 2 * time.Second
	rootEvery   = 5 * time.Second
)

// watch starts what a server does beside answering: it follows its policy file
// and takes signed roots. The returned function stops both and takes a last root.
func (a *app) watch(mem *memory.Memory, log *slog.Logger) (func(), error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(a.ctx))
	var work sync.WaitGroup
	if a.set.policy != "" {
		if why := a.opened.gate.IsShut(); why != "" {
			log.Error("durable writes are stopped", "reason", why)
		}
		work.Go(func() {
			watchPolicy(ctx, a.set.policy, a.opened.policySum, a.opened.gate, mem, log, policyEvery)
		})
	}
	if path := a.set.values["root_log"]; path != "" {
		w, err := a.rootWriter(path)
		if err != nil {
			cancel()
			return nil, err
		}
		work.Go(func() { takeRoots(ctx, w, log) })
	}
	return func() { cancel(); work.Wait() }, nil
}

func takeRoots(ctx context.Context, w *roots.Writer, log *slog.Logger) {
	tick := time.NewTicker(rootEvery)
	defer tick.Stop()
	for {
		last := false
		select {
		case <-ctx.Done():
			last = true
		case <-tick.C:
		}
		once, cancel := context.WithTimeout(context.WithoutCancel(ctx), rootEvery)
		if _, err := w.Once(once, time.Now()); err != nil {
			log.Warn("no root was taken", "kind", tenet.KindOf(err).String())
		}
		cancel()
		if last {
			return
		}
	}
}

func (a *app) rootWriter(path string) (*roots.Writer, error) {
	if a.opened.governor == nil {
		return nil, tenet.Errorf(tenet.Unavailable, "roots", "this store cannot list its chains")
	}
	keyFile := a.set.values["root_key"]
	if keyFile == "" {
		keyFile = path + ".key"
	}
	key, err := rootKey(keyFile, path+".pub")
	if err != nil {
		return nil, err
	}
	var past io.Reader
	f, err := os.Open(path)
	switch {
	case err == nil:
		defer f.Close()
		past = f
	case !errors.Is(err, fs.ErrNotExist):
		return nil, tenet.Errorf(tenet.Unavailable, "roots", "the log of roots cannot be opened: %s", osReason(err))
	}
	return roots.NewWriter(a.opened.governor, roots.File(path), key, past)
}

// rootKey reads the signing key, or makes it and leaves the public half beside
// the log.
func rootKey(path, pub string) (ed25519.PrivateKey, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		public, key, err := ed25519.GenerateKey(nil)
		if err != nil {
			return nil, tenet.Errorf(tenet.Internal, "roots", "no key can be made")
		}
		if err := os.WriteFile(path, []byte(hex.EncodeToString(key.Seed())+"\n"), 0o600); err != nil {
			return nil, tenet.Errorf(tenet.Unavailable, "roots", "the signing key cannot be written: %s", osReason(err))
		}
		if err := os.WriteFile(pub, []byte(hex.EncodeToString(public)+"\n"), 0o644); err != nil {
			return nil, tenet.Errorf(tenet.Unavailable, "roots", "the public key cannot be written: %s", osReason(err))
		}
		return key, nil
	}
	if err != nil {
		return nil, tenet.Errorf(tenet.Unavailable, "roots", "the signing key cannot be read: %s", osReason(err))
	}
	seed, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, tenet.Errorf(tenet.Invalid, "roots", "the signing key is not 64 hexadecimal digits")
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// roots holds the database's chains against a log of signed roots.
func (c verifyCmd) roots(a *app) error {
	if err := a.local("verify --root"); err != nil {
		return err
	}
	if _, err := a.memory(reads); err != nil {
		return err
	}
	if a.opened.governor == nil {
		return tenet.Errorf(tenet.Unavailable, "verify", "this store cannot list its chains")
	}
	pub := c.RootKey
	if pub == "" {
		pub = c.Root + ".pub"
	}
	text, err := os.ReadFile(pub)
	if err != nil {
		return tenet.Errorf(tenet.Invalid, "verify", "the public key cannot be read: %s", osReason(err))
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != ed25519.PublicKeySize {
		return tenet.Errorf(tenet.Invalid, "verify", "the public key is not 64 hexadecimal digits")
	}
	f, err := os.Open(c.Root)
	if err != nil {
		return tenet.Errorf(tenet.Invalid, "verify", "the log of roots cannot be opened: %s", osReason(err))
	}
	defer f.Close()
	l, err := roots.Read(f, key)
	if err != nil {
		return err
	}
	check, err := l.Against(a.ctx, a.opened.governor, time.Now())
	if err != nil {
		return err
	}
	err = a.print(check, func() {
		for _, bad := range check.Findings {
			a.printf("chain %s: entry %d: %s\n", bad.Chain, bad.Seq, bad.Why)
		}
		a.printf("%d roots over %d chains; the last was taken %s\n", check.Roots, check.Chains, stamp(check.Last))
		a.printf("open window: %d entries, %s\n", check.Entries, check.Open.Round(time.Second))
	})
	if err == nil && len(check.Findings) > 0 {
		err = tenet.Errorf(tenet.Internal, "verify", "%d chains are not where the roots saw them", len(check.Findings))
	}
	return err
}
