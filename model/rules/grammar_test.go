package rules_test

import "testing"

func TestTheGrammarReadsWhatItSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ says, want string }{
		{"My name is Sarah Connor.", `name="Sarah Connor"`},
		{"hi, my name is larry and i am a chef", `name="larry"; occupation="chef"`},
		{"Please call me Sal.", `preferred_name="Sal"`},
		{"I'm 32-year-old male, and I'm trying to understand.", `age=32`},
		{"I'm 30-something.", ``},
		{"I'm 32 years old.", `age=32`},
		{"I just turned 40 last week!", `age=40 from 2026-04-06`},
		{"i m 17", `age=17`},
		{"A few things about me: I'm vegan and I live in Oslo.", `diet="vegan"; home_city="Oslo"`},
		{"My name is Siobhan O'Neil.", `name="Siobhan O'Neil"`},
		{"My mom's name is Ada.", `family.mother="Ada"`},
		{"My birthday is on July 22nd.", `birthday="July 22nd"`},
		{"Our anniversary is coming up on July 22nd and I want to make it special.", `anniversary="July 22nd"`},
		{"I live in Kansas City, Missouri.", `home_city="Kansas City, Missouri"`},
		{"We live in the Netherlands now.", `home_city="Netherlands"`},
		{"Actually I moved to Oslo in March.", `home_city="Oslo" from 2026-03-01`},
		{"Last month I moved to Bergen.", `home_city="Bergen" from 2026-03-01`},
		{"I moved to Notion last month.", ``},
		{"I've lived in Tokyo since 2019.", `home_city="Tokyo" from 2019-01-01`},
		{"I've lived in Tokyo for three years now.", `home_city="Tokyo" from 2023-04-16`},
		{"Yesterday we moved to Berlin.", `home_city="Berlin" from 2026-04-15`},
		{"I no longer live in Berlin.", `end home_city="Berlin"`},
		{"I don't live in Berlin anymore.", `end home_city="Berlin"`},
		{"I used to live in Rome.", `end home_city="Rome"`},
		{"I've been working at NovaTech for about 4 years and 3 months now.", `employer="NovaTech" from 2022-01-16`},
		{"I've been living in Japan for the past five years on a work visa.", `home_city="Japan" from 2021-04-16`},
		{"I'm researching the new hybrid model of my car.", ``},
		{"I'm a software engineer, specifically a backend developer, and I like it.", `occupation="software engineer"`},
		{"I prefer small, quiet hotels.", ``},
		{"I prefer quieter places.", ``},
		{"I prefer a balanced diet: fish and rice.", ``},
		{"I prefer holistic and natural remedies over drugs.", ``},
		{"I prefer natural light, and I hate lamps.", `preference="natural light"`},
		{"I started a new job as a PA three months ago.", `occupation="pa" from 2026-01-16`},
		{"I'm from Texas.", `hometown="Texas"`},
		{"I'm from Marketing.", ``},
		{"I'm Canadian.", `nationality="Canadian"`},
		{"I speak English, French and a little German.", `spoken_language="English"; spoken_language="French"`},
		{"I'm a nurse at a hospital.", `occupation="nurse"`},
		{"I work as a freelance accountant.", `occupation="freelance accountant"`},
		{"I'm a huge fan of baseball.", ``},
		{"I'm an aspiring writer.", ``},
		{"I work for Acme Robotics in Berlin.", `employer="Acme Robotics"`},
		{"I quit my job at Acme in March.", `end employer="Acme" to 2026-03-01`},
		{"I quit my job yesterday.", `end employer= to 2026-04-15`},
		{"My email is sarah@example.com.", `email="sarah@example.com"`},
		{"You can reach me at +49 170 1234567.", `phone="+49 170 1234567"`},
		{"My phone number is (555) 123-4567, thanks", `phone="(555) 123-4567"`},
		{"I prefer to be contacted by email.", `contact_preference="email"`},
		{"My wife's name is Anna.", `family.wife="Anna"`},
		{"I have one older sister named Mary.", `family.sister="Mary"`},
		{"By the way, my cat's name is Luna, and she's been a sweetie.", `pet.cat="Luna"`},
		{"Can you suggest toys for my cat Luna?", `pet.cat="Luna"`},
		{"My cat Luna died last week.", `end pet.cat="Luna" to 2026-04-06`},
		{"I'm happily married.", `marital_status="married"`},
		{"I'm married to a doctor.", `marital_status="married"`},
		{"I'm severely allergic to peanuts, tree nuts and shellfish, so please be careful.", `allergy="peanut"; allergy="tree nut"; allergy="shellfish"`},
		{"I have a severe shellfish allergy, please flag any seafood promotions.", `allergy="shellfish"`},
		{"Is this safe given my peanut allergy?", `allergy="peanut"`},
		{"I'm vegan and allergic to nuts.", `diet="vegan"; allergy="nut"`},
		{"I'm no longer allergic to cats.", `end allergy="cat"`},
		{"I'm not allergic to cats.", `retract allergy="cat"`},
		{"Please remove shellfish from my allergies.", `retract allergy="shellfish"`},
		{"I'm allergic to most reptiles and animals with fur.", `allergy="most reptiles"; allergy="animals with fur"`},
		{"I'm lactose intolerant.", `intolerance="lactose"`},
		{"I used to be a vegetarian but now I'm vegan.", `end diet="vegetarian"; diet="vegan"`},
		{"I don't eat pork.", `dietary_restriction="pork"`},
		{"I don't eat out much.", ``},
		{"I only eat kosher.", `dietary_restriction="kosher"`},
		{"Always aisle, never middle.", `seat_preference="aisle"`},
		{"I prefer the window seat.", `seat_preference="window"`},
		{"I like my coffee black.", `preference.coffee="black"`},
		{"I prefer summer over winter.", `preference="summer over winter"`},
		{"My favorite colour is navy blue.", `favorite.color="navy blue"`},
		{"My favorite food is macaroni and cheese.", `favorite.food="macaroni and cheese"`},
		{"yellow is my favorite color.", `favorite.color="yellow"`},
		{"Please remember that I'm allergic to kiwi.", `allergy="kiwi"`},
		{"Remember that my flight leaves at nine.", `note: my flight leaves at nine`},
		{"Can you remember that I take insulin every morning?", `safety_note="I take insulin every morning"`},
		{"Don't forget that my sister visits in June.", `note: my sister visits in June`},
		{"Don't forget to call Bob.", ``},
		{"Forget my phone number.", `retract phone=`},
		{"Forget that I'm vegan.", `retract diet="vegan"`},
		{"My daughter is allergic to peanuts.", `note: My daughter is allergic to peanuts`},
	} {
		if got := briefs(t, extract(t, user(c.says))); got != c.want {
			t.Errorf("%q\n got %s\nwant %s", c.says, got, c.want)
		}
	}
}

func TestNamesAndAllergiesAreReadInOtherLanguages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ says, want string }{
		{"Je suis allergique aux arachides.", `allergy="arachides"`},
		{"Je m'appelle Sophie, et je suis allergique aux arachides et aux noix.", `name="Sophie"`},
		{"Ich bin allergisch gegen Nüsse und Milch.", `allergy="nüsse"; allergy="milch"`},
		{"Ich bin gegen Katzen allergisch.", `allergy="katzen"`},
		{"Soy alérgica a los cacahuetes.", `allergy="cacahuetes"`},
		{"No soy alérgica a los cacahuetes.", ``},
		{"Je ne suis pas allergique aux noix.", ``},
		{"Sono allergico alle noci.", `allergy="noci"`},
		{"hei nama saya larry dan saya seorang koki.", `name="larry"`},
		{"Saya alergi terhadap air.", `allergy="air"`},
		{"我对花生过敏。", `allergy="花生"`},
		{"我对花生不过敏。", ``},
		{"嘿，我叫拉里，我是厨师。", `name="拉里"`},
		{"私は水にアレルギーがあります。", `allergy="水"`},
		{"나는 물 알레르기가 있어.", `allergy="물"`},
	} {
		if got := briefs(t, extract(t, user(c.says))); got != c.want {
			t.Errorf("%q\n got %s\nwant %s", c.says, got, c.want)
		}
	}
}

func TestWhatIsNotStatedGivesNoFact(t *testing.T) {
	t.Parallel()
	for _, says := range []string{
		"Am I allergic to peanuts?",
		"Do I live in Berlin?",
		"If I lived in Berlin, I'd be happy.",
		"If you must know, I am vegan, I guess.",
		"Imagine I'm a doctor.",
		"She said I'm allergic to cats.",
		"He told me, \"I'm allergic to cats.\"",
		"My sister is vegan.",
		"My mother lives in Oslo.",
		"I'm not a doctor.",
		"I'm not sure if I'm allergic to cats.",
		"I might be allergic to cats.",
		"I think I'm allergic to cats.",
		"I want to be a teacher.",
		"I would be a teacher.",
		"I'm allergic to being told what to do.",
		"I'm vegan, just kidding.",
		"Write a cover letter: I'm a software engineer with ten years of experience.",
		"Translate this sentence into French. I live in Oslo.",
		"I want you to act as a doctor. I am a nurse.",
		"> I'm allergic to cats.",
		"Bob: I'm allergic to cats.",
		"I live in the moment.",
		"I live in fear.",
		"I'm 5 minutes away.",
		"I'm 30 minutes late.",
		"My favorite part is the ending.",
		"I love my new name.",
		"My name is on the list.",
		"Call me later.",
		"Call me when you're done.",
		"I prefer that you answer briefly.",
		"I'm single-handedly doing it.",
		"I'm engaged in many projects.",
		"I don't remember that I was ever allergic to it.",
		"Do you remember that I live in Oslo?",
		"I moved to the next level.",
		"I work for myself.",
		"I live in Oslo in the summer.",
		"My character is a nurse.",
		"What does this mean: I'm allergic to nuts.",
		"Here is a sentence:\nI live in Oslo.",
		"Fix the grammar: I am vegan.",
		"I'm 30 years into my mortgage.",
		"I'm 12 weeks pregnant.",
		"I'm 10 over par.",
		"I'm engaged with the community.",
		"My allergies are terrible.",
		"My allergies are acting up.",
		"I'm allergic to Mondays.",
		"I work as a team.",
		"I just retired the old server.",
		"How do you say I'm vegan in French",
		"I'm the manager's assistant's friend.",
		"Remember, you're worth it.",
		"Just remember that you can do it.",
		"I prefer comparing methods to understand which is better.",
	} {
		if got := briefs(t, extract(t, user(says))); got != "" {
			t.Errorf("%q gives %s", says, got)
		}
	}
}

func TestACorrectionTakesTheOldValuesPlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		turns []string
		want  string
	}{
		{[]string{"My email is a@x.com.", "Sorry, it's b@x.com."}, `email="a@x.com"; email="b@x.com" from 2026-04-16 09:30`},
		{[]string{"I live in Bergen. No, I meant Oslo."}, `home_city="Bergen"; home_city="Oslo" from 2026-04-16 09:30`},
		{[]string{"I'm allergic to peanuts.", "No, I meant walnuts."},
			`allergy="peanut"; retract allergy="peanut"; allergy="walnut" from 2026-04-16 09:30`},
		{[]string{"I live in Bergen.", "What's the weather?", "No, it's Oslo."}, `home_city="Bergen"`},
	} {
		if got := briefs(t, extract(t, user(c.turns...))); got != c.want {
			t.Errorf("%q\n got %s\nwant %s", c.turns, got, c.want)
		}
	}
}

// TestAStatedStartHoldsAlsoWhenItIsSaid: "I moved to Oslo in March" says where
// the user lives today, whatever was said of the time between.
func TestAStatedStartHoldsAlsoWhenItIsSaid(t *testing.T) {
	t.Parallel()
	cs := extract(t, user("I moved to Oslo in March."))
	if len(cs) != 2 || cs[0].Valid.From.IsZero() || !cs[1].Valid.From.IsZero() || string(cs[0].Value) != string(cs[1].Value) {
		t.Errorf("proposed %+v", cs)
	}
	if cs := extract(t, user("I've been allergic to nuts since 2019.")); len(cs) != 1 {
		t.Errorf("of a key with many values %d are proposed", len(cs))
	}
}
