package recall_test

import (
	"testing"
	"time"

	"github.com/tenet-memory/tenet/recall"
)

func TestTimeExpressionsStandForRanges(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zone data")
	}
	// A Wednesday.
	now := time.Date(2023, 5, 17, 15, 30, 0, 0, berlin)
	const layout = "2006-01-02"
	for _, c := range []struct{ text, from, to string }{
		{"What did I eat today?", "2023-05-17", "2023-05-18"},
		{"what happened yesterday", "2023-05-16", "2023-05-17"},
		{"the day before yesterday", "2023-05-15", "2023-05-16"},
		{"Where was I last week?", "2023-05-08", "2023-05-15"},
		{"this week's plans", "2023-05-15", "2023-05-22"},
		{"plans for next month", "2023-06-01", "2023-07-01"},
		{"last month", "2023-04-01", "2023-05-01"},
		{"last year", "2022-01-01", "2023-01-01"},
		{"last weekend", "2023-05-13", "2023-05-15"},
		{"What did we do in June?", "2022-06-01", "2022-07-01"},
		{"in May", "2023-05-01", "2023-06-01"},
		{"in May 2023", "2023-05-01", "2023-06-01"},
		{"What did she say on 7 May 2023?", "2023-05-07", "2023-05-08"},
		{"on May 7th, 2023", "2023-05-07", "2023-05-08"},
		{"on the 7th of May", "2023-05-07", "2023-05-08"},
		{"on 3 June", "2022-06-03", "2022-06-04"},
		{"2023-05-07", "2023-05-07", "2023-05-08"},
		{"2023", "2023-01-01", "2024-01-01"},
		{"during 2021", "2021-01-01", "2022-01-01"},
		{"on Tuesday", "2023-05-16", "2023-05-17"},
		{"on Wednesday", "2023-05-10", "2023-05-11"},
		{"last Friday", "2023-05-12", "2023-05-13"},
		{"next Friday", "2023-05-19", "2023-05-20"},
		{"three days ago", "2023-05-14", "2023-05-15"},
		{"a day ago", "2023-05-16", "2023-05-17"},
		{"since 2022", "2022-01-01", ""},
		{"before May 2023", "", "2023-05-01"},
		{"after March 2023", "2023-04-01", ""},
		{"until March 2023", "", "2023-04-01"},
		{"between March and May 2023", "2023-03-01", "2023-06-01"},
		{"the week before August 3, 2022", "2022-07-27", "2022-08-03"},
		{"summer of 2022", "2022-06-01", "2022-09-01"},
		{"last summer", "2022-06-01", "2022-09-01"},
		{"the last two days", "2023-05-15", ""},
		{"How long did it take last week?", "-", ""},
		{"How many months ago did I move?", "-", ""},
		{"How many days passed before 7 May 2023?", "-", ""},
		{"May I ask who will march?", "-", ""},
		{"It may rain", "-", ""},
		{"the 2000 calories diet", "-", ""},
		{"31 June 2023", "2023-06-01", "2023-07-01"}, // no such day: the month remains
		{"", "-", ""},
	} {
		r, ok := recall.TimeExpression(c.text, now, berlin)
		if !ok {
			if c.from != "-" {
				t.Errorf("%q: no range, want %s to %s", c.text, c.from, c.to)
			}
			continue
		}
		got := [2]string{}
		if !r.Start.IsZero() {
			got[0] = r.Start.Format(layout)
		}
		if !r.End.IsZero() && !r.End.Equal(now) {
			got[1] = r.End.Format(layout)
		}
		if got != [2]string{c.from, c.to} {
			t.Errorf("%q: %v, want %s to %s", c.text, got, c.from, c.to)
		}
	}
}

func TestTwoMonthsAgoIsTheMonthAroundThatDay(t *testing.T) {
	t.Parallel()
	now := time.Date(2023, 5, 17, 15, 30, 0, 0, time.UTC)
	r, ok := recall.TimeExpression("two months ago", now, nil)
	if !ok || r.Start.After(time.Date(2023, 3, 5, 0, 0, 0, 0, time.UTC)) || r.End.Before(time.Date(2023, 3, 28, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%v %v", r, ok)
	}
}

func TestWithoutABaseOnlyDatesWithTheirYearAreRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"yesterday", "in June", "last week", "on 7 May", "two months ago"} {
		if r, ok := recall.TimeExpression(text, time.Time{}, nil); ok {
			t.Errorf("%q: %v", text, r)
		}
	}
	if _, ok := recall.TimeExpression("on 7 May 2023", time.Time{}, nil); !ok {
		t.Error("a whole date needs no base")
	}
}

func FuzzTimeExpression(f *testing.F) {
	for _, s := range []string{"between March and May 2023", "the last 9999 years", "2023-13-41", "\xff\x00 ago", "a couple of of ago"} {
		f.Add(s, int64(1684337400))
	}
	f.Fuzz(func(t *testing.T, text string, unix int64) {
		r, ok := recall.TimeExpression(text, time.Unix(unix%4e9, 0), nil)
		if ok && r.Start.IsZero() && r.End.IsZero() {
			t.Errorf("%q: a range without ends", text)
		}
		if ok && !r.Start.IsZero() && !r.End.IsZero() && !r.Start.Before(r.End) {
			t.Errorf("%q: %v ends before it starts", text, r)
		}
	})
}
