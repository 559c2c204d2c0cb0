package rules

// The closed lists that slots read. What is not in a list is not recognised:
// that is the price of precision. Multi-word entries are compared word by word.

// countries, regions and cities make a place certain where a capital alone
// could be anything ("I moved to Notion").
var places = set(`afghanistan|albania|algeria|andorra|angola|argentina|armenia|australia|austria|azerbaijan|bahamas|bahrain|bangladesh
barbados|belarus|belgium|belize|benin|bhutan|bolivia|bosnia|botswana|brazil|brunei|bulgaria|burundi|cambodia|cameroon|canada|chile
china|colombia|congo|costa rica|croatia|cuba|cyprus|czechia|czech republic|denmark|dominican republic|ecuador|egypt|el salvador
england|eritrea|estonia|ethiopia|fiji|finland|france|gabon|gambia|germany|ghana|greece|greenland|guatemala|guinea|guyana|haiti
honduras|hong kong|hungary|iceland|india|indonesia|iran|iraq|ireland|israel|italy|ivory coast|jamaica|japan|jordan|kazakhstan|kenya
kosovo|kuwait|kyrgyzstan|laos|latvia|lebanon|lesotho|liberia|libya|liechtenstein|lithuania|luxembourg|macedonia|madagascar|malawi
malaysia|maldives|mali|malta|mauritania|mauritius|mexico|moldova|monaco|mongolia|montenegro|morocco|mozambique|myanmar|namibia
nepal|netherlands|new zealand|nicaragua|niger|nigeria|north korea|northern ireland|norway|oman|pakistan|palestine|panama|paraguay|peru
philippines|poland|portugal|puerto rico|qatar|romania|russia|rwanda|saudi arabia|scotland|senegal|serbia|singapore|slovakia|slovenia
somalia|south africa|south korea|spain|sri lanka|sudan|sweden|switzerland|syria|taiwan|tajikistan|tanzania|thailand|togo|tunisia
turkey|turkmenistan|uganda|ukraine|united arab emirates|united kingdom|united states|uk|uae|us|usa|u.s|uruguay|uzbekistan|venezuela
vietnam|wales|yemen|zambia|zimbabwe
alabama|alaska|arizona|arkansas|california|colorado|connecticut|delaware|florida|georgia|hawaii|idaho|illinois|indiana|iowa|kansas
kentucky|louisiana|maine|maryland|massachusetts|michigan|minnesota|mississippi|missouri|montana|nebraska|nevada|new hampshire
new jersey|new mexico|new york|north carolina|north dakota|ohio|oklahoma|oregon|pennsylvania|rhode island|south carolina
south dakota|tennessee|texas|utah|vermont|virginia|washington|west virginia|wisconsin|wyoming|ontario|quebec|british columbia
alberta|manitoba|saskatchewan|nova scotia|new south wales|queensland|tasmania|bavaria|catalonia|andalusia|tuscany|sicily|brittany
normandy|provence|flanders|punjab|kerala|gujarat|hokkaido|okinawa|bali|java|oahu|maui
aachen|aberdeen|abu dhabi|accra|addis ababa|adelaide|albuquerque|alexandria|algiers|almaty|amman|amsterdam|anchorage|ankara|antwerp
athens|atlanta|auckland|austin|baghdad|bakersfield|baku|baltimore|bangalore|bangkok|barcelona|basel|beijing|beirut|belfast|belgrade
bengaluru|bergen|berlin|bern|bilbao|birmingham|bogota|bologna|bonn|bordeaux|boston|boulder|brasilia|bratislava|bremen|brighton
brisbane|bristol|brooklyn|bruges|brussels|bucharest|budapest|buenos aires|buffalo|busan|cairo|calgary|cambridge|canberra|cancun
cape town|caracas|cardiff|casablanca|charlotte|chennai|chicago|christchurch|cincinnati|cleveland|cologne|copenhagen|cordoba|cork
dakar|dallas|damascus|darwin|delhi|denver|detroit|dhaka|doha|dortmund|dresden|dubai|dublin|durban|dusseldorf|düsseldorf|edinburgh|edmonton
eindhoven|el paso|essen|florence|fort worth|frankfurt|fresno|fukuoka|galway|gdansk|geneva|genoa|ghent|glasgow|gothenburg|granada
graz|guadalajara|guangzhou|halifax|hamburg|hanoi|hanover|harlem|havana|heidelberg|helsinki|hiroshima|ho chi minh city|hobart
honolulu|houston|hyderabad|indianapolis|innsbruck|istanbul|izmir|jacksonville|jakarta|jerusalem|johannesburg|kabul|kampala
kansas city|karachi|kathmandu|kharkiv|kiel|kigali|kingston|kobe|kolkata|krakow|kuala lumpur|kyiv|kiev|kyoto|la paz|lagos|lahore
las vegas|lausanne|leeds|leicester|leipzig|lille|lima|lisbon|liverpool|ljubljana|london|long beach|los angeles|louisville|luanda
lucerne|lyon|madison|madrid|malaga|malmo|malmö|managua|manchester|manhattan|manila|mannheim|marrakech|marseille|medellin|melbourne
memphis|mexico city|miami|milan|milwaukee|minneapolis|minsk|monterrey|montevideo|montpellier|montreal|moscow|mumbai|munich|münchen
nagoya|nairobi|nantes|naples|nashville|new delhi|new orleans|new york city|nyc|newcastle|nice|nicosia|nottingham|nuremberg|oakland
oklahoma city|omaha|orlando|osaka|oslo|ottawa|oxford|palermo|panama city|paris|perth|philadelphia|phoenix|pittsburgh|plymouth|porto
portland|prague|pretoria|pune|pyongyang|quito|raleigh|reno|reykjavik|richmond|riga|rio de janeiro|rome|rotterdam|sacramento|saigon
salt lake city|salzburg|san antonio|san diego|san francisco|san jose|san juan|santa barbara|santa cruz|santa fe|santiago|sao paulo
são paulo|sapporo|sarajevo|savannah|seattle|seoul|seville|shanghai|sheffield|shenzhen|skopje|sofia|southampton|split|st. louis
stavanger|stockholm|strasbourg|stuttgart|surabaya|sydney|taipei|tallinn|tampa|tampere|tashkent|tbilisi|tehran|tel aviv|the hague
tijuana|tokyo|toronto|toulouse|tours|trieste|tromso|tromsø|trondheim|tucson|tulsa|tunis|turin|turku|uppsala|utrecht|valencia|valletta
vancouver|venice|verona|vienna|vilnius|virginia beach|warsaw|washington dc|wellington|winnipeg|wroclaw|yokohama|york|zagreb|zaragoza
zurich|zürich`)

var languages = set(`afrikaans|albanian|amharic|arabic|armenian|azerbaijani|basque|bengali|bosnian|bulgarian|burmese|cantonese|catalan
chinese|croatian|czech|danish|dutch|english|esperanto|estonian|farsi|filipino|finnish|flemish|french|galician|georgian|german|greek
gujarati|hausa|hebrew|hindi|hungarian|icelandic|igbo|indonesian|irish|italian|japanese|javanese|kannada|kazakh|khmer|korean|kurdish
lao|latvian|lithuanian|macedonian|malay|malayalam|maltese|mandarin|marathi|mongolian|nepali|norwegian|pashto|persian|polish
portuguese|punjabi|romanian|russian|serbian|sign language|slovak|slovenian|somali|spanish|swahili|swedish|swiss german|tagalog|tamil
telugu|thai|tibetan|turkish|ukrainian|urdu|uzbek|vietnamese|welsh|yiddish|yoruba|zulu|american sign language|brazilian portuguese`)

var demonyms = set(`american|argentinian|argentine|australian|austrian|belgian|brazilian|british|bulgarian|canadian|chilean|chinese|colombian
croatian|cuban|czech|danish|dutch|egyptian|english|estonian|ethiopian|filipino|finnish|french|german|ghanaian|greek|hungarian
icelandic|indian|indonesian|iranian|iraqi|irish|israeli|italian|jamaican|japanese|jordanian|kenyan|korean|latvian|lebanese
lithuanian|malaysian|mexican|moroccan|nepali|nigerian|norwegian|pakistani|peruvian|polish|portuguese|romanian|russian|scottish
serbian|singaporean|slovak|slovenian|south african|south korean|spanish|swedish|swiss|syrian|taiwanese|thai|tunisian|turkish
ukrainian|venezuelan|vietnamese|welsh`)

// diets exclude one another; dietRules can hold together with any of them.
var (
	diets = set(`vegan|vegetarian|pescatarian|pescetarian|omnivore|flexitarian|carnivore|fruitarian|keto|paleo|ketogenic|raw|raw vegan|low carb
low-carb|mediterranean|plant-based|lacto-vegetarian|ovo-vegetarian`)
	dietRules = set("kosher|halal|gluten free|gluten-free|dairy free|dairy-free|sugar free|sugar-free|nut free|nut-free|organic")
)

// occupations are heads of job titles: "a piano teacher" is one by its last
// word.
var occupations = set(`accountant|actor|actress|actuary|administrator|advisor|agent|analyst|animator|anthropologist|architect|archaeologist
artist|assistant|astronaut|astronomer|attorney|auditor|author|baker|banker|barber|barista|bartender|biologist|blacksmith|blogger
bookkeeper|botanist|broker|builder|butcher|buyer|captain|cardiologist|caregiver|caretaker|carpenter|cashier|chef|chemist
chiropractor|clerk|coach|composer|conductor|construction worker|consultant|contractor|cook|coordinator|copywriter|counselor
counsellor|courier|curator|custodian|dancer|dealer|dentist|dermatologist|designer|detective|developer|dietitian|director|dj|doctor|driver
drummer|economist|editor|educator|electrician|engineer|entrepreneur|farmer|filmmaker|firefighter|fisherman|flight attendant|florist
freelancer|gardener|geologist|goldsmith|guard|guide|gym teacher|hairdresser|hair stylist|historian|housekeeper|illustrator
instructor|insurance salesman|interpreter|inventor|investor|janitor|jeweler|journalist|judge|juggler|justice|lawyer|lecturer|librarian
lifeguard|linguist|locksmith|lumberjack|machinist|magician|manager|marine|marketer|mason|massage therapist|mathematician|mechanic
merchant|meteorologist|midwife|miner|model|mover|musician|nanny|neurologist|notary|novelist|nurse|nutritionist|officer|operator
optician|optometrist|painter|paralegal|paramedic|park ranger|pastor|pediatrician|petsitter|pharmacist|philosopher|photographer
physician|physicist|physiotherapist|pianist|pilot|planner|plumber|podcaster|poet|policeman|politician|postman|potter|preacher
priest|producer|professor|programmer|psychiatrist|psychologist|publicist|radiologist|ranger|realtor|receptionist|recruiter|reporter
researcher|sailor|salesman|salesperson|saleswoman|scholar|scientist|sculptor|secretary|security guard|seamstress|server|singer
social worker|sociologist|software engineer|soldier|solicitor|statistician|steward|stewardess|stockbroker|strategist|student|stylist
supervisor|surgeon|surveyor|tailor|tattoo artist|taxi driver|teacher|technician|therapist|translator|treasurer|truck driver|tutor
undertaker|vet|veterinarian|videographer|violinist|waiter|waitress|watchmaker|web developer|welder|wedding planner|writer|youtuber
zookeeper|zoologist|tester|administrator|sysadmin|ecologist|apprentice|intern|professional wrestler|wrestler|bowler|gamer|police officer
bank teller|teller|stuntman|stunt double|farmhand|beautician|cosmetologist|bus driver|tour guide|stay at home mom|stay at home dad
stay-at-home mom|stay-at-home dad|homemaker|housewife|tennis player|basketball player|soccer player|football player|graduate student
phd student|sous chef|product owner|scrum master|headmaster|principal|dean|superintendent|executive|ceo|cto|cfo|founder|journeyman`)

// untitled words before a title mean that it is not the user's job.
var untitled = set(`specifically|aspiring|former|ex|retired|future|would-be|wannabe|amateur|hobby|fake|pretend|recovering|failed|frustrated|good|great|bad
terrible|better|best|big|huge|natural|decent|fast|slow|excellent|fellow|horrible|mediocre|armchair|born|avid|visual|hands-on|poor|careful
lousy|strong|quick|lifelong|life-long|regular|fictional|virtual|hard|super|private|gentle|true|real|keen`)

// relations of one kind hold one person at a time, those of many several.
var (
	relationsOne = set(`wife|husband|spouse|partner|girlfriend|boyfriend|fiance|fiancé|fiancee|fiancée|mother|mom|mum|father|dad`)
	relations    = set(`son|daughter|brother|sister|uncle|aunt|cousin|niece|nephew|grandmother|grandma|grandfather|grandpa|granddaughter|grandson
stepson|stepdaughter|stepbrother|stepsister|sister-in-law|brother-in-law|mother-in-law|father-in-law|twin sister|twin brother`)
	kin = union(relations, relationsOne)
)

var pets = set(`dog|cat|puppy|kitten|parrot|rabbit|bunny|hamster|guinea pig|horse|pony|turtle|tortoise|lizard|snake|gecko|ferret|parakeet
budgie|goldfish|beagle|german shepherd|german shepherd dog|golden retriever|golden retriever puppy|labrador|lab|poodle|pug|bulldog|chihuahua
corgi|husky|dachshund|border collie|collie|terrier|rottweiler|dalmatian|boxer|pet|bird|fish|canary|rat|mouse|chinchilla|hedgehog|pig|goat|beagle dog`)

// kinds maps words for the same relation or kind of pet to the one in the key.
var kinds = map[string]string{
	"mom": "mother", "mum": "mother", "dad": "father", "grandma": "grandmother", "grandpa": "grandfather",
	"fiancé": "fiance", "fiancee": "fiance", "fiancée": "fiance", "twin sister": "sister", "twin brother": "brother",
	"puppy": "dog", "beagle": "dog", "beagle dog": "dog", "german shepherd": "dog", "german shepherd dog": "dog", "golden retriever": "dog",
	"golden retriever puppy": "dog", "labrador": "dog", "lab": "dog", "poodle": "dog", "pug": "dog", "bulldog": "dog", "chihuahua": "dog",
	"corgi": "dog", "husky": "dog", "dachshund": "dog", "border collie": "dog", "collie": "dog", "terrier": "dog", "rottweiler": "dog",
	"dalmatian": "dog", "boxer": "dog", "kitten": "cat", "bunny": "rabbit", "pony": "horse", "goldfish": "fish", "budgie": "bird",
	"parakeet": "bird", "canary": "bird", "parrot": "bird", "tortoise": "turtle", "gecko": "lizard",
}

// notNames begin sentences about something else where a name could stand.
var notNames = set(`monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|june|july|august|september|october
november|december|christmas|easter|halloween|thanksgiving|god|not|the|a|an|on|in|at|to|for|of|and|or|also|actually|just|i|my|it|is
was|too|very|from|with|something|spelled|pronounced|already|still|now|here|there|this|that|hard|long|short|common|unique|and|english
spanish|french|german|american|golden|labrador|german shepherd|siamese|persian|mother's|father's|valentine's|new|irrelevant|mr|mrs|ms|dr
well|unusual|mine|our|your|his|her|their|confidential|private|required|written|based|known|mud|none|sir|madam|so|what|who`)

// drinks and foods are what "I don't drink" and "my ... allergy" are read with.
var drinks = set("alcohol|coffee|tea|soda|milk|beer|wine|caffeine|juice|pop|liquor|soft drinks|energy drinks|cow's milk|tap water|coke|booze")

var allergens = set(`peanut|nut|tree nut|shellfish|fish|seafood|shrimp|crab|lobster|milk|dairy|egg|wheat|gluten|soy|sesame|pollen|dust|dust mite
cat|dog|pet|penicillin|latex|bee|bee sting|wasp|mold|mould|grass|ragweed|nickel|strawberry|kiwi|banana|almond|cashew|walnut|pecan|hazelnut
pistachio|mustard|celery|lupin|mollusc|sulfite|sulfa|ibuprofen|aspirin|codeine|corn|avocado|mango|citrus|chocolate|tomato|garlic|onion
insect|fragrance|perfume|horse|birch|hay|mushroom|coconut|apple|peach|pineapple|red meat|beef|pork|chicken|amoxicillin|iodine|wool`)

var intolerances = set("lactose|gluten|fructose|histamine|alcohol|dairy|caffeine|wheat|sulfite|milk|egg|soy|sorbitol")

// adverbs may stand before a state without changing whether it holds.
// "also", "sometimes", "almost" and "probably" change it.
var adverbs = set(`really|very|severely|highly|deathly|extremely|terribly|badly|seriously|mildly|slightly|still|now|currently|actually|just|recently
happily|newly|quite|strictly|fully|completely|totally|always|unfortunately|definitely|pretty|super|generally|presently
certainly|truly|proudly|finally|officially|life-threateningly|violently|strongly|typically|usually|normally|basically|personally|already`)

func union(sets ...map[string]bool) map[string]bool {
	out := map[string]bool{}
	for _, s := range sets {
		for w := range s {
			out[w] = true
		}
	}
	return out
}
