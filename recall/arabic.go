package recall

import (
	"strings"
	"unicode/utf8"
)

// The light stemmer of Larkey and others for Arabic, as search engines use it:
// the article and conjunctions in front, endings of number, gender and
// possession behind. It works by script, since Arabic words stand in texts of
// every language.
var (
	arabicPrefixes = []string{"وال", "بال", "كال", "فال", "ال", "لل", "و"}
	arabicSuffixes = []string{"ها", "ان", "ات", "ون", "ين", "يه", "ه", "ي"}
)

func isArabic(word string) bool {
	r, _ := utf8.DecodeRuneInString(word)
	return r >= 0x0621 && r <= 0x064A
}

// stemArabic takes one prefix and all suffixes that leave a word of two
// letters, three where only "and" is taken.
func stemArabic(word string) string {
	for _, p := range arabicPrefixes {
		rest, ok := strings.CutPrefix(word, p)
		n := utf8.RuneCountInString(rest)
		if ok && (n >= 3 || n == 2 && p != "و") {
			word = rest
			break
		}
	}
	for _, s := range arabicSuffixes {
		if rest, ok := strings.CutSuffix(word, s); ok && utf8.RuneCountInString(rest) >= 2 {
			word = rest
		}
	}
	return word
}
