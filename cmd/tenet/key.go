package main

import (
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// keyCmd manages API keys: over the file, as its owner, or at a server with an
// admin's key.
type keyCmd struct {
	Create keyCreateCmd `cmd:"" help:"Make a key; its secret is shown once."`
	List   keyListCmd   `cmd:"" help:"List the tenant's keys, without secrets."`
	Rotate keyRotateCmd `cmd:"" help:"Give a key a new secret; the old one stops working."`
	Expire keyExpireCmd `cmd:"" help:"Give a key another end, or none."`
	Revoke keyRevokeCmd `cmd:"" help:"End a key for good."`
}

// keys is the keyring and who asks: whoever holds the file is its admin.
func (a *app) keys() (keyring, tenet.Principal, error) {
	if a.set.values["server"] != "" {
		r, err := a.remote()
		return r, tenet.Principal{}, err
	}
	by, err := tenet.NewPrincipal(tenet.Admin, a.set.tenant, a.set.actor)
	if err != nil {
		return nil, by, err
	}
	k, _, err := a.keyring()
	return k, by, err
}

type keyCreateCmd struct {
	Kind     string        `arg:"" help:"agent, app, user, connector, operator or admin."`
	Name     string        `arg:"" help:"Who holds it; kept as provenance."`
	For      []string      `sep:"none" help:"Only for these: user:ID, project:ID, tenant." placeholder:"SUBJECT"`
	OwnsKeys []string      `name:"owns-key" sep:"none" help:"Fact keys of a connector." placeholder:"KEY"`
	Expires  time.Duration `help:"How long it is good (default until revoked)." placeholder:"DURATION"`
}

func (c keyCreateCmd) Run(a *app) error {
	n := memory.NewKey{Name: c.Name, Owns: c.OwnsKeys, For: c.Expires}
	if err := n.Kind.UnmarshalText([]byte(c.Kind)); err != nil {
		return tenet.Errorf(tenet.Invalid, "usage", "want agent, app, user, connector, operator or admin")
	}
	for _, s := range c.For {
		sub, err := tenet.ParseSubject(s)
		if err != nil {
			return tenet.Errorf(tenet.Invalid, "usage", "--for: want user:ID, project:ID or tenant")
		}
		n.Subjects = append(n.Subjects, sub)
	}
	keys, by, err := a.keys()
	if err != nil {
		return err
	}
	k, secret, err := keys.Create(a.ctx, by, n)
	if err != nil {
		return err
	}
	return a.secret(k, secret)
}

func (a *app) secret(k tenet.Key, secret string) error {
	return a.print(map[string]any{"key": k, "secret": secret}, func() {
		a.printf("%s\n  key %s: %s %s; the secret is not shown again\n", secret, k.ID, k.Kind, printable(k.Name))
	})
}

type keyListCmd struct {
	After string `help:"Keys after this id." placeholder:"ID"`
	Limit int    `help:"At most this many." default:"200"`
}

func (c keyListCmd) Run(a *app) error {
	keys, by, err := a.keys()
	if err != nil {
		return err
	}
	ks, err := keys.List(a.ctx, by, c.After, c.Limit)
	if err != nil {
		return err
	}
	return a.print(map[string]any{"keys": orEmpty(ks)}, func() {
		var rows [][]string
		for _, k := range ks {
			state := "good"
			switch {
			case !k.RevokedAt.IsZero():
				state = "revoked " + stamp(k.RevokedAt)
			case !k.ExpiresAt.IsZero():
				state = "until " + stamp(k.ExpiresAt)
			}
			rows = append(rows, []string{k.ID, k.Kind.String(), k.Name, stamp(k.CreatedAt), state})
		}
		a.table("KEY|KIND|NAME|MADE|STATE", rows)
	})
}

type keyRotateCmd struct {
	ID string `arg:"" help:"The key's id."`
}

func (c keyRotateCmd) Run(a *app) error {
	keys, by, err := a.keys()
	if err != nil {
		return err
	}
	k, secret, err := keys.Rotate(a.ctx, by, c.ID)
	if err != nil {
		return err
	}
	return a.secret(k, secret)
}

type keyExpireCmd struct {
	ID    string        `arg:"" help:"The key's id."`
	In    time.Duration `xor:"when" required:"" help:"How much longer it is good." placeholder:"DURATION"`
	Never bool          `xor:"when" required:"" help:"Good until it is revoked."`
}

func (c keyExpireCmd) Run(a *app) error {
	if !c.Never && c.In <= 0 {
		return tenet.Errorf(tenet.Invalid, "usage", "--in must be positive; tenet key revoke ends a key now")
	}
	keys, by, err := a.keys()
	if err != nil {
		return err
	}
	k, err := keys.Expire(a.ctx, by, c.ID, c.In)
	if err != nil {
		return err
	}
	return a.print(k, func() {
		if k.ExpiresAt.IsZero() {
			a.printf("key %s is good until it is revoked\n", k.ID)
			return
		}
		a.printf("key %s is good until %s\n", k.ID, stamp(k.ExpiresAt))
	})
}

type keyRevokeCmd struct {
	ID string `arg:"" help:"The key's id."`
}

func (c keyRevokeCmd) Run(a *app) error {
	keys, by, err := a.keys()
	if err != nil {
		return err
	}
	k, err := keys.Revoke(a.ctx, by, c.ID)
	if err != nil {
		return err
	}
	return a.print(k, func() { a.printf("revoked %s\n", k.ID) })
}
