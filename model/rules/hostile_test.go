package rules_test

import "testing"

// What reads like a statement and is none, and what is one though it does not
// look like it.
func TestHostileTurns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ says, want string }{
		{"Am I allergic to shellfish?", ``},
		{"Suppose I'm allergic to nuts. What would I eat?", ``},
		{"For the sake of argument, I live in Paris.", ``},
		{"Please proofread this email:\n\nHi, my name is Peter and I live in Cologne.\nI work as a plumber.", ``},
		{"Here is a character sheet.\nName: Zorg\nI am 340 years old. I live in Mordor.", ``},
		{"I live in London in the game.", ``},
		{"I live in Oslo for the summer.", ``},
		{"I'm married to my job.", ``},
		{"I'm married to my best friend.", `marital_status="married"`},
		{"Not that I'm allergic to nuts or anything.", ``},
		{"The doctor said I'm allergic to nuts, but the test came back negative.", ``},
		{"I lied and said I live in Oslo.", ``},
		// The speaker breaks off: the wrong half is not kept.
		{"I live in Oslo, no wait, it's Bergen.", ``},
		{"I live in Oslo \u2014 no, Bergen.", ``},
		{"I'm allergic to nuts, sorry, I meant eggs.", ``},
		{"I'm allergic to nuts, sorry.", `allergy="nut"`},
		{"I'm allergic to nuts, thank you.", `allergy="nut"`},
		{"I'm allergic to nuts, dude, help!", `allergy="nut"`},
		{"I'm allergic to nuts, unfortunately, and eggs.", `allergy="nut"`},
		{"i'm allergic to nuts though", `allergy="nut"`},
		{"I'm allergic to nuts, Sarah.", `allergy="nut"`},
		{"I'm allergic to nuts, send help", `allergy="nut"`},
		{"I'm allergic to nuts, ideas welcome.", `allergy="nut"`},
		{"I'm allergic to nuts and hate eggs", `allergy="nut"`},
		{"I'm allergic to nuts and take antihistamines", `allergy="nut"`},
		{"I'm allergic to nuts, eggs.", `allergy="nut"; allergy="egg"`},
		{"I'm allergic to kiwi, mango, latex and celery.", `allergy="kiwi"; allergy="mango"; allergy="latex"; allergy="celery"`},
		{"I'm vegan, NOT", ``},
		{"I'm vegan (not)", ``},
		{"I've lived in Rome.", ``},
		{"I've lived in Rome since 2019.", `home_city="Rome" from 2019-01-01`},
		{"I've worked at Google and Meta.", ``},
		{"I moved to Oslo in May, then back to Bergen.", ``},
		{"I live in Oslo, no kids.", `home_city="Oslo"`},
		// Pictures say nothing, but for those that laugh or doubt.
		{"I'm allergic to shellfish \U0001f990\U0001f990\U0001f62d", `allergy="shellfish"`},
		{"I'm allergic to nuts \U0001f95c and eggs \U0001f95a!", `allergy="nut"; allergy="egg"`},
		{"I live in Oslo \U0001f1f3\U0001f1f4!!!", `home_city="Oslo"`},
		{"\U0001f44b Hi, I'm vegan \u2764\ufe0f", `diet="vegan"`},
		{"I'm allergic to Mondays \U0001f602", ``},
		{"I'm allergic to nuts \U0001f602\U0001f602", ``},
		{"I'm allergic to nuts \u2753", ``},
		{"I live in Oslo \u274c", ``},
		{"I live in Oslo \U0001f609", ``},
		// Other languages: whose word it is counts there, too.
		{"Ich bin allergisch gegen Nüsse.", `allergy="nüsse"`},
		{"Meine Mutter sagt, ich bin allergisch gegen Nüsse.", ``},
		{"Falls nötig, ich bin allergisch gegen Nüsse.", ``},
		{"Bin ich allergisch gegen Nüsse?", ``},
		{"Mi madre dice, soy alérgico a los mariscos.", ``},
		{"No soy alérgica a los mariscos.", ``},
		{"我对花生不过敏。", ``},
		{"我对花生过敏吗？", ``},
		{"如果我对花生过敏怎么办。", ``},
		{"我儿子对花生过敏。", ``},
		{"Turns out I was never allergic to nuts.", `retract allergy="nut"`},
		{"Forget where I live.", `retract home_city=`},
	} {
		if got := briefs(t, extract(t, user(c.says))); got != c.want {
			t.Errorf("%q\n got %s\nwant %s", c.says, got, c.want)
		}
	}
	for _, says := range []string{"no wait, it's Bergen", "Wait, no, it's Bergen.", "Oh wait, I meant Bergen.", "Sorry, no, make that Bergen."} {
		cs := extract(t, user("I live in Oslo.", says))
		if got, want := briefs(t, cs), `home_city="Oslo"; home_city="Bergen" from 2026-04-16 09:30`; got != want {
			t.Errorf("%q\n got %s\nwant %s", says, got, want)
		}
	}
}
