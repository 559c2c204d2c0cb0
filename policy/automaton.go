package policy

// automaton finds many words in one pass over a text (Aho-Corasick with a
// dense table over the bytes that occur in the words). ASCII case is folded.
type automaton struct {
	class [256]uint16 // byte -> column; 0 is "no word has it"
	width int
	next  []int32   // state*width + column -> state
	out   [][]int32 // state -> words that end there
}

// newAutomaton makes an automaton for words; a word's id is its index.
func newAutomaton(words []string) *automaton {
	a := &automaton{width: 1}
	for _, w := range words {
		for i := 0; i < len(w); i++ {
			b := lowerByte(w[i])
			if a.class[b] == 0 {
				a.class[b] = uint16(a.width)
				a.width++
			}
		}
	}
	for b := 'A'; b <= 'Z'; b++ {
		a.class[b] = a.class[b+32]
	}
	add := func() int32 {
		a.next = append(a.next, make([]int32, a.width)...)
		a.out = append(a.out, nil)
		return int32(len(a.out) - 1)
	}
	add()
	for id, w := range words {
		s := int32(0)
		for i := 0; i < len(w); i++ {
			c := int(a.class[lowerByte(w[i])])
			n := a.next[int(s)*a.width+c]
			if n == 0 {
				n = add()
				a.next[int(s)*a.width+c] = n
			}
			s = n
		}
		a.out[s] = append(a.out[s], int32(id))
	}
	// Breadth first: each state's failure is known before its children's.
	fail := make([]int32, len(a.out))
	var queue []int32
	for c := 0; c < a.width; c++ {
		if n := a.next[c]; n != 0 {
			queue = append(queue, n)
		}
	}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		a.out[s] = append(a.out[s], a.out[fail[s]]...)
		for c := 0; c < a.width; c++ {
			n := a.next[int(s)*a.width+c]
			f := a.next[int(fail[s])*a.width+c]
			if n == 0 {
				a.next[int(s)*a.width+c] = f
				continue
			}
			fail[n] = f
			queue = append(queue, n)
		}
	}
	return a
}

// each calls found for every word and the byte where it ends.
func (a *automaton) each(s string, found func(word int32, end int)) {
	state := int32(0)
	for i := 0; i < len(s); i++ {
		state = a.next[int(state)*a.width+int(a.class[s[i]])]
		for _, w := range a.out[state] {
			found(w, i+1)
		}
	}
}

func lowerByte(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b + 32
	}
	return b
}
