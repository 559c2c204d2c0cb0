package rules

// A rule says which facts its patterns state. Key may hold a slot in braces;
// take names the slot whose values are stored, one fact for each.
type rule struct {
	key  string
	take string
	op   op
	says []string
	// open lets a preposition follow ("a nurse at a hospital"); otherwise only
	// a time, a closer or the clause's end may.
	open bool
	// whole wants the sentence or a new clause with a subject of its own after
	// it: "I prefer small, quiet hotels" does not end at the comma.
	whole bool
	// loose lets anything follow.
	loose bool
	// timed wants a time: "I've lived in Rome" alone does not say that it is so.
	timed bool
	// inside lets the pattern stand anywhere in a sentence, a question too: it
	// presupposes what it says ("my cat Luna").
	inside bool
	// urgent marks the fact as safety critical beside what its key says.
	urgent bool

	patterns []pattern
}

type op uint8

const (
	assert op = iota
	end
	retract
)

// grammar is what the extractor understands, in English. Rules are tried in
// order; the first that matches a clause wins.
var grammar = compiled([]rule{
	{key: "name", take: "person", says: []string{
		"my first|full|real? name is|'s <person>",
		"i am called <person>",
	}},
	{key: "preferred_name", take: "person", open: false, says: []string{
		"call me <person>",
		"i go by <person>",
		"i prefer to be called <person>",
		"everyone|everybody|people|friends ~ call|calls me <person>",
		"my friends call me <person>",
	}},
	{key: "age", take: "age", open: true, says: []string{
		"i am ~ <age> years|yrs old",
		"i am ~ a|an? <age> year|yr old male|female|man|woman|guy|girl|boy?",
		"i ~ turned <age>",
		"my age is <age>",
	}},
	{key: "age", take: "age", says: []string{"i am ~ <age>", "i am ~ <age> of age", "i am ~ a|an? <age> male|female|man|woman|guy|girl|boy"}},
	{key: "birthday", take: "date", says: []string{
		"my birthday is|'s ~ on|in? <date>",
		"my birthday is coming up on|in? <date>",
		"my birth date is|'s <date>",
		"my date of birth is|'s <date>",
		"i was born on <date>",
	}},
	{key: "anniversary", take: "date", says: []string{
		"my|our wedding? anniversary is|'s ~ coming? up? on|in? <date>",
		"we got married on <date>",
	}},

	{key: "home_city", take: "place", open: true, says: []string{
		"i|we ~ live in <place>",
		"i|we am|are ~ living in <place>",
		"i|we have ~ been living in <place>",
		"i|we am|are ~ based in <place>",
		"i|we ~ reside in <place>",
		"i|we ~ live with my husband|wife|family|parents|boyfriend|girlfriend|partner|kids|children in <place>",
		"my home city|town? is ~ <place>",
	}},
	{key: "home_city", take: "place", open: true, timed: true, says: []string{"i|we have ~ lived in <place>"}},
	{key: "home_city", take: "geo", open: true, says: []string{
		"i|we have? ~ moved here? to|back? to? <geo>",
		"i|we have? ~ relocated to <geo>",
		"i|we have? ~ settled in <geo>",
		"i|we have? ~ moved from <from:geo> to <geo>",
	}},
	{key: "home_city", take: "place", op: end, says: []string{
		"i|we no longer live in <place>",
		"i|we do not live in <place> any? more|anymore?",
		"i|we used to live in <place>",
		"i|we have? ~ moved out of <place>",
		"i|we have? ~ moved away from <place>",
	}},
	{key: "hometown", take: "place", says: []string{
		"i am originally from <place>",
		"i grew up in <place>",
		"i was raised in <place>",
		"my hometown is <place>",
		"i come from <place>",
	}},
	{key: "hometown", take: "geo", says: []string{"i am from <geo>", "my family and i are from <geo>"}},
	{key: "birthplace", take: "place", says: []string{"i was born in <place>", "i was born and raised in <place>"}},
	{key: "nationality", take: "demonym", says: []string{"i am ~ <demonym>", "my nationality is <demonym>"}},

	{key: "spoken_language", take: "languages", says: []string{
		"i can? also? speak|speaks fluent|perfect? <languages>",
		"i am fluent in <languages>",
		"i am ~ bilingual in <languages>",
		"i ~ speak <languages> fluently",
		"i also? know <languages> fluently",
	}},
	{key: "native_language", take: "language", says: []string{
		"my native|first language is|'s <language>",
		"my mother tongue is|'s <language>",
		"i am a native <language> speaker",
	}},

	{key: "occupation", take: "occupation", open: true, says: []string{
		"i am ~ a|an <occupation>",
		"i am ~ <title:occupation>",
		"i have ~ been a|an <occupation>",
		"i am ~ working as a|an <occupation>",
		"i became a|an <occupation>",
		"my job|profession|occupation is ~ a|an? <occupation>",
	}},
	{key: "occupation", take: "job", open: true, says: []string{
		"i ~ work as a|an <job>",
		"i ~ work part|full time as a|an <job>",
		"i ~ work remotely as a|an <job>",
		"i have a job as a|an <job>",
		"i ~ started working|work as a|an <job>",
		"i ~ started a new job as a|an <job>",
		"i ~ got promoted to <job>",
	}},
	{key: "occupation", take: "job", open: true, timed: true, says: []string{"i have ~ worked as a|an <job>"}},
	{key: "occupation", take: "occupation", op: end, open: true, says: []string{
		"i am no longer a|an <occupation>",
		"i am not a|an <occupation> any? more|anymore",
		"i used to be a|an <occupation>",
		"i used to work as a|an <occupation>",
	}},
	{key: "employer", take: "org", open: true, says: []string{
		"i ~ work for|at <org>",
		"i am ~ working for|at <org>",
		"i have ~ been working for|at <org>",
		"i am ~ employed by|at <org>",
		"i ~ started working|work at|for <org>",
		"i ~ started a new? job at|with <org>",
		"i ~ got a new? job at|with <org>",
		"my employer is ~ <org>",
	}},
	{key: "employer", take: "org", open: true, timed: true, says: []string{"i have ~ worked for|at <org>"}},
	{key: "employer", take: "org", op: end, open: true, says: []string{
		"i no longer work for|at <org>",
		"i do not work for|at <org> any? more|anymore",
		"i used to work for|at <org>",
		"i ~ quit my job at|with <org>",
		"i ~ left my job at|with <org>",
	}},
	{key: "employer", op: end, says: []string{
		"i ~ quit my job", "i ~ lost my job", "i ~ got|was laid off", "i ~ got|was fired", "i ~ have? retired",
	}},

	{key: "email", take: "email", says: []string{
		"my new|personal|private|current? email|e-mail address? is|'s ~ <email>",
		"my new|personal|private|current? email|e-mail address? : <email>",
		"you can ~ reach|contact|email me at <email>",
		"reach|contact|email me at <email>",
	}},
	{key: "work_email", take: "email", says: []string{"my work|office|business|company email|e-mail address? is|'s ~ <email>"}},
	{key: "phone", take: "phone", says: []string{
		"my new|personal|private|current? cell|mobile|phone|telephone phone? number? is|'s ~ <phone>",
		"my new|personal|private|current? number is|'s ~ <phone>",
		"you can ~ reach|call|text me at|on <phone>",
		"reach|call|text me at|on <phone>",
	}},
	{key: "work_phone", take: "phone", says: []string{"my work|office|business phone? number is|'s ~ <phone>"}},
	{key: "contact_preference", take: "way", says: []string{
		"i ~ prefer to be contacted by|via|through|on|over <way>",
		"i ~ prefer <way> contact",
		"i ~ prefer being contacted by|via|through <way>",
		"please? ~ contact|reach me by|via|through <way> only?",
		"the best way to reach|contact me is ~ by|via|through? <way>",
		"i ~ prefer <way> over|to <other:way>",
		"i ~ prefer <way> rather|instead than|of <other:way>",
		"my preferred contact method is <way>",
	}},

	{key: "family.{one_relation}", take: "person", open: true, says: []string{
		"my ~ <one_relation> 's name is <person>",
		"my ~ <one_relation> is called|named <person>",
	}},
	{key: "family.{relation}", take: "person", open: true, says: []string{
		"my ~ <relation> 's name is <person>",
		"my ~ <relation> is called|named <person>",
		"i have a|an|one older|younger|little|big|baby? <relation> called|named <person>",
	}},
	{key: "pet.{pet}", take: "person", open: true, says: []string{
		"my ~ <pet> 's name is <person>",
		"my ~ <pet> is called|named <person>",
		"i have|own a|an small|little|new|black|white|pet? <pet> called|named <person>",
		"i have a|an small|little? <pet> who|that i call <person>",
		"i have ~ adopted|got a|an <pet> called|named <person>",
	}},
	{key: "pet.{pet}", take: "person", op: end, says: []string{
		"my <pet> <person> ~ died|passed away?",
		"my <pet> , <person> , ~ died|passed away?",
	}},
	{key: "marital_status", take: "marital", says: []string{"i am ~ <marital>", "i ~ got <marital>"}},
	{key: "marital_status", take: "marital", loose: true, says: []string{"i am ~ <marital> to my|a|an"}},
	{key: "marital_status", take: "marital", op: end, says: []string{
		"i am no longer <marital>", "i am not <marital> any? more|anymore",
	}},

	{key: "allergy", take: "allergens", open: true, says: []string{
		"i am ~ allergic to <allergens>",
		"i am ~ also allergic to <allergens>",
		"i have ~ been allergic to <allergens>",
		"i have an|a ~ severe|bad|serious|mild|strong|life-threatening? allergy to <allergens>",
		"i ~ developed an allergy to <allergens>",
		"my allergies include :? <allergens>",
		"my allergies : <allergens>",
	}},
	{key: "allergy", take: "allergen", open: true, inside: true, says: []string{
		"i have a|an ~ severe|bad|serious|mild|strong|life-threatening|deadly? <allergen> allergy|allergies",
		"i have <allergen> allergies",
		"my allergies are :? <allergen>",
		"i ~ suffer from a|an ~ severe? <allergen> allergy|allergies",
		"my severe|bad|serious? <allergen> allergy",
	}},
	{key: "allergy", take: "allergens", op: end, open: true, says: []string{
		"i am no longer allergic to <allergens>",
		"i am not allergic to <allergens> any? more|anymore",
		"i used to be allergic to <allergens>",
	}},
	{key: "allergy", take: "allergens", op: retract, says: []string{
		"i am not ~ allergic to <allergens>",
		"i was never ~ allergic to <allergens>",
		"i have never been allergic to <allergens>",
		"i do not have an allergy to <allergens>",
	}},
	{key: "allergy", take: "allergen", op: end, says: []string{
		"i have? ~ outgrown|outgrew my <allergen> allergy",
		"my <allergen> allergy is gone",
		"i no longer have a <allergen> allergy",
	}},
	{key: "allergy", take: "allergen", op: retract, says: []string{
		"i do not have a|an|any? <allergen> allergy|allergies",
		"remove|delete|take|drop <allergen> from|off my allergies",
		"remove|delete|take|drop <allergen> from|off my allergy|allergies list",
		"remove|delete|take|drop <allergen> from|off the list of my allergies",
	}},
	{key: "intolerance", take: "intolerance", open: true, says: []string{
		"i am ~ also? <intolerance> intolerant",
		"i am ~ also? intolerant to|of <intolerance>",
		"i have a|an ~ severe|mild|bad? <intolerance> intolerance",
		"my <intolerance> intolerance",
	}},
	{key: "intolerance", take: "intolerance", op: end, says: []string{
		"i am no longer <intolerance> intolerant",
		"i am not <intolerance> intolerant any? more|anymore",
	}},
	{key: "intolerance", take: "intolerance", op: retract, says: []string{"i am not ~ <intolerance> intolerant"}},
	{key: "diet", take: "diet", says: []string{
		"i am ~ a|an? strict|lifelong? <diet>",
		"i have ~ been a|an? strict|lifelong? <diet>",
		"i ~ became a|an? <diet>",
		"i have? ~ gone|went <diet>",
		"i ~ eat a|an? <diet> diet",
		"i am ~ on a <diet> diet",
		"i ~ follow a|an? strict? <diet> diet",
	}},
	{key: "diet", take: "diet", op: end, says: []string{
		"i am no longer a|an? <diet>",
		"i am not a|an? <diet> any? more|anymore",
		"i stopped being a|an? <diet>",
		"i used to be a|an? <diet>",
	}},
	{key: "diet", take: "diet", op: retract, says: []string{"i am not ~ a|an? <diet>", "i was never a|an? <diet>"}},
	{key: "dietary_restriction", take: "diet_rule", says: []string{
		"i ~ only eat <diet_rule> food?", "i ~ eat only <diet_rule> food?", "i ~ keep <diet_rule>", "i am ~ <diet_rule>",
		"i ~ eat <diet_rule>",
	}},
	{key: "dietary_restriction", take: "diet_rule", op: end, says: []string{
		"i no longer keep|eat <diet_rule>", "i am no longer <diet_rule>", "i am not <diet_rule> any? more|anymore",
	}},
	{key: "dietary_restriction", take: "eaten", says: []string{
		"i do not ~ eat <eaten>", "i never eat <eaten>", "i ~ avoid eating <eaten>", "i no longer eat <eaten>",
		"i have stopped eating <eaten>", "i ~ stopped eating <eaten>",
	}},
	{key: "dietary_restriction", take: "eaten", urgent: true, says: []string{"i can not eat <eaten>", "i must not eat <eaten>", "i am not allowed to eat <eaten>"}},
	{key: "dietary_restriction", take: "drink", says: []string{
		"i do not ~ drink <drink>", "i never drink <drink>", "i no longer drink <drink>", "i have ~ stopped drinking <drink>",
		"i can not drink <drink>",
	}},
	{key: "dietary_restriction", take: "eaten", op: end, says: []string{"i eat <eaten> again", "i can eat <eaten> again", "i started eating <eaten> again"}},
	{key: "dietary_restriction", take: "drink", op: end, says: []string{"i drink <drink> again", "i can drink <drink> again", "i started drinking <drink> again"}},

	{key: "seat_preference", take: "seat", says: []string{
		"i ~ prefer an|a|the? <seat> seat|seats?",
		"i ~ prefer to? sit|sitting in|on|at|by the|an|a? <seat> seat|seats?",
		"i ~ want|choose|book|like|take an|a|the <seat> seat|seats?",
		"always an? <seat> , never middle",
		"always an? <seat> , never the|a? middle",
		"my preferred seat is the|an|a? <seat>",
	}},
	{key: "preference.{dish}", take: "how", whole: true, says: []string{
		"i ~ like|take|drink|prefer|want|eat|enjoy my <dish> <how>",
	}},
	{key: "preference", take: "comparison", whole: true, says: []string{
		"i ~ prefer <left> over|to <right>",
		"i ~ prefer <left> rather|instead than|of <right>",
		"i ~ like <left> more|better than <right>",
	}},
	{key: "preference", take: "np", whole: true, says: []string{"i ~ prefer <np:absolute>"}},
	{key: "preference", take: "np", whole: true, op: end, says: []string{"i no longer prefer <np>", "i do not prefer <np> any? more|anymore"}},
	{key: "favorite.{thing}", take: "np", whole: true, says: []string{
		"my current|absolute? favorite|favourite <thing> is|are|'s ~ <np>",
		"my most favorite|favourite <thing> is <np>",
		"favorite|favourite <thing> is <np>",
	}},
	{key: "favorite.{thing}", take: "np", whole: true, says: []string{
		"<np> is|are ~ my current|absolute? favorite|favourite <thing>",
		"<np> is|are ~ my preferred <thing>",
	}},
	{key: "pet.{pet}", take: "person", inside: true, says: []string{"my <pet> <person>", "my <pet> , <person> ,"}},
	{key: "family.{one_relation}", take: "person", inside: true, says: []string{"my <one_relation> <person>", "my <one_relation> , <person> ,"}},
	{key: "family.{relation}", take: "person", inside: true, says: []string{"my <relation> <person>", "my <relation> , <person> ,"}},
	// What others are is no fact about the user, but worth a note when a life
	// may hang on it.
	{says: []string{
		"my ~ <any_kin> is|are ~ allergic to <allergens>",
		"my ~ <any_kin> has|have a|an ~ severe|bad|serious? <allergen> allergy",
	}, open: true},
	{key: "favorite.{thing}", take: "np", whole: true, op: end, says: []string{"<np> is no longer my favorite|favourite <thing>", "my favorite|favourite <thing> is no longer <np>"}},
})

// forgettable are the keys that "forget my ..." takes back.
var forgettable = map[string]string{
	"name": "name", "age": "age", "birthday": "birthday", "anniversary": "anniversary", "email": "email", "e-mail": "email",
	"email address": "email", "e-mail address": "email", "work email": "work_email", "phone": "phone", "phone number": "phone",
	"number": "phone", "mobile number": "phone", "cell number": "phone", "work number": "work_phone", "address": "home_city",
	"home city": "home_city", "city": "home_city", "hometown": "hometown", "nationality": "nationality", "job": "occupation", "occupation": "occupation",
	"employer": "employer", "diet": "diet", "seat preference": "seat_preference", "contact preference": "contact_preference",
	"marital status": "marital_status", "native language": "native_language", "birthplace": "birthplace",
	"where i live": "home_city", "where i work": "employer", "where i come from": "hometown", "how old i am": "age", "when i was born": "birthday",
}

func compiled(rs []rule) []rule {
	for i := range rs {
		for _, s := range rs[i].says {
			rs[i].patterns = append(rs[i].patterns, compile(s))
		}
	}
	return rs
}
