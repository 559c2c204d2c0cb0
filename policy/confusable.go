package policy

import "strings"

// confusables maps a small letter that a reader cannot tell from a Latin one
// in common fonts to that letter. NFKC has already dealt with full-width,
// mathematical and enclosed letters. The table is ours and fixed.
var confusables = pairs(`
	ıi ɑa ɡg ɩi ɪi ɯw ʀr ʏy ɴn ʟl ʜh ɓb ɗd ɛe ʻ' ʼ' ʽ' ‘' ’' ‚' ‛' “" ”" „" ‟" ‐- ‑- ‒- –- —- ―- −-
	αa εe ιi κk νv οo ρp τt υu χx ωw γy ηn ϲc ϳj
	аa сc еe оo рp хx уy ѕs іi јj һh ԁd ԛq ԝw кk мm тt вb нh гr ѵv ьb ѡw
	սu օo ոn ցg հh յj գq զq
	ᴀa ᴄc ᴅd ᴇe ᴊj ᴋk ᴍm ᴏo ᴘp ᴛt ᴜu ᴠv ᴡw ᴢz ꭰd ꭼe ꮃl ꮖc
	øo łl đd ħh ŧt`)

func pairs(s string) map[rune]rune {
	m := map[rune]rune{}
	for _, p := range strings.Fields(s) {
		r := []rune(p)
		m[r[0]] = r[1]
	}
	return m
}

func confusable(r rune) (rune, bool) {
	t, ok := confusables[r]
	return t, ok
}
