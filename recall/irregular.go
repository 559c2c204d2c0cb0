package recall

// englishIrregular lists English words whose forms no stemmer brings together:
// the base form, then the others. A question says "buy" where the answer says
// "bought". Forms that are more often another word (saw as a tool does not
// matter, "bore", "wound" and "lay" do) are left out.
const englishIrregular = `arise arose arisen
awake awoke awoken
become became
begin began begun
bend bent
bite bitten
bleed bled
blow blew blown
break broke broken
breed bred
bring brought
build built
burn burnt
buy bought
catch caught
choose chose chosen
come came
creep crept
deal dealt
dig dug
draw drew drawn
dream dreamt
drink drank drunk
drive drove driven
eat ate eaten
fall fell fallen
feed fed
feel felt
fight fought
find found
fly flew flown
forbid forbade forbidden
forget forgot forgotten
forgive forgave forgiven
freeze froze frozen
get got gotten
give gave given
go went gone goes
grow grew grown
hang hung
hear heard
hide hid hidden
hold held
keep kept
know knew known
lead led
learn learnt
leave left
lend lent
light lit
lose lost
make made
mean meant
meet met
pay paid
ride rode ridden
ring rang
rise risen
run ran
say said
see saw seen
seek sought
sell sold
send sent
shake shook shaken
shine shone
shoot shot
show shown
shrink shrank
sing sang sung
sink sank
sit sat
sleep slept
slide slid
speak spoke spoken
spend spent
spin spun
spring sprang sprung
stand stood
steal stole stolen
stick stuck
sting stung
strike struck
swear swore sworn
sweep swept
swim swam swum
swing swung
take took taken
teach taught
tear tore torn
tell told
think thought
throw threw thrown
understand understood
wake woke woken
wear wore worn
weave wove woven
weep wept
win won
withdraw withdrew withdrawn
write wrote written
child children
foot feet
tooth teeth
goose geese
mouse mice
man men
woman women
person people
wife wives
knife knives
life lives
leaf leaves
half halves
shelf shelves
wolf wolves
mom mum mother mommy mama
dad father daddy
grandma grandmother granny
grandpa grandfather
kid kiddo
bike bicycle
photo photograph pic picture
tv television
movie film
color colour
favorite favourite
theater theatre
center centre
grey gray
program programme
organize organise
realize realise
recognize recognise
apologize apologise`
