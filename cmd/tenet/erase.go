package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/roots"
	"github.com/tenet-memory/tenet/store/sqlite"
)

// erasureKey signs receipts. It follows from the master key, which is not in
// the database.
func erasureKey(db database) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(db.Secret("erasure receipts"))
}

// journalOf is where erasures are noted for a restore: beside the file, or
// where the settings say; nil when there is neither.
func journalOf(s settings, path string) memory.Sink {
	if name := journalPath(s, path); name != "" {
		return journalFile(name)
	}
	return nil
}

func journalPath(s settings, path string) string {
	if name := s.values["erasure_log"]; name != "" {
		return name
	}
	if path == "" || path == sqlite.Memory {
		return ""
	}
	return path + ".erasures"
}

type eraseCmd struct {
	What    string `arg:"" enum:"record,message,session,key,origin,subject,tenant" help:"record, message, session, key, origin, subject or tenant."`
	Name    string `arg:"" optional:"" help:"Its id, the key, or the origin; subject and tenant are named by the scope."`
	Why     string `help:"The reason, for the receipt. Not memory text."`
	DryRun  bool   `help:"Count what would go; change nothing."`
	Receipt string `help:"Write the signed receipt to this file." placeholder:"FILE"`
}

func (c eraseCmd) Run(a *app) error {
	of, err := memory.Selected(c.What, c.Name)
	if err != nil {
		return err
	}
	if err := tenet.CheckText("the reason", c.Why); err != nil {
		return err
	}
	var scope tenet.Scope
	if of.Tenant && a.set.subject == nil {
		scope, err = tenet.NewScope(a.set.tenant, tenet.WholeTenant())
	} else {
		scope, err = a.scope()
	}
	if err != nil {
		return err
	}
	by, m, err := a.answering()
	if err != nil {
		return err
	}
	e, err := m.Erase(a.ctx, by, scope, memory.Erasing{Of: of, Why: c.Why, DryRun: c.DryRun})
	if err != nil {
		return err
	}
	if c.Receipt != "" && e.Receipt != nil {
		b, err := json.MarshalIndent(e.Receipt, "", "  ")
		if err == nil {
			err = os.WriteFile(c.Receipt, append(b, '\n'), 0o600)
		}
		if err != nil { // it is gone: the receipt must not be
			a.printf("%s\n", b)
			return tenet.Errorf(tenet.Unavailable, "erase", "it is erased, but the receipt cannot be written: %s", osReason(err))
		}
	}
	return a.print(e, func() {
		verb := "erased"
		if e.DryRun {
			verb = "would erase"
		}
		var rows [][]string
		for _, place := range slices.Sorted(maps.Keys(e.Counts)) {
			rows = append(rows, []string{place, strconv.Itoa(e.Counts[place])})
		}
		a.table("PLACE|ROWS", rows)
		a.printf("%s a %s: %d records", verb, e.What, e.Counts["records"])
		if len(e.Kept) > 0 {
			a.printf("; %d stay, said by others too", len(e.Kept))
		}
		a.printf("\n")
		if e.NotSearched != "" {
			a.printf("not searched: %s\n", e.NotSearched)
		}
		if r := e.Receipt; r != nil {
			a.printf("receipt %s: entry %d of chain %s\n", r.ID, r.Seq, r.Chain)
		}
	})
}

type erasureCmd struct {
	List   erasureListCmd   `cmd:"" help:"Show the tenant's erasures, those that are pending too."`
	Verify erasureVerifyCmd `cmd:"" help:"Look again, in every place, for what a receipt says is gone."`
}

type erasureListCmd struct {
	Limit int `help:"At most this many." default:"50"`
}

func (c erasureListCmd) Run(a *app) error {
	if c.Limit < 1 {
		return tenet.Errorf(tenet.Invalid, "usage", "--limit must be positive")
	}
	o, err := a.reviewAll()
	if err != nil {
		return err
	}
	es, err := o.Erasures(a.ctx, c.Limit)
	if err != nil {
		return err
	}
	return a.print(map[string]any{"erasures": orEmpty(es)}, func() {
		var rows [][]string
		for _, e := range es {
			n := 0
			for _, k := range e.Counts {
				n += k
			}
			rows = append(rows, []string{e.ID, e.What, stamp(e.At), e.State, strconv.Itoa(n), e.Chain, strconv.FormatUint(e.Seq, 10)})
		}
		a.table("ERASURE|WHAT|AT|STATE|ROWS|CHAIN|ENTRY", rows)
	})
}

type erasureVerifyCmd struct {
	Receipt string `arg:"" help:"File with the receipt."`
	Pub     string `name:"pub" help:"Public key that it must be signed with, 64 hexadecimal digits (default: this database's)." placeholder:"HEX"`
}

func (c erasureVerifyCmd) Run(a *app) error {
	text, err := os.ReadFile(c.Receipt)
	if err != nil {
		return tenet.Errorf(tenet.Invalid, "usage", "the receipt cannot be read: %s", osReason(err))
	}
	var r memory.ErasureReceipt
	if tenet.DecodeJSON(text, &r) != nil {
		return tenet.Errorf(tenet.Invalid, "usage", "the file holds no receipt")
	}
	var key ed25519.PublicKey
	if c.Pub != "" {
		if key, err = hex.DecodeString(strings.TrimSpace(c.Pub)); err != nil || len(key) != ed25519.PublicKeySize {
			return tenet.Errorf(tenet.Invalid, "usage", "--pub: want 64 hexadecimal digits")
		}
	}
	whole, err := tenet.NewScope(a.set.tenant, tenet.WholeTenant())
	if err != nil {
		return err
	}
	by, m, err := a.answering()
	if err != nil {
		return err
	}
	check, err := m.VerifyErasure(a.ctx, by, whole, r, key)
	if err != nil {
		return err
	}
	err = a.print(check, func() {
		var rows [][]string
		for _, place := range slices.Sorted(maps.Keys(check.Places)) {
			rows = append(rows, []string{place, strconv.Itoa(check.Places[place])})
		}
		a.table("PLACE|FOUND", rows)
		switch {
		case !check.Signature:
			a.printf("the receipt is not signed with this key, or was altered\n")
		case check.Chain != "":
			a.printf("the chain does not verify: %s\n", check.Chain)
		case check.OK:
			a.printf("nothing of it is left, and the chain verifies\n")
		}
	})
	if err == nil && !check.OK {
		err = tenet.Errorf(tenet.Internal, "verify", "the erasure does not hold")
	}
	return err
}

// journalFile appends lines and waits until they are on disk. What a crash
// left of a last line is cut off first: no commit followed it.
type journalFile string

func (f journalFile) Append(line []byte) error {
	if text, err := os.ReadFile(string(f)); err == nil && len(text) > 0 && text[len(text)-1] != '\n' {
		if err := os.Truncate(string(f), int64(bytes.LastIndexByte(text, '\n')+1)); err != nil {
			return err
		}
	}
	return roots.File(f).Append(line)
}

// reapply carries out what the journal knows and the database does not, before
// anything is served.
func (e *engine) reapply(ctx context.Context, path string) error {
	if path == "" {
		return nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return tenet.Errorf(tenet.Unavailable, "open", "the journal of erasures cannot be read: %s", osReason(err))
	}
	defer f.Close()
	e.reapplied, err = e.Reapply(ctx, f)
	return err
}
