package recall

// Explanation takes a hit's score apart: Turn + Window + Session + Time + Dense
// + Exact is the score, and the Terms' parts sum to Turn + Window + Session.
type Explanation struct {
	Turn    float64 // the entry's own words
	Window  float64 // its words and its neighbours'
	Session float64 // its session as one text
	Time    float64 // inside the time the query names
	Dense   float64 // nearness of its vector and its neighbours'
	Exact   float64 // quoted, or named by id or key
	Terms   []TermPart
}

// TermPart is what one term of the query adds.
type TermPart struct {
	Term                  string
	Turn, Window, Session float64
}
