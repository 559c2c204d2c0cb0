package policy

import (
	"math/big"
	"strings"
)

// numbers finds payment cards and IBANs by their check digits.
func numbers(text string, out []secretSpan) []secretSpan {
	for i := 0; i < len(text); i++ {
		c := text[i]
		edge := i == 0 || !alnum(text[i-1])
		if !edge {
			continue
		}
		if c >= '0' && c <= '9' {
			end, ds := digitRun(text, i)
			if luhn(ds) && (issued(ds) || nearCardWord(text, i, end)) && (end == len(text) || !alnum(text[end])) {
				out = append(out, secretSpan{"PII:card", i, end})
			}
			i = max(i, end-1)
			continue
		}
		if i+15 <= len(text) && letter(c) && letter(text[i+1]) && digit(text[i+2]) && digit(text[i+3]) {
			if end := iban(text, i); end > 0 {
				out = append(out, secretSpan{"PII:iban", i, end})
				i = end - 1
			}
		}
	}
	return out
}

func alnum(c byte) bool  { return letter(c) || digit(c) }
func digit(c byte) bool  { return c >= '0' && c <= '9' }
func letter(c byte) bool { c = lowerByte(c); return c >= 'a' && c <= 'z' }

// digitRun is a run of digits in groups, apart by single blanks or dashes.
func digitRun(s string, i int) (int, string) {
	var b [24]byte
	n, j := 0, i
	for j < len(s) && n < len(b) {
		switch {
		case digit(s[j]):
			b[n] = s[j]
			n++
			j++
		case (s[j] == ' ' || s[j] == '-') && j+1 < len(s) && digit(s[j+1]) && n < 19:
			j++
		default:
			return j, string(b[:n])
		}
	}
	return j, string(b[:n])
}

// issued reports whether digits have the prefix and length of an issuer.
func issued(d string) bool {
	n := len(d)
	two := int(d[0]-'0')*10 + int(d[1]-'0')
	four := two*100 + int(d[2]-'0')*10 + int(d[3]-'0')
	switch {
	case d[0] == '4':
		return n == 13 || n == 16 || n == 19
	case two >= 51 && two <= 55, four >= 2221 && four <= 2720, four == 6011, two == 65, four >= 3528 && four <= 3589:
		return n == 16
	case two == 34 || two == 37:
		return n == 15
	case two == 36 || two == 38 || two == 30:
		return n == 14
	case two == 62, two == 50, two == 56, two == 58, two == 63, two == 67:
		return n >= 13
	}
	return false
}

// nearCardWord reports whether the text around [i, j) speaks of a card, so
// that old and rare issuers count too.
func nearCardWord(s string, i, j int) bool {
	around := strings.ToLower(s[max(0, i-40):i] + " " + s[j:min(len(s), j+40)])
	return contains(around, []string{"card", "karte", "carte", "tarjeta", "cartão", "kart", "visa", "maestro", "jcb", "amex", "diners", "карт", "卡", "カード", "카드"})
}

// luhn checks the check digit of 12 to 19 digits that are not all the same.
func luhn(d string) bool {
	n := len(d)
	if n < 12 || n > 19 || strings.Trim(d, d[:1]) == "" {
		return false
	}
	sum := 0
	for i := 0; i < n; i++ {
		v := int(d[n-1-i] - '0')
		if i%2 == 1 {
			if v *= 2; v > 9 {
				v -= 9
			}
		}
		sum += v
	}
	return sum%10 == 0
}

// ibanLength is the length of an IBAN by country.
var ibanLength = func() map[string]int {
	m := map[string]int{}
	for _, f := range strings.Fields(`AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 FO18 FR27
		GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LI21 LT20 LU20 LV21 MC27 MD24 ME22 MK19 MR27 MT31
		MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SE24 SI19 SK24 SM27 TN24 TR26 UA29 VA22 VG24 XK20`) {
		m[f[:2]] = int(f[2]-'0')*10 + int(f[3]-'0')
	}
	return m
}()

// iban returns where an IBAN that starts at i ends, or 0.
func iban(s string, i int) int {
	want := ibanLength[strings.ToUpper(s[i:i+2])]
	if want == 0 {
		return 0
	}
	var b strings.Builder
	j := i
	for j < len(s) && b.Len() < want {
		switch {
		case alnum(s[j]):
			b.WriteByte(s[j])
			j++
		case (s[j] == ' ' || s[j] == '-') && j+1 < len(s) && alnum(s[j+1]):
			j++
		default:
			return 0
		}
	}
	if b.Len() != want || j < len(s) && alnum(s[j]) {
		return 0
	}
	v := strings.ToUpper(b.String())
	var num strings.Builder
	for _, c := range v[4:] + v[:4] {
		if c >= 'A' {
			n := int(c-'A') + 10
			num.WriteByte(byte('0' + n/10))
			num.WriteByte(byte('0' + n%10))
		} else {
			num.WriteRune(c)
		}
	}
	n, ok := new(big.Int).SetString(num.String(), 10)
	if !ok || new(big.Int).Mod(n, big.NewInt(97)).Int64() != 1 {
		return 0
	}
	return j
}

// phrases finds seed phrases: a run of exactly 12, 15, 18, 21 or 24 short
// plain words in which no ordinary sentence could be hidden, beside a word
// that names such phrases or as the whole text.
func phrases(text string, out []secretSpan) []secretSpan {
	if len(text) < 45 || strings.Count(text, " ") < 11 {
		return out
	}
	for i := 0; i < len(text); {
		start, end, n := seedRun(text, i)
		if n == 0 {
			return out
		}
		i = end + 1
		if n != 12 && n != 15 && n != 18 && n != 21 && n != 24 {
			continue
		}
		around := strings.ToLower(text[max(0, start-80):start] + text[end:min(len(text), end+80)])
		named := false
		for _, w := range []string{"seed", "recovery", "mnemonic", "wallet", "bip39", "bip-39", "backup phrase", "secret phrase", "passphrase", "metamask", "ledger", "助记词", "semilla", "wiederherstellung", "récupération", "сид"} {
			named = named || strings.Contains(around, w)
		}
		if named || plurals(text[start:end]) <= 1 && start == 0 && len(strings.TrimRight(text[end:], " .\n")) == 0 {
			out = append(out, secretSpan{"SECRET:seed-phrase", start, end})
		}
	}
	return out
}

// plurals counts words in -s: seed lists hardly have any, shopping lists do.
func plurals(s string) int {
	n := 0
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return r < 'a' || r > 'z' }) {
		if strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") {
			n++
		}
	}
	return n
}

// notSeed are the commonest words that no seed list holds.
var notSeed = wordSet(`the and are was were for with from his her hers him our ours has had not but its she who why how been being their them these those
	would could should into than because while where which very just only also please going doing want wants likes like'd really my`)

// seedRun is the next run of words of 3 to 8 small letters apart by single
// blanks, optionally numbered or with commas.
func seedRun(s string, i int) (start, end, n int) {
	for i < len(s) {
		start, end, n = -1, i, 0
		for i < len(s) {
			j := i
			for j < len(s) && (digit(s[j]) || s[j] == '.' && j > i || s[j] == ')' && j > i) {
				j++
			}
			if j > i && j < len(s) && s[j] == ' ' {
				j++
			}
			k := j
			for k < len(s) && s[k] >= 'a' && s[k] <= 'z' {
				k++
			}
			if k-j < 3 || k-j > 8 || notSeed[s[j:k]] || k < len(s) && !strings.ContainsRune(" ,\n.\"'", rune(s[k])) {
				break
			}
			if start < 0 {
				start = j
			}
			n++
			end = k
			i = k
			for i < len(s) && strings.IndexByte(" ,\n", s[i]) >= 0 && i-k < 3 {
				i++
			}
			if i == k {
				break
			}
		}
		if n >= 12 {
			return start, end, n
		}
		// Skip the word that ended the run.
		for i < len(s) && s[i] != ' ' && s[i] != '\n' {
			i++
		}
		i++
	}
	return 0, len(s), 0
}
