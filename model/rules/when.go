package rules

import (
	"strconv"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
)

// A clock is the time at which a message was said, in the speaker's zone:
// "yesterday" is the day before that, whenever it is consolidated.
type clock struct{ said time.Time }

// A moment is a stated time: where it begins. Text says "in May", the moment
// is the first instant of the last May that had begun.
type moment struct {
	from time.Time
}

// statable bounds how far back a statement may reach.
const statable = 120

// moment reads an expression of time at token i and returns how many tokens it
// takes: yesterday, last week, two years ago, in May (2021), since 2019,
// on 3 May 2021, for three years. Times after the message are not read.
func (c clock) moment(s *sentence, i int) (moment, int) {
	n := 0
	switch s.word(i) {
	case "since", "in", "on", "from", "back", "as":
		n++
		if s.word(i) == "back" && s.word(i+1) == "in" || s.word(i) == "as" && s.word(i+1) == "of" {
			n++
		} else if s.word(i) == "back" || s.word(i) == "as" {
			return moment{}, 0
		}
	case "for":
		return c.lasting(s, i+1)
	}
	for k := i + n; adverb(s.word(k)) && k < i+n+2; { // in early May
		n++
		k = i + n
	}
	t, m := c.calendar(s, i+n, n > 0)
	if m == 0 {
		t, m = c.relative(s, i+n)
	}
	if m == 0 || t.After(c.said) || t.Year() < c.said.Year()-statable {
		return moment{}, 0
	}
	return moment{t}, n + m
}

func adverb(w string) bool { return w == "early" || w == "late" || w == "mid" || w == "the" }

// lasting reads "three years now", after "for".
func (c clock) lasting(s *sentence, i int) (moment, int) {
	k := i
	for s.word(k) == "about" || s.word(k) == "over" || s.word(k) == "almost" || s.word(k) == "nearly" || s.word(k) == "around" || s.word(k) == "the" || s.word(k) == "past" || s.word(k) == "last" {
		k++
	}
	n, m := count(s, k)
	if m == 0 {
		return moment{}, 0
	}
	t, ok := back(c.day(0), n, s.word(k+m))
	if !ok {
		return moment{}, 0
	}
	k += m + 1
	if s.word(k) == "and" { // four years and three months
		if n, m := count(s, k+1); m > 0 {
			if more, ok := back(t, n, s.word(k+1+m)); ok {
				t, k = more, k+m+2
			}
		}
	}
	return moment{t}, k + 1 - i
}

func (c clock) day(offset int) time.Time {
	y, m, d := c.said.Date()
	return time.Date(y, m, d+offset, 0, 0, 0, 0, c.said.Location())
}

// calendar reads a date, a month or a year. A bare year or month needs a
// preposition before it.
func (c clock) calendar(s *sentence, i int, led bool) (time.Time, int) {
	w := s.word(i)
	if t, err := time.ParseInLocation("2006-01-02", w, c.said.Location()); err == nil {
		return t, 1
	}
	day, month, n := dayMonth(s, i)
	if n == 0 {
		if y := year(w); y > 0 && led {
			return time.Date(y, 1, 1, 0, 0, 0, 0, c.said.Location()), 1
		}
		return time.Time{}, 0
	}
	if day == 0 && !led {
		return time.Time{}, 0
	}
	k := n
	if s.word(i+k) == "," || s.word(i+k) == "of" {
		k++
	}
	if y := year(s.word(i + k)); y > 0 {
		return time.Date(y, month, max(day, 1), 0, 0, 0, 0, c.said.Location()), k + 1
	}
	t := time.Date(c.said.Year(), month, max(day, 1), 0, 0, 0, 0, c.said.Location())
	if t.After(c.said) {
		t = time.Date(c.said.Year()-1, month, max(day, 1), 0, 0, 0, 0, c.said.Location())
	}
	return t, n
}

// dayMonth reads "3 May", "the 3rd of May", "May 3rd" or "May" (day 0).
func dayMonth(s *sentence, i int) (day int, m time.Month, n int) {
	if d, k := ordinal(s, i); k > 0 {
		if s.word(i+k) == "of" {
			k++
		}
		if m, ok := months[s.word(i+k)]; ok && d <= 31 {
			return d, m, k + 1
		}
		return 0, 0, 0
	}
	m, ok := months[s.word(i)]
	if !ok {
		return 0, 0, 0
	}
	if d, k := ordinal(s, i+1); k > 0 && d <= 31 {
		return d, m, 1 + k
	}
	return 0, m, 1
}

// ordinal reads "3", "3rd" (one or two tokens).
func ordinal(s *sentence, i int) (int, int) {
	d, err := strconv.Atoi(s.word(i))
	if err != nil || d < 1 || d > 31 {
		return 0, 0
	}
	switch s.word(i + 1) {
	case "st", "nd", "rd", "th":
		return d, 2
	}
	return d, 1
}

func year(w string) int {
	y, err := strconv.Atoi(w)
	if err != nil || len(w) != 4 || y < 1900 || y > 2100 {
		return 0
	}
	return y
}

// relative reads what depends on the day of the message.
func (c clock) relative(s *sentence, i int) (time.Time, int) {
	w, next := s.word(i), s.word(i+1)
	switch w {
	case "today", "tonight":
		return c.day(0), 1
	case "yesterday":
		return c.day(-1), 1
	case "this":
		switch next {
		case "morning", "afternoon", "evening":
			return c.day(0), 2
		case "week", "month", "year":
			return unitStart(c.day(0), next), 2
		}
		if m, ok := months[next]; ok {
			t := time.Date(c.said.Year(), m, 1, 0, 0, 0, 0, c.said.Location())
			return t, 2
		}
	case "last":
		switch next {
		case "night":
			return c.day(-1), 2
		case "week", "month", "year":
			t, _ := back(unitStart(c.day(0), next), 1, next)
			return t, 2
		}
		if m, ok := months[next]; ok {
			t := time.Date(c.said.Year(), m, 1, 0, 0, 0, 0, c.said.Location())
			if m >= c.said.Month() {
				t = t.AddDate(-1, 0, 0)
			}
			return t, 2
		}
		if d, ok := weekdays[next]; ok {
			return c.weekday(d), 2
		}
	}
	if d, ok := weekdays[w]; ok && s.word(i-1) == "on" {
		return c.weekday(d), 1
	}
	n, m := count(s, i)
	if m == 0 || s.word(i+m+1) != "ago" && s.word(i+m+1) != "back" {
		return time.Time{}, 0
	}
	t, ok := back(c.day(0), n, s.word(i+m))
	if !ok {
		return time.Time{}, 0
	}
	return t, m + 2
}

// weekday is the last such day before the message's.
func (c clock) weekday(d time.Weekday) time.Time {
	n := (int(c.said.Weekday()) - int(d) + 7) % 7
	if n == 0 {
		n = 7
	}
	return c.day(-n)
}

// back goes n units back from t.
func back(t time.Time, n int, unit string) (time.Time, bool) {
	if n > 1000 {
		return t, false
	}
	switch strings.TrimSuffix(unit, "s") {
	case "day":
		return t.AddDate(0, 0, -n), true
	case "week":
		return t.AddDate(0, 0, -7*n), true
	case "month":
		return t.AddDate(0, -n, 0), true
	case "year":
		return t.AddDate(-n, 0, 0), true
	}
	return t, false
}

// unitStart is the start of the week (Monday), month or year that holds t.
func unitStart(t time.Time, unit string) time.Time {
	switch unit {
	case "week":
		return t.AddDate(0, 0, -(int(t.Weekday())+6)%7)
	case "month":
		return t.AddDate(0, 0, 1-t.Day())
	}
	return t.AddDate(0, 0, 1-t.YearDay())
}

// count reads a small number in digits or words.
func count(s *sentence, i int) (n, tokens int) {
	if n, err := strconv.Atoi(s.word(i)); err == nil && n > 0 {
		return n, 1
	}
	if s.word(i) == "a" && (s.word(i+1) == "couple" || s.word(i+1) == "few") {
		if s.word(i+1) == "couple" && s.word(i+2) == "of" {
			return 2, 3
		}
		return map[string]int{"couple": 2, "few": 3}[s.word(i+1)], 2
	}
	if n, ok := small[s.word(i)]; ok {
		return n, 1
	}
	return 0, 0
}

var small = map[string]int{"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6,
	"seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12}

var months = monthNames()

func monthNames() map[string]time.Month {
	out := map[string]time.Month{"sept": time.September}
	for m := time.January; m <= time.December; m++ {
		name := strings.ToLower(m.String())
		out[name], out[name[:3]] = m, m
	}
	return out
}

var weekdays = weekdayNames()

func weekdayNames() map[string]time.Weekday {
	out := map[string]time.Weekday{}
	for d := time.Sunday; d <= time.Saturday; d++ {
		out[strings.ToLower(d.String())] = d
	}
	return out
}

// speak is the clock of a message.
func speak(m tenet.Message, zone *time.Location) clock {
	if zone == nil {
		zone = time.UTC
	}
	return clock{m.Said().In(zone)}
}
