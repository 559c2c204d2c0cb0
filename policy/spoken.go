package policy

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tenet-memory/tenet"
)

// spokenRule finds a secret as people say it: one of its words, then the
// value. The expression is anchored at the end of the word and looks at the
// next few dozen characters only.
type spokenRule struct {
	words []string
	code  tenet.Code
	// re wants a sign between word and value ("is", ":"), alt takes the value
	// that follows directly.
	re, alt *regexp.Regexp
	// bare demands that the word stands alone, not as the end of another.
	bare bool
	// before finds the value in front of the word, where that is its place.
	before *regexp.Regexp
	toEnd  bool // the value goes on to the end of the text: a key in many lines
	// ok judges the value; sep is what stood between word and value.
	ok func(value, sep string) bool
}

const (
	spokenReach   = 160
	spokenLongest = 8 << 10
)

// find looks for the value after the word that ends at end, and says how far
// beyond its reach it had to look.
func (r *spokenRule) find(text string, end int, out []secretSpan) (_ []secretSpan, long int) {
	if r.bare && !startsWord(text, end, r.words) {
		return out, 0
	}
	stop := min(len(text), end+spokenReach)
	for stop < len(text) && stop < end+spokenLongest && (text[stop] > ' ' || r.toEnd) {
		stop++ // a value is taken whole
	}
	window := text[end:stop]
	long = max(0, len(window)-spokenReach)
	if r.before != nil {
		if !r.re.MatchString(window) {
			return out, long
		}
		from := max(0, end-32)
		for from < end && !utf8.RuneStart(text[from]) {
			from++
		}
		head := text[from:end]
		for _, w := range r.words {
			if t, ok := strings.CutSuffix(head, w); ok {
				head = t
				break
			}
		}
		if v := r.before.FindStringSubmatchIndex(head); v != nil {
			out = append(out, secretSpan{r.code, from + v[2], from + v[3]})
		}
		return out, long
	}
	for _, re := range []*regexp.Regexp{r.re, r.alt} {
		if re == nil {
			continue
		}
		if a, b, ok := r.value(re, window); ok {
			return append(out, secretSpan{r.code, end + a, end + b}), long
		}
	}
	return out, long
}

// value is where the secret stands in the window.
func (r *spokenRule) value(re *regexp.Regexp, window string) (int, int, bool) {
	m := re.FindStringSubmatchIndex(window)
	if m == nil {
		return 0, 0, false
	}
	g := 2 // the separator is the first group, the value the last that matched
	sep := ""
	if m[2] >= 0 {
		sep = strings.TrimSpace(window[m[2]:m[3]])
	}
	for k := 4; k+1 < len(m); k += 2 {
		if m[k] >= 0 {
			g = k
		}
	}
	if g == 2 {
		return 0, 0, false
	}
	a, b := m[g], m[g+1]
	value := strings.TrimRight(window[a:b], `.,;)]}"'”’」»>`)
	return a, a + len(value), value != "" && r.ok(value, sep)
}

// startsWord reports whether the word that ends at end begins a word.
func startsWord(text string, end int, words []string) bool {
	for _, w := range words {
		at := end - len(w)
		if at < 0 || !strings.EqualFold(text[at:end], w) {
			continue
		}
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		return at == 0 || !unicode.IsLetter(before) && !unicode.IsDigit(before)
	}
	return false
}

// What may stand between a secret word and its value, in the common
// languages: for the wifi, is, :, =.
const (
	forWhat = `(?:\s+(?:for|of|to|on|at|in|pour|de|du|del|de la|della|per|für|fuer|zum|von|para|do|da|от|для|için|voor)\s+[^\n.;:=!?]{1,40}?)?(?:\s+(?:saya|anda|mia|mio|mío))?`
	says    = `\s*(?:number|code|no\.?)?\s*(=>|->|:=|=|:|：|is now|is set to|was changed to|is|are|was|ist|lautet|est|es|è|é|это|—|–|-|は|が|是|为|為|:は|는|은|adalah|şu|هي|هو|है)\s*`
)

// spokenRules are made once for each policy.
func spokenRules() []*spokenRule {
	value := `["'“”‘’` + "`" + `«「『]?(\S{4,80})`
	quoted := `["“'‘«「]([^"”'’»」\n]{6,80})["”'’»」]`
	digit := `(?:zero|oh|one|two|three|four|five|six|seven|eight|nine)`
	code := `["'“]?(` + digit + `(?:[ ,-]{1,2}` + digit + `){3,7}|[0-9]{1,2}(?:[ -][0-9]{1,2}){2,3}\b|[0-9]{3,4}[ -][0-9]{3,4}(?:[ -][0-9]{2,4})?|[0-9]{4,10}|[A-Z0-9]{4,10}|[A-Z]-?[0-9]{6})#?(?:\b|$)`
	return []*spokenRule{
		{
			words: []string{"password", "passwd", "passphrase", "passcode", "pwd", "kennwort", "passwort", "contraseña", "contrasena", "mot de passe", "parola", "şifre", "sifre", "parol",
				"пароль", "пароля", "密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호", "암호", "wachtwoord", "hasło", "lösenord", "senha", "كلمة المرور", "كلمة السر", "पासवर्ड", "kata sandi", "mật khẩu", "κωδικός", "סיסמה", "heslo"},
			code: "SECRET:spoken-password",
			re:   regexp.MustCompile(`^(?:[a-zçğıöşü]{0,4})?["'”’]?` + forWhat + says + `(?:` + quoted + `|` + value + `)`),
			alt:  regexp.MustCompile(`^(?:[a-zçğıöşü]{0,4})?()\s+` + value),
			ok:   password,
		},
		{
			words: []string{"pass", "pw", "mdp", "pswd", "psw", "pass word"},
			code:  "SECRET:spoken-password", bare: true,
			re: regexp.MustCompile(`^` + forWhat + says + value),
			ok: func(v, sep string) bool {
				return password(v, sep) && (strongest(v) || sep != "is" || len(v) >= 8 && digits(v) >= 2 && !strings.Contains(v, "-"))
			},
		},
		{
			words: []string{"admin", "root", "username", "user name", "login", "benutzer", "credentials"},
			code:  "SECRET:spoken-login", bare: true,
			re: regexp.MustCompile(`^(?:\s*(?:is|=|:)\s*\S{2,40})?\s*(/|:|,|with|and)\s*(?:pass(?:word)?\s+)?(\S{6,64})`),
			ok: func(v, sep string) bool { return strongest(v) && !strings.Contains(v, "/") },
		},
		{
			words: []string{"otp", "one-time code", "one time code", "one-time password", "one time password", "verification code", "security code", "confirmation code", "login code", "sign-in code", "auth code",
				"authentication code", "authenticator code", "sms code", "2fa code", "mfa code", "bestätigungscode", "sicherheitscode", "einmalcode", "código de verificación", "código de seguridad", "codigo de verificacion",
				"código de confirmación", "code de vérification", "code de confirmation", "code de sécurité", "código de verificação", "codice di verifica", "код подтверждения", "код из смс", "одноразовый код",
				"doğrulama kodu", "onay kodu", "验证码", "驗證碼", "校验码", "認証コード", "確認コード", "ワンタイムパスワード", "인증번호", "인증 코드", "رمز التحقق", "رمز التأكيد", "सत्यापन कोड", "ओटीपी", "verificatiecode", "kod weryfikacyjny", "kode otp", "kode verifikasi"},
			code: CodeOneTimeCode, bare: true,
			re:  regexp.MustCompile(`^[a-zçğıöşü]{0,3}` + forWhat + says + code),
			alt: regexp.MustCompile(`^([^\n.!?0-9A-Za-z]{0,4})` + code),
			ok:  shortCode,
		},
		{
			words: []string{"pin", "pin-code", "puk", "card code", "alarm code", "door code", "gate code", "entry code", "access code", "safe code", "safe combination", "lock code", "vault code",
				"garage code", "lockbox code", "keypad code", "unlock code", "geheimzahl", "türcode", "code pin", "код домофона", "пин-код", "пин", "pin kodu", "código pin", "código de acceso", "code d'accès", "digicode", "暗证号", "ピン"},
			code: "SECRET:pin", bare: true,
			re:  regexp.MustCompile(`^` + forWhat + says + code),
			alt: regexp.MustCompile(`^()\s+` + code),
			ok:  func(v, sep string) bool { return digits(v) == 0 || shortCode(v, sep) && digits(v) >= 3 },
		},
		{
			words: []string{"cvv", "cvc", "cvv2", "cvc2", "pin code", "pincode"},
			code:  "SECRET:pin", bare: true,
			re:  regexp.MustCompile(`^` + forWhat + says + `([0-9]{3,4})\b`),
			alt: regexp.MustCompile(`^()\s+([0-9]{3,4})\b`),
			ok:  func(string, string) bool { return true },
		},
		{
			words: []string{" is your", " as your", " ist dein", " ist ihr", " es tu código", " est votre code", "是您的验证码"},
			code:  CodeOneTimeCode, before: regexp.MustCompile(`(?:^|[^0-9A-Za-z-])([0-9]{3}[ -][0-9]{3}|[0-9]{4,8}|[A-Z]-[0-9]{6})$`),
			re: regexp.MustCompile(`^(.{0,24}?)\b((?:verification|security|login|one-time|confirmation|authentication|authenticator|access|sign-in|code|otp|pin|passcode)\b)`),
			ok: func(string, string) bool { return true },
		},
		{
			words: []string{"backup codes", "recovery codes", "backup code", "recovery code", "recovery key", "wiederherstellungscode", "codes de secours", "códigos de respaldo", "резервные коды", "备用代码", "バックアップコード"},
			code:  "SECRET:backup-code", bare: true,
			re: regexp.MustCompile(`^[a-z]{0,2}` + forWhat + `(?:` + says + `|\s+)((?:[A-Za-z0-9]{4,8}(?:-[A-Za-z0-9]{4,8}){0,7}[\s,;]*){1,16})`),
			ok: func(v, sep string) bool { return digits(v) >= 3 },
		},
		{
			words: []string{"secret", "token", "api key", "api-key", "apikey", "api_key", "access key", "bearer", "credential", "client secret", "license key", "licence key", "clé api", "clave api", "schlüssel", "ключ", "密钥", "令牌", "トークン", "토큰"},
			code:  "SECRET:high-entropy",
			re:    regexp.MustCompile(`^[a-z]{0,2}["']?` + forWhat + `(?:` + says + `|\s+)["'` + "`" + `]?([A-Za-z0-9+/_.~-]{20,256}={0,2})`),
			ok: func(v, sep string) bool {
				return len(v) >= 20 && entropy(v) >= 3.3 && digits(v) >= 2 && hasLetter(v) && !placeholder(v) && !strings.Contains(v, "://") && !uuidShape(v)
			},
		},
		{
			words: []string{"://"},
			code:  "SECRET:uri-userinfo",
			re:    regexp.MustCompile(`^([^\s/:@"'<>]{0,64}):([^\s"'<>]{3,128})@[A-Za-z0-9\[]`),
			ok: func(v, sep string) bool {
				return !placeholder(v) && !strings.EqualFold(v, "password") && !strings.EqualFold(v, "pass")
			},
		},
		{
			words: []string{"://", "www."},
			code:  "SECRET:link-token",
			re:    regexp.MustCompile(`^(\S*?/(?:[a-z_-]*(?:reset|magic|invite|verify|verification|confirm|activate|login|signin|unsubscribe|token|auth)[a-z_-]*)(?:/|\?[a-z_]+=))([A-Za-z0-9_.~-]{16,})`),
			ok:    func(v, sep string) bool { return digits(v) >= 2 && entropy(v) >= 2.8 },
		},
		{
			words: []string{"?token=", "&token=", "access_token=", "?key=", "&key=", "apikey=", "api_key=", "?sig=", "&sig=", "signature=", "?code=", "&code=", "?auth=", "&auth=", "?secret=", "&secret=", "password=", "session=", "sessionid="},
			code:  "SECRET:link-token",
			re:    regexp.MustCompile(`^()([^\s&#"'<>]{12,})`),
			ok: func(v, sep string) bool {
				return digits(v) >= 2 && hasLetter(v) && !placeholder(v) && entropy(v) >= 2.8
			},
		},
		{
			words: []string{"telegram", "bot token", "botfather"},
			code:  "SECRET:telegram-bot-token",
			re:    regexp.MustCompile(`^([^\n]{0,40}?)\b([0-9]{8,10}:[A-Za-z0-9_-]{34,36})`),
			ok:    func(string, string) bool { return true },
		},
		{
			words: []string{"-----begin "},
			code:  "SECRET:private-key", toEnd: true,
			re: regexp.MustCompile(`(?s)^([A-Z0-9 ]{0,24})(PRIVATE KEY(?: BLOCK)?-----.*)`),
			ok: func(string, string) bool { return true },
		},
	}
}

// password judges what follows a password word. After a clear sign (":", "=")
// a plain word counts; in prose only what no sentence would hold.
func password(v, sep string) bool {
	n := utf8.RuneCountInString(v)
	switch {
	case placeholder(v), n < 4, strings.Contains(v, "://"):
		return false
	case strings.Contains(v, " "): // quoted
		return n >= 6
	case strongest(v):
		return true
	}
	d := digits(v)
	switch sep {
	case "":
		return n >= 6 && d > 0 && hasLetter(v) && hasSign(v)
	case "=", ":", "：", "=>", ":=":
		return n >= 6 && (d > 0 || hasSign(v) || n >= 8 && !talk[strings.ToLower(v)] && asciiLetters(v)) || d == n && n >= 4
	}
	return n >= 6 && (d > 0 && (hasLetter(v) || d == n) || hasSign(v) && hasLetter(v) && !strings.ContainsAny(v, "-/'’,.…") || innerUpper(v)) || d == n && n >= 4
}

// talk are words that follow "password:" in forms and rules.
var talk = wordSet(`required optional incorrect invalid forgotten forgot expired changed protected reset unknown disabled enabled
	confirmation requirements manager managers policy strength length minimum characters something anything nothing everything undefined`)

func wordSet(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}

// strongest reports whether a value is of the kind that only a secret has:
// letters, digits and signs together.
func strongest(v string) bool {
	return utf8.RuneCountInString(v) >= 6 && digits(v) > 0 && hasLetter(v) && strings.ContainsAny(v, "!@#$%^&*?_+~") && !placeholder(v) && !strings.Contains(v, "://") && !mailShape(v)
}

func mailShape(v string) bool {
	at := strings.IndexByte(v, '@')
	return at > 0 && strings.IndexByte(v[at:], '.') > 0
}

// placeholder reports whether a value stands for a secret without being one.
func placeholder(v string) bool {
	t := strings.Trim(v, `"'.,;`)
	if t == "" {
		return true
	}
	if strings.HasPrefix(t, "$") && !strings.ContainsAny(t, "!@#%^&*") || strings.HasPrefix(t, "<") || strings.HasPrefix(t, "{") || strings.HasPrefix(t, "%") && strings.HasSuffix(t, "%") || strings.HasPrefix(t, "[") || strings.Contains(t, "...") {
		return true
	}
	low := strings.ToLower(t)
	for _, w := range []string{"xxxx", "your_", "your-", "yourpass", "example", "redacted", "placeholder", "changeme", "secret:", "process.env", "os.environ", "getenv"} {
		if strings.Contains(low, w) {
			return true
		}
	}
	first, _ := utf8.DecodeRuneInString(t)
	return strings.Trim(t, string(first)) == "" // ******, ------, 000000
}

// shortCode judges a one-time code: 4 to 8 characters with a digit, and not a
// number that is a year or an amount.
func shortCode(v, sep string) bool {
	d := digits(v)
	if d < 3 {
		return d >= 1 && len(v) >= 6 && !hasLower(v) && sep != ""
	}
	return d <= 10
}

func digits(s string) int {
	n := 0
	for i := 0; i < len(s); i++ {
		if s[i] >= '0' && s[i] <= '9' {
			n++
		}
	}
	return n
}

func hasLetter(s string) bool { return strings.IndexFunc(s, unicode.IsLetter) >= 0 }
func hasLower(s string) bool  { return strings.IndexFunc(s, unicode.IsLower) >= 0 }

func hasSign(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return r < utf8.RuneSelf && !unicode.IsLetter(r) && !unicode.IsDigit(r) && r > ' '
	}) >= 0
}

// innerUpper reports a capital after a small letter: TulipField.
func innerUpper(s string) bool {
	for i := 1; i < len(s); i++ {
		if s[i] >= 'A' && s[i] <= 'Z' && s[i-1] >= 'a' && s[i-1] <= 'z' {
			return len(s) >= 8
		}
	}
	return false
}

func asciiLetters(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := lowerByte(s[i]); c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}

func uuidShape(s string) bool {
	return len(s) == 36 && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-'
}
