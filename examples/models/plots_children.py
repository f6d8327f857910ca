# Stories of children: lost things, fears, presents, quarrels, first attempts.
from story_grammar import plot, rows

COLOR = rows("color", "red", "blue", "green", "yellow", "white", "purple", "orange", "golden")
TREATS = rows("treat", "a piece of bread", "half of an apple", "a handful of nuts", "a slice of cheese",
              "some sweet berries", "a crumb of cake")
RELATIVES = rows("relative relpro", "mother / her", "grandmother / her", "father / him", "grandfather / him",
                 "aunt / her", "uncle / him")

plot("lost treasure", "child", """
{opening} Of all {his} things, {he} loved {his} {item} the most. [It was a present from {his}
{relative}.|{His} {relative} had given it to {him}.] The {short} {joy}, and {hero} took it everywhere.

{day} {hero} was playing near the {high} when {loss}. Now the {short} was {where}. {Hero} tried to get it
back, but {try}. [{He} sat down and began to cry.|{He} did not know what to do.|"Oh no," {he} said, "my
{short} is gone!"]

[Just then|At that moment], a little {helper} came by. "Why are you so sad?" asked the {helper}. {Hero} told
the {helper} everything and shared {treat} with the little animal. "You are kind to me, so I will help you,"
said the {helper}. [In no time|Before long], the {helper} {fetch}.

"Thank you!" cried {hero}. {He} held the {short} close and ran home to tell {his} {relative}. [From that day
on|After that], {he} took good care of the {short}, and every [evening|morning] {he} left {treat} for the
{helper}.
""",
     rows("item short joy",
          "silver bell / bell / rang as clear as a bird",
          "wooden boat / boat / floated like a duck",
          "{color} kite / kite / flew higher than the rooftops",
          "brass compass / compass / always pointed north",
          "{color} marble / marble / shone like a star",
          "tin whistle / whistle / could be heard from far away",
          "{color} hat / hat / was warm and soft",
          "little drum / drum / sounded like far thunder",
          "glass bird / bird / sparkled in the sun",
          "{color} ball / ball / bounced as high as a house"),
     rows("loss where try helper fetch",
          "a crow swooped down and snatched it / in a nest at the top of a tall pine"
          " / the trunk was too smooth to climb / squirrel / ran up the tree and came back with the {short}",
          "{he} stumbled and it slid down between two rocks / deep in a dark crack / {his} arm was too short"
          " / mouse / crept into the crack and pushed the {short} out",
          "{he} tripped on the bridge and it fell into the {stream} / at the bottom of a deep pool"
          " / the water was far too cold / otter / dived down and came up with the {short}",
          "it rolled away and vanished into a hole / at the end of a long, dark tunnel"
          " / the hole was much too narrow / rabbit / hopped into the hole and brought the {short} out again",
          "the wind took it over the fence / under the floor of an old barn"
          " / the gap under the boards was too low / hedgehog"
          " / crawled under the boards and brought the {short} back",
          "a big wave carried it off / on a rock in the middle of the {water} / {he} could not swim that far"
          " / duck / swam out to the rock and brought the {short} back"), RELATIVES, COLOR, TREATS)

plot("the dark path", "child", """
{opening} {Hero} was not afraid of dogs or thunder, but {he} was very afraid of {fear}.

{day} {his} {who_ill} fell ill. "{Hero}," said {his} father, "please go to {place} and bring {cure}. I must
stay here." To get there, {hero} had to go {through}. {His} heart beat fast. {He} took three steps and
stopped. "I cannot do it," {he} whispered.

Then a voice above {him} said, "{hoot}" It was {a bird}. "I will tell you a secret," said the {birdshort}.
"{advice}" {Hero} tried it. {result} Step by step {he} went on, and soon {he} stood before {place}.

{He} came home with {cure}, and {his} {who_ill} [was well again after two days|felt better by the next
evening|slept well that night]. "Were you not afraid?" asked {his} father. "[A little|Yes, I was]," said
{hero}, "but I went anyway." And {he} was never so afraid of {fear} again.
""",
     rows("fear through hoot advice result",
          "the dark / through the dark {wood} / Do not run! / Sing a song, and the dark will listen."
          " / {He} sang very softly, and the {wood} grew still, as if it listened.",
          "the dark / along the dark path by the {stream} / Wait a little!"
          " / Look up, and you will see the stars walking with you."
          " / {He} looked up, and a thousand stars shone over the path.",
          "high places / over the narrow bridge high above the {stream} / Stand still!"
          " / Do not look down. Look at the place you want to reach."
          " / {He} looked only at the other side, and the bridge did not seem so high.",
          "deep water / across the {stream}, from stone to stone / Not so fast!"
          " / Count the stones, and think only of the next one."
          " / {He} counted aloud, one, two, three, and the water seemed less wild.",
          'the geese / past the meadow of the old geese / Stay calm!'
          ' / Walk slowly and wish them a good evening.'
          ' / "Good evening," said {hero}, and the geese bowed their long necks and let {him} pass.'),
     rows("who_ill", "little brother", "little sister", "grandmother", "mother", "grandfather"),
     rows("place cure", "the doctor's house / a bottle of medicine", "the farm / a jug of warm milk",
          "the beekeeper's hut / a jar of honey", "the herb garden / a bundle of mint",
          "the baker's house / a loaf of fresh bread"),
     rows("bird birdshort", "old owl / owl", "gray owl / owl", "wise raven / raven", "old crow / crow",
          "white dove / dove"))

plot("the present", "child", """
{opening} Soon it would be the birthday of {his} {relative}, and {hero} wanted to give {relpro} {wish}. But
{he} had no money at all.

{day} {he} went to the {master} and asked, "May I work for you?" "Yes," said the {master}, "if you {work}, I
will pay you three coins." {Hero} worked all day until {his} [hands were sore|arms were tired], and in the
evening {he} held three shining coins.

On the way to the shop, {hero} saw {a poor} [sitting by the road|standing near the {square}]. "{sorrow},"
said the {poor}. {Hero} thought of the {wishshort}. Then {he} gave the three coins to the {poor} and walked
home slowly. Now {he} had nothing for the birthday, so {he} {made}.

On the birthday, {his} {relative} looked at {gift} for a long time. "This is the [best|finest] present of
all," said {his} {relative}, "because you made it [yourself|with your own hands]." Then there was a knock at
the door. The {poor} stood outside with {thanks}. So they [sang and ate together|had a little feast], and
nobody missed the {wishshort}.
""",
     rows("wish wishshort", "a warm scarf / scarf", "a pair of new gloves / gloves",
          "a silver spoon / spoon", "a book of songs / book", "a blue teapot / teapot",
          "a soft pillow / pillow"),
     rows("master work", "miller / carry my sacks", "baker / stack my firewood", "fisherman / mend my nets",
          "farmer / clean my barn", "weaver / wind my wool", "innkeeper / sweep my yard"),
     rows("poor sorrow thanks",
          "old woman / I lost my purse, and I cannot buy bread / a warm apple pie",
          "traveler / My shoe is torn, and the road is so long / a bag of sweet figs from far away",
          "fiddler / My last string broke, and now I cannot play / a new string on the fiddle",
          "young shepherd / My lamb is hungry, and I have no milk / a basket of soft cheese"),
     rows("made gift",
          "picked leaves and wove them into a crown / the crown of leaves",
          "painted a picture of their house / the picture",
          "carved a small bird out of wood / the wooden bird",
          "wrote a poem and drew stars around it / the poem",
          "made a lantern out of paper / the paper lantern"), RELATIVES)

plot("the broken thing", "child", """
{opening} In the house stood {a item} that had belonged to {his} {relative}. "Please do not touch it," {his}
mother always said.

{day} {hero} was alone at home. [It was raining, and {he} was bored.|There was nobody to play with.] {He}
{deed}, and [crash|bang]! The {short} fell down and broke into {pieces} pieces. {Hero} turned pale. Quickly
{he} hid the pieces {hiding}.

When {his} mother came home, she asked, "Where is the {short}?" "Maybe {blame}," said {hero}. But {his}
words felt heavy as stones. {He} could not eat [{his} supper|{his} soup], and at night {he} could not sleep.

At last {he} went to {his} mother. "It was not {blamed}," {he} said. "I broke the {short}, and I hid it
{hiding}. I am so sorry." {His} mother was quiet for a moment. "I am sad about the {short}," she said, "but
I am glad that you told the truth." The next day they {mend} together, and {hero} slept well again. There
were thin lines on the {short} now, and whenever {hero} saw them, {he} remembered to tell the truth.
""",
     rows("item short", "{color} vase / vase", "white jug with {color} flowers / jug",
          "{color} teapot / teapot", "large {color} bowl / bowl", "fine {color} plate / plate"),
     rows("deed", "threw {his} ball against the wall", "climbed on a chair to reach the honey",
          "danced around the table", "chased a fly with {his} hat", "tried to juggle three apples"),
     rows("pieces", "two", "three", "four", "five", "seven"),
     rows("hiding", "under {his} bed", "behind the stove", "in the flour bin", "under the stairs",
          "in an old boot"),
     rows("blame blamed", "the cat took it / the cat", "the wind blew it away / the wind",
          "the dog knocked it over / the dog", "a thief came in / a thief"),
     rows("mend", "glued the pieces", "put the pieces together with glue",
          "fitted the pieces and glued them"), RELATIVES, COLOR)

plot("the seed", "child", """
{opening} {day} {his} {relative} gave {him} {a seed}. "Plant it and be patient," said {his} {relative}.
"Something wonderful will come of it."

{Hero} planted the {seed} behind the house and watered it every day. {friend}, who lived next door, planted
one too. Soon {friend} had a green sprout, but in {hero}'s garden bed there was only brown earth. [One week
passed, then two.|A week went by, and then another.] "Throw it away," said {friend}. "{Nothing}"

{Hero} felt [sad|like giving up], but {he} did not stop. {He} {care}. Then one [morning|evening], after a
warm rain, {he} saw a tiny green tip. It grew and grew until it was {grown}. But {trouble}, and {friend}'s
plant {fate}. {friend} was very sad.

"Do not be sad," said {hero}. "{Share}" So they {together}, and they saved one {seed} for the next spring.
""",
     rows("seed grown share together",
          "pumpkin seed / the largest pumpkin in the whole valley / My pumpkin is big enough for two."
          " / cooked a great pot of pumpkin soup",
          "sunflower seed / a sunflower as high as the roof / My sunflower has seeds for both of us."
          " / shared the seeds and fed the birds",
          "bean / a vine with a hundred beans / I have more beans than I can eat."
          " / sat on the steps and shelled the beans together",
          "apple seed / a small tree with white blossoms / This tree can belong to both of us."
          " / sat under the tree and listened to the bees",
          "melon seed / the sweetest melon anyone had seen / A melon tastes better when two eat it."
          " / cut the melon and ate it in the shade"),
     rows("nothing", "Nothing will ever grow there.", "A bird must have eaten it.", "It must be a bad one."),
     rows("care",
          "pulled the weeds and sang to the earth",
          "carried water in {his} hat when the sun was hot",
          "put a little fence around the bed",
          "loosened the earth with a spoon"),
     rows("trouble fate",
          "one night a storm came / was broken by the wind",
          "one night the snails came / was eaten to the ground",
          "a goat got loose / was gone in one bite"), RELATIVES,
     seasons="spring")

plot("catching the moon", "child", """
{opening} {Hero} loved the moon. "If only I could have it," {he} thought. "{Why}"

{day} {he} made a plan. That night, when the moon was round and bright, {he} climbed {climb} and stretched
out {his} hand. But the moon was still far away. Then {he} {second}, but that did not help either. [The moon
only smiled.|The moon stayed where it was.]

"What are you doing there?" asked {his} {relative}. "I want to catch the moon," said {hero}. "{Why}" {His}
{relative} did not laugh. "Bring me {a vessel}," said {his} {relative}. They filled the {vessel} with water
and set it {spot}. {Hero} looked into the {vessel}, and there was the moon, round and bright.

"Now it is mine!" cried {hero}. "It is yours," said {his} {relative}, "and it belongs to everyone else who
looks." {Hero} [thought about this|was glad]. Every clear night after that, {he} set the {vessel} {spot},
and {ending}.
""",
     rows("why ending",
          "It would light my room at night. / the moon shone on the wall of {his} room",
          "I would show it to all my friends. / {his} friends came to look at the moon with {him}",
          "Then it would never be lonely again."
          " / {he} said good night to the moon, so that it was not lonely",
          "I would hang it above my bed. / {he} fell asleep with the moon beside {his} bed"),
     rows("climb", "the highest tree", "to the top of the {high}", "on the roof of the house",
          "a long ladder"),
     rows("second", "threw a rope at it", "jumped as high as {he} could", "tried with a fishing rod",
          "held up a net on a long stick"),
     rows("vessel", "bucket", "bowl", "old kettle", "washtub", "iron pot"),
     rows("spot", "under the window", "on the steps", "beside the bed", "on the balcony"), RELATIVES)

plot("lost in the fog", "child", """
{opening} Every [week|Monday|Saturday] {hero} carried {goods} to {his} {relative}, who lived on the other
side of the {high}.

{day} {hero} set out with {goods} as usual. Halfway there, a thick fog came down. {He} could not see the
path or even {his} own feet. {He} turned left, and {he} turned right, and then {he} was lost. "{call}" {he}
called, but nobody answered.

{Hero} [sat down on a stone|stood still] and tried to think. "When I cannot see, I can still {sense}," {he}
said to {himself}. {He} closed {his} eyes. And there it was: {clue}. {Hero} followed it slowly, step by
step, around rocks and under wet branches, and it grew stronger and stronger.

At last a door opened, and there stood {his} {relative}. "How did you find the way in this fog?" "{answer},"
said {hero}, and {he} put the {goods_the} on the table. They [sat by the fire|drank hot tea] until the fog
was gone, and since that day {his} {relative} {habit} whenever the fog comes down.
""",
     rows("goods goods_the", "a basket of eggs / eggs", "fresh bread / bread", "a jar of soup / soup",
          "clean sheets / sheets", "a pot of jam / jam", "a bag of flour / flour"),
     rows("sense clue answer habit",
          "hear / a bell was ringing, far away / I followed the sound of your bell / rings the bell",
          "hear / somebody was playing a fiddle, far away / I followed your fiddle / plays the fiddle",
          "hear / a rooster was crowing, far away / I followed the voice of your rooster"
          " / lets the rooster out",
          "smell / there was a faint smell of smoke from a chimney / I followed the smell of your fire"
          " / makes a big fire",
          "smell / there was a faint smell of apple pie / I followed the smell of your pie"
          " / bakes an apple pie",
          "smell / there was a faint smell of roses / I followed the smell of your roses"
          " / opens the garden gate"),
     rows("call", "Hello!", "Is anybody there?", "Help!", "Can anyone hear me?"), RELATIVES,
     seasons="spring summer autumn")

plot("the shy player", "child", """
{opening} {Hero} could play the {instrument} better than anyone, but nobody knew it. {He} was shy and played
only {secret}.

{day} there was great excitement. In three days there would be a festival at the {square}, but {trouble}.
"What is a festival without music?" the people asked. {Hero} wanted to help. But when {he} thought of all
those eyes, {his} {knees}.

{His} friend {friend} had an idea. "When you play," said {friend}, "{idea}." {Hero} promised to try. On the
evening of the festival, {he} stepped up with {his} {instrument}. [It was very quiet.|Everybody turned to
look.] {Hero} took a deep breath. {Then} The first notes were thin, but soon the music {music}.

The people clapped and [danced|sang] until the stars came out. "{Praise}" said {friend}. Since then {hero}
still likes to play {secret}, but at every festival {he} brings {his} {instrument} to the {square}.
""",
     rows("instrument music", "flute / rose like a lark", "fiddle / danced over the roofs",
          "harp / fell like silver rain", "accordion / made every foot tap",
          "drum / rolled like happy thunder", "trumpet / shone like gold"),
     rows("secret", "in the barn, for the cows", "on the {high}, for the wind",
          "at the {water}, for the fish", "in the attic, for the mice", "in the {wood}, for the birds"),
     rows("trouble", "the old musician had a cold", "the band was stuck behind a broken bridge",
          "the singer had lost her voice", "the musicians had missed the ferry"),
     rows("knees", "knees began to shake", "hands turned cold", "mouth became dry", "face grew hot"),
     rows("idea then",
          "close your eyes and think of the place where you like to play / {He} closed {his} eyes.",
          "look only at me, and play for me alone / {He} looked only at {friend}.",
          "imagine that all the people are sheep / {He} imagined a hundred sheep, and {he} smiled.",
          "wear my big hat, and you will not see the people / {He} pulled the big hat over {his} eyes."),
     rows("praise", "I knew you could do it!", "That was beautiful!", "Nobody will forget this evening!"))

plot("building", "child", """
{opening} {day} {hero} and {his} friend {friend} decided to build {a item}. They [gathered wood and
rope|took old boards and a bag of nails] and worked until noon.

"It is ready!" cried {hero}. But when they tried it, {fail}. {friend} [kicked a stone|threw the hammer into
the grass]. "We will never make a good {short}," {friend} said, and went home. {Hero} sat alone beside
{wreck} and felt [sad|tired].

An old {master} came along the road and stopped. "{Tip}," said the {master}. "Everything I ever built fell
apart the first time." {Hero} thanked the {master} and ran to {friend}'s house. "Come back!" {he} called. "I
know what to do!"

So they started again. This time they {fix}, and they did not hurry. When the sun went down, {success}.
{friend} laughed out loud. "I am sorry that I gave up," said {friend}. "You came back," said {hero}, "and
that is what counts." They painted {two} on the {short}, one for each of them.
""",
     rows("item short fail wreck tip fix success",
          "raft / raft / it turned over and they fell into the {water} / the wet boards"
          " / A raft must be wide to be steady / made it twice as wide"
          " / the raft carried them both across the {water}",
          "tree house / tree house / the floor broke and fell to the ground / the broken boards"
          " / A floor needs strong beams to rest on / put two strong beams under the floor"
          " / they sat high up in the tree house and waved to the birds",
          "kite / kite / it spun around and crashed into a bush / the torn paper"
          " / A kite needs a long tail to fly straight / tied on a long tail of cloth"
          " / the kite stood high above the {high}",
          "bridge over the {stream} / bridge / it cracked in the middle / the broken planks"
          " / A bridge needs a post in the middle / set a thick post in the middle"
          " / the bridge was so strong that a cow walked over it",
          "cart / cart / both wheels came off and it rolled into a ditch / the broken cart"
          " / A wheel needs a pin to hold it / put a pin through every wheel"
          " / the cart ran down the {high} as fast as the wind",
          "little windmill / windmill / the wings did not turn / the silent windmill"
          " / The wings must lean a little to catch the wind / set the wings at a slant"
          " / the windmill turned and hummed in the evening wind"),
     rows("master", "carpenter", "sailor", "shepherd", "blacksmith", "farmer"),
     rows("two", "two stars", "two fish", "two suns", "two birds", "two hearts"),
     seasons="spring summer autumn")

plot("the quarrel", "child", """
{opening} {Hero}'s best friend was {friend}, who lived just across the road. They shared everything, even {a
item} that they had found [in the attic|on the shore|at the fair].

{day} they both wanted to {use} at the same time. "It is mine!" shouted {hero}. "No, it is mine!" shouted
{friend}. They pulled and pulled, until {rip}. "This is your fault," they both said, and each of them went
home angry.

The next day, {hero} {alone}, but it was no fun alone. {He} looked out of the window and saw {friend}
{lonely}. {Hero} took {his} {tool} and the broken {short} and crossed the road. "I am sorry," said {hero}.
"I am sorry too," said {friend}, "and I miss you."

They sat down together and mended the {short} [until it was as good as new|as well as they could]. Now
{hero} has it on even days and {friend} has it on odd days. But most days they {use} together, because that
is more fun.
""",
     rows("item short use rip tool",
          "{color} kite / kite / fly the kite / the paper tore in two / pot of glue",
          "wooden sword / sword / play with the sword / the blade broke off / hammer",
          "{color} wagon / wagon / ride in the wagon / the handle came off / hammer",
          "puppet with {a color} coat / puppet / play with the puppet / its arm came off / needle and thread",
          "big picture book / book / read the book / the cover came off / pot of glue",
          "{color} sailboat / sailboat / sail the sailboat / the mast broke / pot of glue",
          "hobby horse / hobby horse / ride the hobby horse / the wooden head came off / hammer"),
     rows("alone", "played with {his} marbles", "built a tower of blocks", "drew a picture",
          "threw stones into the {water}", "played hide and seek"),
     rows("lonely", "sitting alone on the steps", "kicking a stone in the yard", "standing at the fence",
          "leaning on the gate"), COLOR)
