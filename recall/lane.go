package recall

import (
	"cmp"
	"slices"
	"time"
)

// A posting packs a slot (24 bits) and a term frequency (8 bits).
type posting uint32

const maxSlots = 1 << 24

func makePosting(slot uint32, tf int) posting { return posting(slot<<8 | uint32(min(tf, 255))) }
func (p posting) slot() uint32                { return uint32(p >> 8) }
func (p posting) tf() int32                   { return int32(p & 0xff) }

// reach holds what an entry takes of the words of its neighbours at one
// distance, in 1/64.
type reach struct{ before, after int32 }

// noSlot stands where there is no neighbour.
const noSlot = ^uint32(0)

// doc is what a lane keeps of an entry. The text itself stays with the caller.
type doc struct {
	id       string
	key      string // folded
	ordinal  int64
	recorded int64 // microseconds; noTime where unknown
	from, to int64
	seq      []uint32 // term numbers in order: key, speaker, then the body
	sign     uint64   // a bit for each term of the body, to compare sets cheaply
	position int
	body     uint32 // where the body starts in seq
	session  uint32 // it is a member of; noSlot where there is none
	live     bool
	standing bool // an instruction for every question
}

// hotDoc is what scoring reads of every entry that holds a term, kept apart so
// that it stays in the cache.
type hotDoc struct {
	length  int32  // weighted number of terms
	session uint32 // that has other members too; noSlot where there is none
	speaker uint32 // noSlot where there is none
	prefers bool   // states a preference
	dormant bool   // found only when quoted, named or asked for
}

// session lists the slots of one conversation in order.
type session struct {
	name    string
	members []uint32
	length  int64
}

// lane is the index of one class of trust.
type lane struct {
	docs     []doc
	hot      []hotDoc
	free     []uint32
	near     []uint32 // per slot: neighbours at -1, +1, -2, +2, ...
	wide     []int32  // per slot: length with the neighbours', in 1/64
	posts    [][]posting
	names    map[string]uint32
	sessions []session
	freeSess []uint32
	dense    denseLane
	standing []uint32
	// Long entries are also scored by their best passage. extra counts, by term,
	// the passages that hold it beyond the first of each entry.
	long     int
	passages int64
	extra    map[uint32]int32

	count  int   // live entries
	length int64 // of all live entries
	winLen int64 // of all of wide
	// Of sessions with at least two members: a single one says nothing that its
	// entry does not.
	inSess  int64 // entries
	open    int   // sessions
	sessLen int64
}

const noTime = int64(-1 << 63)

func micros(t time.Time) int64 {
	if t.IsZero() {
		return noTime
	}
	return t.UnixMicro()
}

// before is the order of ties, and of entries within a session.
func (d *doc) before(e *doc) bool {
	if c := cmp.Compare(d.recorded, e.recorded); c != 0 {
		return c < 0
	}
	return d.id < e.id
}

func (ln *lane) precedes(a, b uint32) int {
	x, y := &ln.docs[a], &ln.docs[b]
	if c := cmp.Compare(x.position, y.position); c != 0 {
		return c
	}
	if x.before(y) {
		return -1
	}
	return 1
}

// grow makes room for n documents, so that many are not copied many times.
func (ln *lane) grow(n int, window []reach) {
	if n > 64 {
		ln.docs, ln.hot = slices.Grow(ln.docs, n), slices.Grow(ln.hot, n)
		ln.near, ln.wide = slices.Grow(ln.near, 2*len(window)*n), slices.Grow(ln.wide, n)
	}
}

// insert stores the document and its postings and links it with its neighbours.
func (ln *lane) insert(d doc, h hotDoc, name string, freqs []termFreq, window []reach) uint32 {
	var slot uint32
	if n := len(ln.free); n > 0 {
		slot, ln.free = ln.free[n-1], ln.free[:n-1]
		ln.docs[slot], ln.hot[slot] = d, h
	} else {
		slot = uint32(len(ln.docs))
		ln.docs, ln.hot, ln.wide = append(ln.docs, d), append(ln.hot, h), append(ln.wide, 0)
		for range 2 * len(window) {
			ln.near = append(ln.near, noSlot)
		}
	}
	for _, f := range freqs {
		if int(f.term) >= len(ln.posts) {
			ln.posts = append(ln.posts, make([][]posting, int(f.term)+1-len(ln.posts))...)
		}
		ln.posts[f.term] = addPosting(ln.posts[f.term], makePosting(slot, f.n))
	}
	ln.count++
	ln.length += int64(h.length)
	if d.standing {
		ln.standing = append(ln.standing, slot)
	}
	ln.countPassages(&d, 1)
	ln.join(slot, name, window)
	return slot
}

func addPosting(list []posting, p posting) []posting {
	if n := len(list); n == 0 || list[n-1].slot() < p.slot() {
		return append(list, p)
	}
	i, _ := slices.BinarySearchFunc(list, p, func(a, b posting) int { return cmp.Compare(a.slot(), b.slot()) })
	return slices.Insert(list, i, p)
}

// remove takes the document in the slot out of everything.
func (ln *lane) remove(slot uint32, window []reach, dim int) {
	d := &ln.docs[slot]
	for _, t := range d.seq {
		list := ln.posts[t]
		i, ok := slices.BinarySearchFunc(list, slot, func(a posting, s uint32) int { return cmp.Compare(a.slot(), s) })
		if ok { // a word that occurs twice is already gone
			ln.posts[t] = slices.Delete(list, i, i+1)
		}
	}
	ln.leave(slot, window)
	ln.countPassages(d, -1)
	if d.standing {
		i := slices.Index(ln.standing, slot)
		ln.standing = slices.Delete(ln.standing, i, i+1)
	}
	ln.count--
	ln.length -= int64(ln.hot[slot].length)
	ln.dense.clear(int(slot), dim)
	*d, ln.hot[slot] = doc{}, hotDoc{}
	ln.free = append(ln.free, slot)
}

// join puts the slot into its session.
func (ln *lane) join(slot uint32, name string, window []reach) {
	d, h := &ln.docs[slot], &ln.hot[slot]
	d.session, h.session = noSlot, noSlot
	if name == "" {
		ln.wide[slot] = 64 * h.length
		ln.winLen += int64(ln.wide[slot])
		return
	}
	id, ok := ln.names[name]
	if !ok {
		if ln.names == nil {
			ln.names = map[string]uint32{}
		}
		if n := len(ln.freeSess); n > 0 {
			id, ln.freeSess = ln.freeSess[n-1], ln.freeSess[:n-1]
			ln.sessions[id] = session{name: name}
		} else {
			id = uint32(len(ln.sessions))
			ln.sessions = append(ln.sessions, session{name: name})
		}
		ln.names[name] = id
	}
	d.session = id
	s := &ln.sessions[id]
	at := len(s.members)
	if at > 0 && ln.precedes(s.members[at-1], slot) > 0 {
		at, _ = slices.BinarySearchFunc(s.members, slot, ln.precedes)
	}
	s.members = slices.Insert(s.members, at, slot)
	s.length += int64(h.length)
	switch len(s.members) {
	case 1:
	case 2:
		ln.hot[s.members[0]].session, ln.hot[s.members[1]].session = id, id
		ln.open++
		ln.sessLen += s.length
		ln.inSess += 2
	default:
		h.session = id
		ln.sessLen += int64(h.length)
		ln.inSess++
	}
	ln.relink(s, at, window)
}

// leave takes the slot out of its session.
func (ln *lane) leave(slot uint32, window []reach) {
	d := &ln.docs[slot]
	ln.winLen -= int64(ln.wide[slot])
	ln.wide[slot] = 0
	h := &ln.hot[slot]
	if d.session == noSlot {
		return
	}
	s := &ln.sessions[d.session]
	at, _ := slices.BinarySearchFunc(s.members, slot, ln.precedes)
	s.members = slices.Delete(s.members, at, at+1)
	switch len(s.members) {
	case 0:
	case 1:
		ln.hot[s.members[0]].session = noSlot
		ln.open--
		ln.sessLen -= s.length
		ln.inSess -= 2
	default:
		ln.sessLen -= int64(h.length)
		ln.inSess--
	}
	s.length -= int64(h.length)
	for i := range 2 * len(window) {
		ln.near[int(slot)*2*len(window)+i] = noSlot
	}
	if len(s.members) == 0 {
		delete(ln.names, s.name)
		ln.freeSess = append(ln.freeSess, d.session)
		*s = session{}
		return
	}
	ln.relink(s, at, window)
}

// relink renews the neighbours of the members around one place.
func (ln *lane) relink(s *session, at int, window []reach) {
	r := len(window)
	for i := max(0, at-r); i < min(len(s.members), at+r+1); i++ {
		slot := s.members[i]
		near := ln.near[int(slot)*2*r : (int(slot)+1)*2*r]
		wide := 64 * ln.hot[slot].length
		for k, w := range window {
			near[2*k], near[2*k+1] = noSlot, noSlot
			if j := i - k - 1; j >= 0 {
				near[2*k] = s.members[j]
				wide += w.before * ln.hot[s.members[j]].length
			}
			if j := i + k + 1; j < len(s.members) {
				near[2*k+1] = s.members[j]
				wide += w.after * ln.hot[s.members[j]].length
			}
		}
		ln.winLen += int64(wide - ln.wide[slot])
		ln.wide[slot] = wide
	}
}
