package recall

import (
	"strings"
	"time"
)

// unit is a calendar unit of a relative expression.
type unit struct {
	start               func(t time.Time) time.Time // of the unit that holds t, nil for days
	years, months, days int
}

func (u unit) add(t time.Time, n int) time.Time {
	return t.AddDate(u.years*n, u.months*n, u.days*n)
}

func timeUnit(w string) (unit, bool) {
	switch strings.TrimSuffix(w, "s") {
	case "day", "night":
		return unit{start: func(t time.Time) time.Time { return t }, days: 1}, true
	case "week":
		return unit{start: monday, days: 7}, true
	case "month":
		return unit{start: func(t time.Time) time.Time { return t.AddDate(0, 0, 1-t.Day()) }, months: 1}, true
	case "quarter":
		return unit{start: func(t time.Time) time.Time {
			return t.AddDate(0, -(int(t.Month())-1)%3, 1-t.Day())
		}, months: 3}, true
	case "year":
		return unit{start: func(t time.Time) time.Time { return t.AddDate(0, 0, 1-t.YearDay()) }, years: 1}, true
	}
	return unit{}, false
}

func monday(t time.Time) time.Time { return t.AddDate(0, 0, -(int(t.Weekday())+6)%7) }

func timeMonth(w string) (time.Month, bool) {
	switch w {
	case "january", "jan":
		return time.January, true
	case "february", "feb":
		return time.February, true
	case "march", "mar":
		return time.March, true
	case "april", "apr":
		return time.April, true
	case "may":
		return time.May, true
	case "june", "jun":
		return time.June, true
	case "july", "jul":
		return time.July, true
	case "august", "aug":
		return time.August, true
	case "september", "sep", "sept":
		return time.September, true
	case "october", "oct":
		return time.October, true
	case "november", "nov":
		return time.November, true
	case "december", "dec":
		return time.December, true
	}
	return 0, false
}

func timeWeekday(w string) (time.Weekday, bool) {
	switch w {
	case "sunday":
		return time.Sunday, true
	case "monday":
		return time.Monday, true
	case "tuesday":
		return time.Tuesday, true
	case "wednesday":
		return time.Wednesday, true
	case "thursday":
		return time.Thursday, true
	case "friday":
		return time.Friday, true
	case "saturday":
		return time.Saturday, true
	}
	return 0, false
}

// timeSeason gives the first month of a season.
func timeSeason(w string) (time.Month, bool) {
	switch w {
	case "spring":
		return time.March, true
	case "summer":
		return time.June, true
	case "autumn", "fall":
		return time.September, true
	case "winter":
		return time.December, true
	}
	return 0, false
}

// digits reads a number of at most four digits.
func digits(w string) (int, bool) {
	if w == "" || len(w) > 4 {
		return 0, false
	}
	n := 0
	for i := range len(w) {
		if w[i] < '0' || w[i] > '9' {
			return 0, false
		}
		n = 10*n + int(w[i]-'0')
	}
	return n, true
}

func timeYear(w string) (int, bool) {
	if len(w) != 4 {
		return 0, false
	}
	y, ok := digits(w)
	return y, ok && y >= 1900 && y < 2100
}

func timeDay(w string) (int, bool) {
	for _, s := range []string{"st", "nd", "rd", "th"} {
		w = strings.TrimSuffix(w, s)
	}
	d, ok := digits(w)
	return d, ok && len(w) <= 2 && d >= 1 && d <= 31
}

func timeNumber(w string) (int, bool) {
	switch w {
	case "a", "an", "one":
		return 1, true
	case "two", "couple":
		return 2, true
	case "three", "few":
		return 3, true
	case "four":
		return 4, true
	case "five":
		return 5, true
	case "six":
		return 6, true
	case "seven":
		return 7, true
	case "eight":
		return 8, true
	case "nine":
		return 9, true
	case "ten":
		return 10, true
	case "eleven":
		return 11, true
	case "twelve":
		return 12, true
	}
	n, ok := digits(w)
	return n, ok && n > 0
}

// absolute reads what is on the calendar: dates, months, seasons, years.
func (p *timeParser) absolute(i int) (Range, int, bool) {
	w := p.word(i)
	if y, m, d, ok := isoDate(w); ok {
		return p.span(y, m, d, 1)
	}
	if d, ok := timeDay(w); ok { // 7 May 2023, 7th of May
		k := i + 1
		if p.word(k) == "of" {
			k++
		}
		if m, ok := timeMonth(p.word(k)); ok {
			if y, ok := timeYear(p.word(k + 1)); ok {
				return p.span(y, m, d, k+2-i)
			}
			return p.past(m, d, k+1-i)
		}
	}
	if m, ok := timeMonth(w); ok {
		if d, ok := timeDay(p.word(i + 1)); ok { // May 7, 2023
			if y, ok := timeYear(p.word(i + 2)); ok {
				return p.span(y, m, d, 3)
			}
			return p.past(m, d, 2)
		}
		k := i + 1
		if p.word(k) == "of" {
			k++
		}
		if y, ok := timeYear(p.word(k)); ok { // May 2023
			return p.span(y, m, 0, k+1-i)
		}
		if p.introduced(i) { // "may" and "march" are verbs too
			return p.past(m, 0, 1)
		}
	}
	if m, ok := timeSeason(w); ok {
		k := i + 1
		if p.word(k) == "of" {
			k++
		}
		y, ok := timeYear(p.word(k))
		n := k + 1 - i
		if !ok {
			if !p.based || !p.introduced(i) || w == "spring" || w == "fall" {
				return Range{}, 0, false
			}
			y, n = p.now.Year(), 1
			if p.date(y, m, 1).After(p.now) {
				y--
			}
		}
		s := p.date(y, m, 1)
		return Range{s, s.AddDate(0, 3, 0)}, n, true
	}
	if y, ok := timeYear(w); ok && (p.introduced(i) || len(p.words) == 1) {
		return p.span(y, 0, 0, 1)
	}
	return Range{}, 0, false
}

// introduced reports whether a word before i makes a bare name a time.
func (p *timeParser) introduced(i int) bool {
	switch p.word(i - 1) {
	case "in", "during", "of", "early", "late", "mid", "around", "throughout", "year",
		"since", "after", "before", "until", "till", "by", "between", "from":
		return true
	case "the":
		return i >= 2 && p.introduced(i-1)
	case "and", "to":
		return i >= 3 && p.introduced(i-2)
	}
	return false
}

// span is a day, a month (d = 0) or a year (m = 0).
func (p *timeParser) span(y int, m time.Month, d, n int) (Range, int, bool) {
	switch {
	case m == 0:
		return Range{p.date(y, 1, 1), p.date(y+1, 1, 1)}, n, true
	case d == 0:
		return Range{p.date(y, m, 1), p.date(y, m+1, 1)}, n, true
	}
	s := p.date(y, m, d)
	if s.Month() != m { // 31 June
		return Range{}, 0, false
	}
	return Range{s, p.date(y, m, d+1)}, n, true
}

// past is the last such day or month that has begun.
func (p *timeParser) past(m time.Month, d, n int) (Range, int, bool) {
	if !p.based {
		return Range{}, 0, false
	}
	for y := p.now.Year(); y > p.now.Year()-5; y-- { // 29 February is rare
		if r, n, ok := p.span(y, m, d, n); ok && !r.Start.After(p.now) {
			return r, n, true
		}
	}
	return Range{}, 0, false
}

// isoDate reads 2023-05-07, 2023/05/07 and 2023-05.
func isoDate(w string) (int, time.Month, int, bool) {
	if len(w) < 6 || w[0] < '1' || w[0] > '2' {
		return 0, 0, 0, false
	}
	parts := strings.FieldsFunc(w, func(r rune) bool { return r == '-' || r == '/' })
	if len(parts) < 2 || len(parts) > 3 {
		return 0, 0, 0, false
	}
	y, ok := timeYear(parts[0])
	m, number := digits(parts[1])
	if !ok || !number || len(parts[1]) > 2 || m < 1 || m > 12 {
		return 0, 0, 0, false
	}
	d := 0
	if len(parts) == 3 {
		if d, ok = timeDay(parts[2]); !ok {
			return 0, 0, 0, false
		}
	}
	return y, time.Month(m), d, true
}

// relative reads what depends on the base time.
func (p *timeParser) relative(i int) (Range, int, bool) {
	day := func(offset, n int) (Range, int, bool) {
		s := p.today.AddDate(0, 0, offset)
		return Range{s, s.AddDate(0, 0, 1)}, n, true
	}
	w, next := p.word(i), p.word(i+1)
	switch w {
	case "today", "tonight":
		return day(0, 1)
	case "yesterday":
		return day(-1, 1)
	case "tomorrow":
		return day(1, 1)
	case "this":
		if next == "morning" || next == "afternoon" || next == "evening" {
			return day(0, 2)
		}
		return p.named(next, 0, 2)
	case "next", "coming", "following":
		return p.named(next, 1, 2)
	case "last", "past", "previous":
		if n, ok := timeNumber(next); ok { // the last three weeks
			k := i + 2
			if p.word(k) == "of" {
				k++
			}
			if u, ok := timeUnit(p.word(k)); ok {
				return Range{u.add(p.today, -n), p.now}, k + 1 - i, true
			}
		}
		if next == "night" {
			return day(-1, 2)
		}
		if u, ok := timeUnit(next); ok && strings.HasSuffix(next, "s") { // the past weeks
			return Range{u.add(p.today, -3), p.now}, 2, true
		}
		return p.named(next, -1, 2)
	}
	if d, ok := timeWeekday(w); ok && p.word(i+1) != "night" || ok && p.word(i-1) == "on" {
		back := (int(p.today.Weekday()) - int(d) + 7) % 7
		if back == 0 {
			back = 7
		}
		return day(-back, 1)
	}
	return p.ago(i)
}

// named reads what follows this, last or next.
func (p *timeParser) named(w string, step, n int) (Range, int, bool) {
	if w == "weekend" {
		s := monday(p.today).AddDate(0, 0, 5+7*step)
		return Range{s, s.AddDate(0, 0, 2)}, n, true
	}
	if u, ok := timeUnit(w); ok {
		s := u.add(u.start(p.today), step)
		return Range{s, u.add(s, 1)}, n, true
	}
	if d, ok := timeWeekday(w); ok {
		off := (int(d) - int(p.today.Weekday()) + 7) % 7
		switch {
		case step < 0:
			off -= 7
		case step > 0 && off == 0:
			off = 7
		}
		s := p.today.AddDate(0, 0, off)
		return Range{s, s.AddDate(0, 0, 1)}, n, true
	}
	length := 1
	m, ok := timeMonth(w)
	if !ok {
		m, ok = timeSeason(w)
		length = 3
	}
	if !ok {
		return Range{}, 0, false
	}
	y := p.now.Year()
	s := p.date(y, m, 1)
	for step < 0 && s.AddDate(0, length, 0).After(p.now) {
		s = s.AddDate(-1, 0, 0)
	}
	for step > 0 && !s.After(p.now) {
		s = s.AddDate(1, 0, 0)
	}
	return Range{s, s.AddDate(0, length, 0)}, n, true
}

// ago reads "two months ago" as the unit around that day.
func (p *timeParser) ago(i int) (Range, int, bool) {
	n, ok := timeNumber(p.word(i))
	if !ok {
		return Range{}, 0, false
	}
	k := i + 1
	if _, few := timeNumber(p.word(k)); few && p.word(i) == "a" { // a few, a couple
		n, _ = timeNumber(p.word(k))
		k++
	}
	if p.word(k) == "of" {
		k++
	}
	u, ok := timeUnit(p.word(k))
	if !ok || p.word(k+1) != "ago" && p.word(k+1) != "back" {
		return Range{}, 0, false
	}
	at := u.add(p.today, -n)
	if u.days == 1 {
		return Range{at, at.AddDate(0, 0, 1)}, k + 2 - i, true
	}
	half := at.Sub(u.add(at, -1)) / 2
	return Range{at.Add(-half), at.Add(half)}, k + 2 - i, true
}
