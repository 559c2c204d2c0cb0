package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/rawbytes"
	"github.com/knadh/koanf/v2"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/memory"
)

// setting is one thing that can be configured.
type setting struct {
	name, def string
	secret    bool
	meaning   string // for docs/cli.md
}

// keys are what can be configured, in the order in which config check shows
// them: in the file by these names, in the environment as TENET_ and the name
// in capitals, and as flags but for the secrets, which don't belong in a
// process list.
var keys = []setting{
	{"store", "./tenet.db", false, "the database: a path, `sqlite:PATH` or `postgres://...`"},
	{"sessions", "", false, "where sessions are kept: `redis://...`; empty: with the store"},
	{"tenant", "default", false, "the tenant"},
	{"subject", "", false, "whose memory: `user:ID`, `project:ID` or `tenant`; `user` and `project` say the same"},
	{"as", "", false, "who a command acts as: app, agent, user, connector or operator; empty: as each command says"},
	{"actor", "cli", false, "the name of who acts"},
	{"owns", "", false, "the fact keys that a connector owns, separated by commas"},
	{"durable", "on", false, "`off`: sessions only"},
	{"session_ttl", "0s", false, "how long a session's log is kept after its last message; 0: for ever"},
	{"episode_retention", "0s", false, "how long a verbatim turn keeps its text; 0: for ever"},
	{"audit_retention", "0s", false, "how long an audit entry is kept that nothing needs, 720h at least; 0: for ever"},
	{"debounce", "30s", false, "how long after a message its session is consolidated; a server's default is 300ms"},
	{"extractor", "rules", false, "rules, verbatim, anthropic or openai"},
	{"extractor_model", "", false, "the vendor's model"},
	{"extractor_url", "", false, "a server that speaks the vendor's protocol; empty: the vendor's"},
	{"extractor_key", "", true, "the vendor's key"},
	{"extractor_budget", "0", false, "tokens, in and out, that a process may spend; 0: no bound"},
	{"policy", "", false, "a policy file; see `tenet policy check`"},
	{"root_log", "", false, "where the server appends signed audit roots; empty: it takes none"},
	{"root_key", "", false, "the file with the key that signs them; empty: beside `root_log`, with `.key`"},
	{"erasure_log", "", false, "the journal of erasures that a restore reads; empty: a file store's name with `.erasures`"},
	{"lease", "15s", false, "how long a worker may take over one session; short, so that a killed one's is free again soon"},
	{"listen", "127.0.0.1:7766", false, "the address to serve on"},
	{"rate_principal", "0", false, "requests a second of one key at one process; 0: no bound"},
	{"rate_tenant", "0", false, "requests a second of all keys of a tenant at one process; 0: no bound"},
	{"quota_records", "0", false, "records that a tenant may keep; 0: no bound; `100000,acme=500000` makes an exception, and names acme in `/metrics`"},
	{"quota_bytes", "0", false, "bytes of texts that a tenant may keep, history included; `2GiB,acme=0`"},
	{"quota_subjects", "0", false, "subjects of a tenant that may keep records"},
	{"server", "", false, "run commands against a server instead of a file"},
	{"api_key", "", true, "the key for `server`"},
	{"models", "", false, "the folder of installed models; empty: `~/.local/share/tenet/models`"},
	{"embedder", "auto", false, "auto, none, openai or an installed model"},
	{"embed_url", "", false, "a server that speaks the vendor's protocol; empty: the vendor's"},
	{"embed_model", "", false, "the model there"},
	{"embed_key", "", true, "the key there"},
	{"embed_dim", "0", false, "numbers in a vector; 0: the server is asked at the start"},
	{"embed_query_prefix", "", false, "what the model wants before a query"},
	{"embed_passage_prefix", "", false, "what the model wants before a passage"},
	{"oidc_issuer", "", false, "an issuer whose tokens are accepted beside API keys"},
	{"oidc_audience", "", false, "for whom its tokens must be meant"},
	{"oidc_tenant", "", false, "the tenant of all its tokens; empty: the claim `tenet_tenant` says"},
	{"oidc_kind", "", false, "the kind of all its tokens; empty: the claim `tenet_kind` says"},
	{"oidc_client", "", false, "the console's client at the issuer; empty: it takes keys alone"},
	{"oidc_client_secret", "", true, "that client's secret; empty: a public client"},
	{"public_url", "", false, "where browsers reach the server, such as `https://memory.example.com`"},
	{"master_key", "", true, "64 hexadecimal digits that wrap every subject's data key, several during a rotation; empty: the file beside a file store"},
	{"key_service", "", false, "where `master_key` is unwrapped: Vault's transit engine, `https://vault:8200/v1/transit`"},
	{"key_service_key", "", false, "the name of its key; empty: tenet"},
	{"key_service_token", "", true, "what it is asked with"},
	{"fence_secret", "", true, "keys the fence around rendered memory, the same for every process; empty: derived from the master key"},
	{"vault", "", false, "where a sealed database's data keys are, a file or `postgres://` on another server; a new database with one is made sealed"},
}

// settings are the effective configuration, checked.
type settings struct {
	store      dsn
	sessions   dsn // empty: with the ledger
	tenant     string
	subject    *tenet.Subject // nil: none was named
	as         tenet.PrincipalKind
	asGiven    bool // else each command has its default
	actor      string
	owns       []string
	durable    bool
	sessionTTL time.Duration
	retention  time.Duration
	audit      time.Duration
	debounce   time.Duration
	lease      time.Duration
	extractor  string
	embedDim   int
	limits     memory.Limits
	quotas     gate.Quotas
	masterKey  []byte
	wrapped    []string // master keys that the key service has still to unwrap
	fence      []byte
	policy     string
	vault      dsn // empty: what rests is not sealed

	file   string            // the file that was read, or empty
	values map[string]string // as given, for config check
	source map[string]string // default, file, environment or flag
}

// load merges defaults, the file, the environment and the flags, in that
// order, and checks the result. An unknown key is an error that names it.
func load(g globals, getenv func(string) string) (settings, error) {
	s := settings{values: map[string]string{}, source: map[string]string{}}
	k := koanf.New(".")
	for _, key := range keys {
		s.take(k, "default", map[string]string{key.name: key.def})
	}
	file, err := readFile(g, getenv, &s)
	if err != nil {
		return s, err
	}
	for _, layer := range []struct {
		name string
		m    map[string]string
	}{{"file", file}, {"environment", fromEnvironment(getenv)}, {"flag", fromFlags(g)}} {
		if layer.m, err = oneSubject(layer.m, layer.name); err != nil {
			return s, err
		}
		s.take(k, layer.name, layer.m)
	}
	for _, key := range keys {
		s.values[key.name] = k.String(key.name)
	}
	return s, s.check()
}

func (s *settings) take(k *koanf.Koanf, layer string, m map[string]string) {
	flat := make(map[string]any, len(m))
	for name, v := range m {
		flat[name] = v
		s.source[name] = layer
	}
	k.Load(confmap.Provider(flat, ""), nil) // a map cannot fail to load
}

// oneSubject folds user and project into subject: they are three ways to say
// one thing, and a later layer must replace whichever an earlier one used.
func oneSubject(m map[string]string, layer string) (map[string]string, error) {
	n := 0
	for _, kind := range []string{"user", "project"} {
		if id, ok := m[kind]; ok {
			n++
			delete(m, kind)
			if _, both := m["subject"]; both {
				n++
			}
			m["subject"] = kind + ":" + id
		}
	}
	if n > 1 {
		return nil, tenet.Errorf(tenet.Invalid, "config", "%s: give one of user, project and subject", layer)
	}
	return m, nil
}

// maxConfig bounds the configuration file.
const maxConfig = 1 << 20

func readFile(g globals, getenv func(string) string, s *settings) (map[string]string, error) {
	path, must := "tenet.yaml", false
	if p := getenv("TENET_CONFIG"); p != "" {
		path, must = p, true
	}
	if g.ConfigFile != nil {
		path, must = *g.ConfigFile, true
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) && !must {
		return nil, nil
	}
	if err != nil {
		return nil, tenet.Errorf(tenet.Invalid, "config", "the configuration file cannot be opened: %s", osReason(err))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil || len(text) > maxConfig {
		return nil, tenet.Errorf(tenet.Invalid, "config", "the configuration file cannot be read or is over 1 MiB")
	}
	if err := tenet.CheckText("the configuration file", string(text)); err != nil {
		return nil, err
	}
	k := koanf.New(".")
	if err := k.Load(rawbytes.Provider(text), yaml.Parser()); err != nil {
		return nil, tenet.Errorf(tenet.Invalid, "config", "%s: not YAML: %s", path, yamlReason(err))
	}
	s.file = path
	m := map[string]string{}
	for name, v := range k.All() {
		if !known(name) {
			return nil, tenet.Errorf(tenet.Invalid, "config", "%s: unknown key %q", path, name)
		}
		if m[name], err = scalar(v); err != nil {
			return nil, tenet.Errorf(tenet.Invalid, "config", "%s: %s: %v", path, name, err)
		}
	}
	return m, nil
}

// yamlReason keeps the place of a mistake and drops what may quote a secret.
func yamlReason(err error) string {
	line, _, found := strings.Cut(strings.TrimPrefix(err.Error(), "yaml: "), ":")
	if found && strings.HasPrefix(line, "line ") {
		return line
	}
	return "syntax error or a key given twice"
}

func known(name string) bool {
	if name == "user" || name == "project" {
		return true
	}
	for _, k := range keys {
		if k.name == name {
			return true
		}
	}
	return false
}

// scalar takes a value of the file as the text it was written as. A number is
// refused: YAML has already turned 007 into 7, and an id must not change.
func scalar(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case bool:
		if v {
			return "on", nil
		}
		return "off", nil
	case []any:
		var parts []string
		for _, e := range v {
			s, ok := e.(string)
			if !ok {
				return "", errors.New("want a list of texts; quote them")
			}
			parts = append(parts, s)
		}
		return strings.Join(parts, ","), nil
	case nil:
		return "", nil
	}
	return "", errors.New("want a text; quote it")
}

func fromEnvironment(getenv func(string) string) map[string]string {
	m := map[string]string{}
	names := []string{"user", "project"}
	for _, k := range keys {
		names = append(names, k.name)
	}
	for _, name := range names {
		if v := getenv("TENET_" + strings.ToUpper(name)); v != "" {
			m[name] = v
		}
	}
	return m
}

func fromFlags(g globals) map[string]string {
	m := map[string]string{}
	for name, v := range map[string]*string{
		"store": g.Store, "sessions": g.Sessions, "tenant": g.Tenant, "user": g.User, "project": g.Project, "subject": g.Subject, "as": g.As,
		"actor": g.Actor, "owns": g.Owns, "durable": g.Durable, "session_ttl": g.SessionTTL,
		"episode_retention": g.EpisodeRetention, "audit_retention": g.AuditRetention, "policy": g.PolicyFile, "listen": g.Listen, "server": g.Server, "api_key": g.APIKey,
	} {
		if v != nil {
			m[name] = *v
		}
	}
	return m
}

// check turns the texts into values. The error names the key and its source.
func (s *settings) check() error {
	bad := func(name, format string, args ...any) error {
		return tenet.Errorf(tenet.Invalid, "config", "%s (from %s): %s", name, s.source[name], fmt.Sprintf(format, args...))
	}
	v := s.values
	var err error
	s.policy = v["policy"]
	if s.store, err = parseDSN(v["store"]); err != nil {
		return err
	}
	if v["sessions"] != "" {
		if s.sessions, err = parseDSN(v["sessions"]); err != nil || s.sessions.scheme != "redis" {
			return bad("sessions", "want redis:// or rediss://")
		}
	}
	if v["vault"] != "" {
		switch s.vault, err = parseDSN(v["vault"]); {
		case err != nil || s.vault.scheme == "redis":
			return bad("vault", "want a file, or postgres:// on another server than the store's")
		case v["sessions"] != "":
			return bad("vault", "sessions in Redis are not sealed with the ledger: leave sessions out to keep them with it")
		}
	}
	if s.tenant = v["tenant"]; s.tenant != "" {
		_, err = tenet.NewScope(s.tenant, tenet.WholeTenant())
	}
	if s.tenant == "" || err != nil {
		return bad("tenant", "not a usable id")
	}
	if v["subject"] != "" || s.source["subject"] != "default" {
		sub, err := tenet.ParseSubject(v["subject"])
		if err != nil {
			return bad("subject", "want user:ID, project:ID or tenant")
		}
		s.subject = &sub
	}
	if s.asGiven = v["as"] != ""; s.asGiven {
		if s.as.UnmarshalText([]byte(v["as"])) != nil || s.as == tenet.Admin {
			return bad("as", "want app, agent, user, connector or operator")
		}
	}
	if s.actor = v["actor"]; s.actor == "" {
		return bad("actor", "is empty")
	}
	for key := range strings.SplitSeq(v["owns"], ",") {
		if key = strings.TrimSpace(key); key != "" {
			s.owns = append(s.owns, key)
		}
	}
	switch v["durable"] {
	case "on":
		s.durable = true
	case "off":
	default:
		return bad("durable", "want on or off")
	}
	if n, err := strconv.ParseInt(v["extractor_budget"], 10, 64); err != nil || n < 0 {
		return bad("extractor_budget", "want a number of tokens, 0 for no bound")
	}
	switch s.extractor = v["extractor"]; s.extractor {
	case "rules", "verbatim":
	case "anthropic", "openai":
		if _, err := modelExtractor(s.extractor, v); err != nil {
			return bad("extractor", "it needs extractor_key, or extractor_url for a local server, and for openai extractor_model")
		}
	default:
		return bad("extractor", "want rules, verbatim, anthropic or openai")
	}
	for name, d := range map[string]*time.Duration{"session_ttl": &s.sessionTTL, "episode_retention": &s.retention, "audit_retention": &s.audit, "debounce": &s.debounce, "lease": &s.lease} {
		if *d, err = time.ParseDuration(v[name]); err != nil || *d < 0 {
			return bad(name, "want a duration such as 720h")
		}
	}
	if err := memory.CheckAuditRetention(s.audit, s.retention, s.sessionTTL); err != nil {
		return err
	}
	if s.embedDim, err = strconv.Atoi(v["embed_dim"]); err != nil || s.embedDim < 0 {
		return bad("embed_dim", "want a number")
	}
	for name, f := range map[string]*float64{"rate_principal": &s.limits.Principal, "rate_tenant": &s.limits.Tenant} {
		if *f, err = strconv.ParseFloat(v[name], 64); err != nil || !(*f >= 0 && *f <= 1e6) {
			return bad(name, "want requests a second, 0 to 1000000")
		}
	}
	for _, name := range []string{"quota_records", "quota_bytes", "quota_subjects"} {
		if err := s.quota(strings.TrimPrefix(name, "quota_"), v[name]); err != nil {
			return bad(name, "%v", err)
		}
	}
	if strings.ContainsAny(v["embedder"], `/\`) {
		return bad("embedder", "want auto, none, openai or the name of an installed model")
	}
	if s.lease < time.Second {
		return bad("lease", "want at least 1s")
	}
	if v["oidc_issuer"] != "" && v["oidc_audience"] == "" {
		return bad("oidc_audience", "say for whom the issuer's tokens are meant")
	}
	if v["oidc_client"] != "" && (v["oidc_issuer"] == "" || v["public_url"] == "") {
		return bad("oidc_client", "it needs oidc_issuer, and public_url for the way back")
	}
	if u, err := url.Parse(v["public_url"]); v["public_url"] != "" && (err != nil || !origin(u)) {
		return bad("public_url", "want https://, a host and nothing after it; http:// for this machine alone")
	}
	switch {
	case v["key_service"] != "" && v["master_key"] != "":
		if u, err := url.Parse(v["key_service"]); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			return bad("key_service", "want a URL such as https://vault:8200/v1/transit")
		}
		s.wrapped = strings.Split(v["master_key"], ",")
	case v["master_key"] != "":
		for _, one := range strings.Split(v["master_key"], ",") {
			key, err := hex.DecodeString(strings.TrimSpace(one))
			if err != nil || len(key) != 32 {
				return bad("master_key", "want 64 hexadecimal digits, or several keys with commas between them")
			}
			s.masterKey = append(s.masterKey, key...)
		}
	}
	if s.fence = []byte(v["fence_secret"]); len(s.fence) > 0 && len(s.fence) < 16 {
		return bad("fence_secret", "want at least 16 characters")
	}
	return nil
}

// quota reads one limit: a number for every tenant, and after it tenants with one
// of their own. A tenant that has one of its own keeps the others' default.
func (s *settings) quota(limit, v string) error {
	for n, part := range strings.Split(v, ",") {
		tenant, amount, own := strings.Cut(strings.TrimSpace(part), "=")
		if !own {
			amount = tenant
		}
		most, err := size(amount)
		switch {
		case err != nil:
			return err
		case own == (n == 0):
			return errors.New("want a number, then exceptions as tenant=number")
		case !own:
			s.quotas.Default = s.quotas.Default.With(limit, most)
			for t, q := range s.quotas.Of {
				s.quotas.Of[t] = q.With(limit, most)
			}
			continue
		}
		if _, err := tenet.NewScope(tenant, tenet.WholeTenant()); err != nil {
			return errors.New("not a tenant's name")
		}
		q, known := s.quotas.Of[tenant]
		if !known {
			q = s.quotas.Default
		}
		if s.quotas.Of == nil {
			s.quotas.Of = map[string]gate.Quota{}
		}
		s.quotas.Of[tenant] = q.With(limit, most)
	}
	return nil
}

// size is a number, with KiB, MiB or GiB after it or without.
func size(v string) (int64, error) {
	unit := int64(1)
	for n, name := range []string{"KiB", "MiB", "GiB"} {
		if rest, is := strings.CutSuffix(v, name); is {
			v, unit = strings.TrimSpace(rest), 1<<(10*(n+1))
		}
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/2/unit {
		return 0, errors.New("want a number, 0 for no bound, such as 100000 or 2GiB")
	}
	return n * unit, nil
}

// origin reports whether a browser may be sent to a URL with a code: by TLS, or
// not over a network.
func origin(u *url.URL) bool {
	local := u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()
	return u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && local) && u.User == nil && (u.Path == "" || u.Path == "/") && u.RawQuery == "" && u.Fragment == ""
}

// masked is the effective value of a key as it may be shown.
func (s settings) masked(name string) string {
	i := slices.IndexFunc(keys, func(k setting) bool { return k.name == name })
	if keys[i].secret && s.values[name] != "" {
		return "********"
	}
	return withoutPassword(s.values[name])
}

// withoutPassword is a DSN as it may be shown.
func withoutPassword(v string) string {
	u, err := url.Parse(v)
	if err != nil || u.User == nil {
		return v
	}
	return u.Redacted()
}

// osReason is the operating system's word for an error, without the path.
func osReason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return "the operating system refused"
}

// configCmd looks at the configuration.
type configCmd struct {
	Check configCheckCmd `cmd:"" help:"Print the effective configuration, secrets masked, and check it."`
}

type configCheckCmd struct{}

// Run prints what load has checked already.
func (configCheckCmd) Run(a *app) error {
	config, rows := map[string]string{}, [][]string{}
	for _, k := range keys {
		config[k.name] = a.set.masked(k.name)
		rows = append(rows, []string{k.name, dash(config[k.name]), a.set.source[k.name]})
	}
	if a.set.subject != nil {
		if _, err := tenet.NewScope(a.set.tenant, *a.set.subject); err != nil {
			return err
		}
	}
	if _, err := a.principal(tenet.App); err != nil {
		return err
	}
	v := map[string]any{"file": a.set.file, "config": config, "source": a.set.source}
	return a.print(v, func() {
		a.table("KEY|VALUE|FROM", rows)
		a.printf("\nconfiguration file: %s\nok\n", dash(a.set.file))
	})
}
