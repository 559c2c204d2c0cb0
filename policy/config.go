package policy

// Config is what a tenant can set. The zero Config is the default policy.
type Config struct{}

func (c Config) filled() (Config, error) { return c, nil }
