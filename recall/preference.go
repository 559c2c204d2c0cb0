package recall

// Preferences returns a function that reports whether a text states a
// preference, as the ranking sees it in the given language (see NewTokenizer).
// The function is for one goroutine.
func Preferences(language string) (func(text string) bool, error) {
	tok, err := NewTokenizer(language)
	if err != nil {
		return nil, err
	}
	d := newDictionary(tok)
	return func(text string) bool {
		var c cueReader
		d.add(nil, text, &c)
		return c.preference
	}, nil
}
