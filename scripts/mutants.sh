#!/bin/sh
# Takes out one check of the write boundary at a time and runs the tests of its
# package: each must fail. What survives is printed, and the exit code is 1.
#   scripts/mutants.sh [PATTERN]   only the mutants whose name matches
# Nothing of the tree is changed: the compiler is handed the altered file.
set -u
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
survived=0 killed=0

# mutant NAME FILE TESTS SED [PACKAGE]: the change must change something.
mutant() {
	pkg=${5:-$(dirname "$2")}
	case $1 in *${only:-}*) ;; *) return ;; esac
	sed "$4" "$2" >"$work/mutant.go"
	if cmp -s "$2" "$work/mutant.go"; then
		echo "STALE     $1: nothing in $2 matches"
		survived=$((survived + 1))
		return
	fi
	printf '{"Replace":{"%s":"%s"}}' "$PWD/$2" "$work/mutant.go" >"$work/overlay.json"
	if go test -short -vet=off -failfast -overlay "$work/overlay.json" -run "$3" "./$pkg" $([ "$pkg" = gate ] && echo -rapid.nofailfile) ${ARGS:-} >"$work/out" 2>&1; then
		echo "SURVIVED  $1"
		survived=$((survived + 1))
	elif grep -q 'build failed' "$work/out"; then
		echo "BROKEN    $1"
		cat "$work/out"
		survived=$((survived + 1))
	else
		echo "killed    $1: $(grep -m1 -e '--- FAIL: ' -e '^panic: ' "$work/out")"
		killed=$((killed + 1))
	fi
}
only=${1:-}

g=gate/gate.go f=gate/floor.go
mutant "1 scope of the principal" $g . 's/^\tif !c.By.MayReach(c.Candidate.Scope) {/\tif false {/'
mutant "2 pace" $g . 's/^\tw.add(paced(over, label)...)$/\t_ = paced/'
mutant "2 pace: rate" gate/pace.go . 's/^\tif o.Actor {/\tif false {/'
mutant "2 pace: churn" gate/pace.go . 's/^\tif o.Key \&\& .*{/\tif false {/'
mutant "2 pace: self" gate/pace.go . 's/^\tif o.Self \&\& .*{/\tif false {/'
mutant "3 tier missing" $f . 's/^\t\tadd("tier", tenet.CodeTierMissing, "")/\t\t_ = add/'
mutant "3 unrouted" $f . 's/^\t\tfs = append(fs, refusal("tier", tenet.CodeUnrouted, hold))/\t\t_ = add/'
mutant "3 empty" $f . 's/^\t\tadd("envelope", tenet.CodeEmpty, "")/\t\t_ = add/'
mutant "3 key missing" $f . 's/^\t\tadd("envelope", tenet.CodeKeyMissing, "")/\t\t_ = add/'
mutant "3 key form" $f . 's/^\t\tadd("envelope", tenet.CodeKeyForm, .*/\t\t_ = add/'
mutant "3 key size" $f . 's/^\t\tadd("envelope", tenet.CodeSize, fmt.Sprintf("key .*/\t\t_ = add/'
mutant "3 size" $f . 's/^\t\tadd("envelope", tenet.CodeSize, fmt.Sprintf("%d bytes.*/\t\t_ = add/'
mutant "3 clock" $f . 's/^\t\tadd("envelope", tenet.CodeClock, .*/\t\t_ = add/'
mutant "3 retain none" $f . 's/^\t\t\tfs = append(fs, f)$/\t\t\t_ = f/'
mutant "8 unknown message" $f . 's/^\t\t\tadd("provenance", tenet.CodeUnknownMessage, "")/\t\t\t_ = add/'
mutant "8 provenance" gate/label.go . 's/^\tif len(origins) == 0 {/\tif false {/'
mutant "8 span proof" gate/label.go . 's/^\tif label >= tenet.LabelAttestedTool \&\& .*unproven {/\tif unproven \&\& false {/'
mutant "8 recalled parents" gate/label.go . 's/^\t\t\tlabel = min(label, p)$/\t\t\t_ = p/'
mutant "8 channel" gate/label.go . 's/^\tif channel != tenet.ChannelTyped {/\tif false {/'
mutant "10 persistence rejects" gate/matrix.go . 's/^\tcase effect == E2 \&\& persists \&\& !negated:/\tcase false:/'
mutant "12 matrix" $g . 's/^\tw.base(label, base)$/\t_ = base/'
mutant "12 a connector owns its keys" $g . 's/^\t\tbase = max(base, hold)$/\t\tbase = max(base, allow)/'
mutant "12 rules" $g . 's/^\tw.ask(g.rules, Proposal.*$/\t_ = offered/'
mutant "13 version" gate/place.go . 's/^\tif have != want {/\tif have == "?" {/'
mutant "13 lower integrity" gate/place.go . 's/^\t\tcase r.Label > rec.Label:/\t\tcase false:/'
mutant "13 lower integrity, ends" gate/ends.go . 's/^\t\tif r.Label > label {/\t\tif false {/'
mutant "13 duplicate" gate/place.go . 's/^\t\tcase same \&\& r.Label > rec.Label \&\& covers(r.Valid, rec.Valid):/\t\tcase false:/'
mutant "13 backdated" gate/place.go . 's/^\tif len(pieces) > 1 || pieces\[0\] != claimed {/\tif false {/'
mutant "13 full" gate/place.go . 's/^\t\tif !g.limits.Fits(c.State.Usage, p.Needs.Grows) {/\t\tif false {/'
mutant "13 nothing to end" gate/ends.go . 's/^\tif !free {/\tif false {/'
mutant "13 ambiguous end" gate/ends.go . 's/^\tif !named \&\& len(targets) > 1 .*{/\tif false {/'
mutant "13 tombstones" $g . 's/^\tw.add(buried(c, label)...)$/\t_ = buried/'
mutant "14 classifier" $g . 's/^\t\tw.add(refusal("classifier", code, hold))/\t\t_ = code/'
mutant "masked in the log" gate/weighing.go . 's/^\tmask(p, w.findings)$//'
mutant "redacted" $g PII 's/^\tif w.worst == allow \&\& redact(.*{/\tif false {/' policy

p=policy/policy.go quick='EachRule|EachCheck|PII|Secret|Hidden|Markup|Masked|Tier|Standing'
mutant "4 hidden text" $p "$quick" 's/^\tfs = p.checkHidden(pr, f, fs)$//'
mutant "4 decoded payload" policy/check.go "$quick" 's/^\t\tfs = p.checkDecoded(d, spans, fs)$/\t\t_ = d/'
mutant "5 secrets" $p "$quick" 's/^\tfs = p.checkSecrets(f, true, fs)$//'
mutant "5 secrets, decoded" policy/check.go "$quick" 's/^\t\tif d.whole \&\& len(fs) > 0 {/\t\tif true {/'
mutant "5 secrets in the quote" $p "$quick" 's/^\tif c.Quote != "" \&\& .*{/\tif false {/'
mutant "5 secrets in the value" $p "$quick" 's/^\tfor _, part := range valueTexts(c) {/\tfor _, part := range []string(nil) {/'
mutant "6 personal data" $p "$quick" 's/^\tfs = p.checkPII(pr, s, f, fs)$//'
mutant "6 cards and IBANs" $p "$quick" 's/^\t\t\tp.decidePII(\&fs\[i\], Category(cat), pr).*/\t\t\t_ = cat/'
mutant "7 keys" $p "$quick" 's/p.checkKey(pr, s, nil)/[]gate.Finding(nil)/'
mutant "9 structure" policy/check.go "$quick" 's/p.structural(f.text, p.lexicon.effects(s, nil))/p.lexicon.effects(s, nil)/'
mutant "10 effects" $p "$quick" 's/^\tfs = p.checkForm(s, f, true, fs)$//'
mutant "10 effects in the speaker" $p "$quick" 's/^\tif c.Speaker != "" {/\tif false {/'
mutant "11 tier fit" $p "$quick" 's/^\tfs = p.checkTier(pr, s, f, fs)$//'

echo "$killed killed, $survived survived"
[ $survived -eq 0 ]
