package policy

import (
	"regexp"
	"strings"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// shape is a structural sign of control text: a pattern on the detection
// form, tried only where one of its needles stands.
type shape struct {
	code    tenet.Code
	needles []string
	signs   []byte // of each needle, a byte that few texts hold
	re      *regexp.Regexp
	// calls finds what would fetch from elsewhere as soon as it is looked at.
	// A text with tags but none such is a page that somebody pasted.
	calls *regexp.Regexp
}

// shapes are compiled once for each policy.
func shapes() []shape {
	const roles = `(?:system|admin|administrator|developer|dev|root|assistant|operator|moderator|priority|emergency|superuser|instructions?|inst|sys|human|tool_call|function_call|security)`
	mk := func(code tenet.Code, re string, needles ...string) shape {
		sh := shape{code: code, needles: needles, re: regexp.MustCompile(re)}
		for _, n := range needles {
			sh.signs = append(sh.signs, sign(n))
		}
		return sh
	}
	tags := mk(CodeMarkdownImage, `<\s*(?:img|iframe|script|object|embed|svg|link|meta|form)\b`, "<img", "<iframe", "<script", "<object", "<embed", "<svg", "<link", "<meta", "<form", "< ")
	tags.calls = regexp.MustCompile(`!\[|<\s*(?:img|iframe|object|embed|svg|form)\b[^>]{0,400}//`)
	return []shape{
		// Chat templates and role tags.
		mk(CodeRoleTag, `<\|\s*/?[a-z_]{2,24}\s*\|>`, "<|"),
		mk(CodeRoleTag, `\[/?(?:inst|sys)\]|<</?sys>>`, "inst]", "sys]", "sys>"),
		mk(CodeRoleTag, `</?\s*(?:system|assistant|instructions?|prompt|tool_response|function_results|user_query|conversation|memory)(?:\s[^<>]{0,60})?\s*/?>`, "<system", "</system", "<assistant", "</assistant", "<instruction", "</instruction", "<prompt", "</prompt", "<tool_r", "</tool_r", "<function", "<user_query", "</user_query", "</conversation", "</memory", "< system"),
		mk(CodeRoleTag, `[\[{<]{1,3}\s*/?`+roles+`(?:[ _:-][^\]}>\n]{0,60})?\s*[\]}>]{1,3}`, "[system", "[admin", "[dev", "[root", "[prior", "[emerg", "[oper", "[mod", "[inst", "[assis", "[secur", "{system", "{admin", "{dev", "{{ system"),
		mk(CodeRoleTag, `(?:#{2,}|\*{2,}|={3,}|-{3,})\s*(?:new |updated )?`+roles+`\s+(?:override|bypass|message|instructions?|prompt|command|mode|note|directive|access)`, "##", "**", "==", "--"),
		mk(CodeRoleTag, `#{2,}\s*(?:instructions?|system|response|assistant)\s*:`, "##"),
		mk(CodeRoleTag, `(?:^|\n)\s*(?:system|developer|admin|root)\s*:\s*(?:you |your |from now|ignore|always|never|new |override|the following|all )`, "system:", "developer:", "admin:", "root:", "system :"),
		mk(CodeRoleTag, `(?:^|\n|\\n)\s*(?:human|assistant|ai)\s*:\s`, "human:", "assistant:", "\nai:"),
		mk(CodeRoleTag, `<!--[^>]{0,400}\b(?:assistant|agent|ai|system|instruction|remember|ignore|llm|model|bot)\b`, "<!--"),
		// Rendering that fetches or runs.
		mk(CodeMarkdownImage, `!\[[^\]\n]{0,200}\]\s?(?:\(|\[)`, "!["),
		tags,
		mk(CodeLinkSink, `(?:^|\n)\s{0,3}\[[^\]\n]{1,80}\]:\s*\S+`, "]:"),
		mk(CodeLinkSink, `javascript:|data:text/html|vbscript:`, "javascript:", "data:text", "vbscript:"),
		mk(CodeLinkSink, `https?://[^\s"')]{0,200}[?&/][^\s"')]{0,80}(?:\{\{|\{[a-z_]+\}|\$\{|%7b|<[a-z_]+>)`, "://"),
		mk(CodeExfil, `document\.(?:cookie|location)|localstorage\s*[.\[]|encodeuricomponent`, "document.", "localstorage", "encodeuri"),
		mk(CodeExfil, `\b(?:curl|wget)\b[^\n]{0,160}\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b`, "curl", "wget"),
	}
}

// sign is the byte of a needle that tells most: its first that is no letter.
func sign(needle string) byte {
	for i := range len(needle) {
		if c := needle[i]; c < 'a' || c > 'z' {
			return c
		}
	}
	return needle[0]
}

// structural finds the shapes in a detection text.
func (p *Policy) structural(text string, out []effectFinding) []effectFinding {
	if !strings.ContainsAny(text, "<[{#*=:.|") {
		return out
	}
	var has [256]bool
	for i := range len(text) {
		has[text[i]] = true
	}
	for i := range p.shapes {
		sh := &p.shapes[i]
		for k, n := range sh.needles {
			if !has[sh.signs[k]] || !strings.Contains(text, n) {
				continue
			}
			if m := sh.re.FindStringIndex(text); m != nil {
				out = append(out, effectFinding{code: sh.code, effect: gate.E3, start: m[0], end: m[1],
					markup: sh.code == CodeMarkdownImage || sh.code == CodeLinkSink,
					page:   sh.calls != nil && !sh.calls.MatchString(text)})
			}
			break
		}
	}
	return out
}
