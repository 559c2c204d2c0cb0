package pack

// Models are the names of what can be packed, the default first.
func Models() []string {
	var out []string
	for _, s := range sources() {
		out = append(out, s.config.Model)
	}
	return out
}

// Artifact is the package that carries a model, as Maven names it.
func Artifact(name string) (string, bool) {
	for _, s := range sources() {
		if s.config.Model == name {
			return s.artifact, true
		}
	}
	return "", false
}

// Prefixes are what a model was trained to see before a question and before a
// passage.
func Prefixes(name string) (query, passage string) {
	for _, s := range sources() {
		if s.config.Model == name {
			return s.config.QueryPrefix, s.config.PassagePrefix
		}
	}
	return "", ""
}
