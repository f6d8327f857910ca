# Stories of a whole village: storms, broken bridges, dry wells, dragons, honest finders.
from story_grammar import plot, rows

LIKES = rows("treat", "honey cake", "plum cake", "barley soup", "apple pie", "onion soup", "fresh bread")

plot("the lighthouse", "child", """
{opening} {Hero}'s {relative} was the keeper of the lighthouse there, and every evening they climbed the
{steps} steps together and lit the great lamp.

{day} {his} {relative} {away}, and {hero} stayed behind alone. In the evening a storm rose. The waves beat
against the rocks, and far out {hero} saw {a boat}. It was the boat of {friend}'s father! {Hero} ran up the
{steps} steps to light the lamp, but {broken}.

{He} did not lose a moment. "{Think}," {he} thought. {He} {solve}. {friend} saw it from the village and came
running to help, and together they {keep} until their arms ached.

Out on the dark sea, somebody saw it. Slowly the {boatshort} turned and came around the rocks and into the
harbor. [It was nearly morning.|The storm had passed.] "We were lost until we {noticed}," said {friend}'s
father, and he hugged them both. The next day {his} {relative} repaired the lamp, and {hero} [lit it with a
smile|was allowed to light it alone]. The {keepsake} still hangs beside it, and everyone there knows why.
""",
     rows("relative away",
          "grandfather / went to the doctor in the town",
          "aunt / went to the market in the town",
          "father / sailed to the town to buy oil",
          "grandmother / went to visit an old friend in the town"),
     rows("home", "on a small island", "on a rocky shore", "at the end of a long beach",
          "on a cape above the sea"),
     rows("steps", "ninety", "hundred", "sixty", "eighty"),
     rows("boat boatshort", "small fishing boat / fishing boat", "boat with a torn sail / boat",
          "boat with a broken mast / boat"),
     rows("broken think solve keep noticed keepsake",
          "there was no oil left / If they cannot see a lamp, they can see a fire"
          " / carried wood to the highest rock and lit a fire / fed the fire / saw your fire / burnt torch",
          "the glass was broken and the wind blew out the flame / If they cannot see us, they can hear us"
          " / took the old bell from the wall and rang it / rang the bell / heard your bell / bell",
          "the wick was wet and would not burn / If they cannot see us, they can hear us"
          " / took the big drum from the wall and beat it / beat the drum / heard your drum / drum",
          "the lamp only smoked and went out / Many small lights make one big light"
          " / hung all the lanterns of the house in the window / filled and lit the lanterns"
          " / saw your lanterns / smallest lantern"))

plot("the cold dragon", "child", """
{opening} The winter was so hard that {frozen}. People burned their {burned} to keep warm. High up on the
mountain lived a dragon, and everyone was afraid of it.

{day} {hero} said, "A dragon has fire. I will ask it for help." "It will eat you!" cried {friend}, but
{hero} put on {his} warmest coat and took along {treat}. {He} climbed all day through the deep snow, until
{he} came to a cave. "Who is there?" asked a voice like {voice}.

"I am {hero}," {he} said, and {his} knees shook. "{Gift}, and I would like to ask for a little fire." The
dragon {first}. A tear as big as a plum rolled down its nose. "{lonely}," it said. "Nobody has ever brought
me anything." It tasted the {treatshort}, and smoke came out of its ears, for it was so happy.

Then the dragon took {hero} on its back and flew down to the {square}. The people [ran away|hid behind their
doors], but the dragon only breathed softly. {Warm}, and soon the children were holding their cold hands to
its warm belly. Since that winter the dragon comes every time it snows, and {hero} always has {treat} ready
for it.
""",
     rows("frozen", "the {water} froze to the bottom", "the bread froze on the table",
          "the birds fell silent", "even the smoke froze above the roofs"),
     rows("burned", "old chairs", "fences", "ladders", "wooden shoes"),
     rows("treat treatshort gift",
          "a pot of honey / honey / I brought you honey",
          "a warm cake / cake / I brought you a cake",
          "a basket of apples / apples / I brought you apples",
          "a jar of jam / jam / I brought you jam",
          "a big cheese / cheese / I brought you a cheese",
          "a bowl of soup / soup / I brought you soup"),
     rows("voice", "far thunder", "rolling stones", "an old church bell", "wind in a chimney"),
     rows("first", "looked at {him} for a long time", "blinked its golden eyes",
          "put its great head on its paws", "was silent"),
     rows("lonely", "I have been alone for a hundred years", "Everyone runs away from me",
          "I thought that you had come with a sword"),
     rows("warm", "The ice in the well melted", "The snow slid from the roofs",
          "The frozen doors opened again"),
     seasons="winter")

plot("the bridge", "grown", """
{opening} {Hero} {work} and walked over the old bridge every day. {He} always greeted it like a friend.

{day} after a night of heavy rain, the bridge was gone. The {river} had carried it away. The {a_side} stood
on this side and the {b_side} on the other, and {problem}. "We must wait until the king sends builders,"
said the {doubter}. "{Doubt}"

"No," said {hero}, "we can build it ourselves. I have {have}." For a while nobody moved. Then a little
{fkind} named {friend} stepped forward and said, "I have {small}. It is not much." "It is exactly what we
need," said {hero}. After that everyone brought something: {things}.

They worked for {days} days. When the last board was in place, the {doubter} was the first to cross. [In the
middle the {doubter} stopped and jumped twice.|The {doubter} took off his hat.] "It holds!" he shouted. That
evening they all ate {treat} on the new bridge. There is a board in the railing with {friend}'s name on it,
and {hero} still greets the bridge every day.
""",
     rows("who work",
          "young baker / baked bread for both sides of the river",
          "old miller / ground the corn of both sides of the river",
          "tall postman / brought letters to both sides of the river",
          "kind doctor / looked after the sick on both sides of the river",
          "good tailor / made coats for both sides of the river"),
     rows("river", "river", "brown water", "flood", "wild river"),
     rows("home",
          "in a village with a river in the middle",
          "in a little town on two banks of a river",
          "in a valley where a river ran between the houses"),
     rows("a_side b_side problem",
          "school / children / there were no lessons",
          "mothers / children / everyone was calling and waving",
          "cows / farmers / the cows wanted to be milked",
          "bride / groom / the wedding was in four days"),
     rows("doubter doubt", "mayor / It is too hard for us.", "judge / Nobody here can build a bridge.",
          "innkeeper / We have no wood and no money."),
     rows("have", "ten good planks", "a long rope", "two hands and a hammer", "a cart and a strong horse"),
     rows("small", "a bag of nails", "a ball of string", "a small saw", "my father's ladder", "a pot of tar"),
     rows("things",
          "the carpenter brought beams and the smith brought iron",
          "the farmers brought oak trunks and the fishermen brought ropes",
          "the women brought boards and the boys brought stones"),
     rows("days", "three", "four", "five", "six", "seven"), LIKES,
     seasons="spring autumn")

plot("the chain of trades", "grown", """
{opening} {day} {hero} wanted to bake {a cake} for {occasion}, but there was no {missing} left in the house.
So {he} put on {his} hat and went to the {first}.

"Could you give me some {missing}?" asked {hero}. "Gladly," said the {first}, "if you bring me {want1}."
{Hero} went to the {second}. "Could you give me {want1}?" {he} asked. "Gladly," said the {second}, "if you
bring me {want2}." {Hero} sighed and went on to the {third}. "Could you give me {want2}?"

The {third} sat at the door and looked sad. "You may have it," said the {third}, "and you need not bring me
anything. {sad}" "Then come to my house tonight," said {hero}. "{Comfort}" {He} took the {short2} to the
{second}, and the {short1} to the {first}, and went home with the {missing}.

When the {short} came out of the oven, [the whole street smelled of it|it was golden brown]. The {third} was
the first to knock at the door. "I could not find anybody to talk to," said the {third}, "and now I sit at a
table full of friends." {Hero} cut the {short}, and the {third} got the largest piece.
""",
     rows("who", "cheerful old cook", "young baker", "friendly gardener", "good-natured tailor",
          "round little innkeeper"),
     rows("cake short", "honey cake / cake", "cherry pie / pie", "cream cake / cake", "plum tart / tart",
          "nut cake / cake"),
     rows("occasion", "{his} sister's wedding", "the harvest festival", "a neighbor's birthday",
          "the children of the school", "{his} mother's visit"),
     rows("missing first", "flour / miller", "sugar / grocer", "milk / farmer", "butter / dairymaid"),
     rows("want1 short1 second",
          "a new rope / rope / rope maker",
          "a sharp knife / knife / smith",
          "a pair of warm socks / socks / weaver",
          "a clay pot / pot / potter"),
     rows("want2 short2 third",
          "a basket of coal / coal / coal man",
          "a bundle of reeds / reeds / fisherman",
          "a jug of oil / oil / old widow",
          "a sack of wool / wool / shepherd",
          "a box of candles / candles / candle maker"),
     rows("sad comfort",
          "My children moved away, and it is so quiet here. / There will be music and much noise.",
          "Nobody has come to see me for a month. / There will be a chair for you beside the stove.",
          "It is my birthday, and I am all alone. / We will sing for you."))

plot("the silent clock", "grown", """
{opening} In the middle of the {square} stood a tower with a great clock, and {hero} took care of it.
{bells}

{day} the clock stopped at {hour}. Without it, everything went wrong: {wrong}. "{Hero}, what have you done
to our clock?" the people asked. {Hero} climbed up the tower with {his} tools. {He} oiled the wheels and
polished the springs, but the clock did not move.

A {fkind} named {friend} had followed {him} up the stairs. "May I look?" asked {friend}. "I am small, and I
can reach behind the big wheel." {friend} crept into the dark corner and called, "I see it! There is {a
nest} in the wheel, and {young} in it." {Hero} scratched {his} head. If {he} pulled out the {nest_short},
the little ones would freeze.

"Then the clock will rest," said {hero}. For {weeks} weeks {he} went to the {square} at every hour and
{instead}. At last the little ones {left}. {Hero} and {friend} set the {nest_short} safely under the roof,
and the great clock began to tick again. Since then there are two keepers of the clock: {hero}, and
{friend}, who knows what is behind the big wheel.
""",
     rows("who", "careful clockmaker", "old clockmaker", "tall clockmaker", "gray-haired clockmaker"),
     rows("home", "in an old town on a hill", "in a town with crooked streets",
          "in a small town beside a river", "in a town with red roofs"),
     rows("square", "market square", "square", "town"),
     rows("bells", "It was never a minute late.", "When it struck, even the pigeons listened.",
          "Everyone in the town loved its deep voice."),
     rows("hour", "half past three", "ten o'clock", "a quarter to six", "noon", "seven o'clock"),
     rows("wrong",
          "the baker burned his bread, and the children came too late to school",
          "the mayor slept until noon, and the coach left with nobody in it",
          "the soup was cold, and the shops were closed all day"),
     rows("nest nest_short young left",
          "nest / nest / four tiny sparrows are / spread their wings and flew away",
          "nest / nest / three young swallows are / spread their wings and flew away",
          "nest of straw / nest / five baby mice are / opened their eyes and could run",
          "ball of moss / nest / two little dormice are / woke up and climbed out"),
     rows("weeks", "two", "three", "four", "five"),
     rows("instead", "rang a hand bell", "called out the time as loudly as {he} could", "blew a horn",
          "beat on a copper pan"),
     seasons="spring")

plot("the dry well", "child", """
{opening} That summer it did not rain for {weeks} weeks. The grass turned yellow, and one day the well was
dry. "We will have to leave," said the {elder}, and everyone was sad.

{Hero} had noticed something strange. Every evening {a sign}. "There must be water up there," {he} told
{friend}. "{Doubt}" said {friend}, who went along all the same, because they were friends. Together they
followed {follow} to the {high}, through thorns and over hot stones.

Near the top they came to {a spot}. [The ground was cool there.|It smelled of wet earth.] They dug with
their hands and with a flat stone. They dug until {hurt}. Then {hero} put {his} ear to the ground. "Listen!"
{he} whispered. Something was murmuring below. They pulled away one last rock, and clear water came up and
ran over their feet.

They laughed and splashed, and then they ran home and called everyone. The {elder} tasted the water and
could not speak for joy. The people built a channel from the {spotshort} to the village, and it never ran
dry. At its mouth they carved {carved} in stone, because {thank} had shown them the way.
""",
     rows("weeks", "eight", "nine", "ten", "twelve"),
     rows("elder", "mayor", "teacher", "oldest woman", "miller"),
     rows("home", "in a dry valley", "in a village among the fields", "in a white village in the south",
          "in a village on the plain"),
     rows("high", "ridge", "hill", "gray cliff", "mountain"),
     rows("sign follow carved thank",
          "swarm of bees flew over the roofs and came back with wet feet / the bees / a bee / the bees",
          "flock of pigeons flew away and came back with wet feathers / the pigeons / a pigeon / the pigeons",
          "goat went off alone and came back with a wet beard / the goat / a goat / the goat",
          "fox trotted past with mud on its paws / the tracks of the fox / a fox / the fox",
          "dog slipped away and came back with wet fur / the dog / a dog / the dog"),
     rows("doubt", "That cannot be,", "I do not believe it,", "It is only an old story,"),
     rows("spot spotshort", "green patch of moss / spring", "crooked willow / spring",
          "hollow between two rocks / spring", "place where ferns were growing / spring"),
     rows("hurt", "their fingers hurt", "the sun went down", "they could hardly lift their arms"),
     seasons="summer")

plot("the honest finder", "child", """
{opening} {Hero}'s family was poor. {His} only {cloth} had {holes} holes, and often there was nothing but
{meal} for supper.

{day} {hero} found {a purse} [lying in the road|under a bench at the {square}|beside the {stream}]. Inside
were {coins} gold coins. "With these I could buy {buy}," {he} thought. "{Nobody}" {He} looked to the left
and to the right. Then {he} thought of the person who had lost it, and {his} heart grew heavy.

{He} asked at every door. "Is this yours?" The {no1} said no, and the {no2} said no. At the last house {a
owner} opened. {Owner_pro} eyes were red. "I saved those coins for {purpose}," said the {owner_short}, "and
I thought that they were lost forever. How can I thank you?" "I am just glad that I found you," said {hero}.

The {owner_short} did not forget it. A week later there was a knock at the door, and outside stood {reward}.
"It is for an honest finder," said the {owner_short}. {Hero} jumped for joy. {He} has grown up long since,
but {he} still keeps the empty {purseshort} on the shelf, because it brought {him} {moral}.
""",
     rows("cloth", "coat", "shirt", "jacket"),
     rows("holes", "two", "three", "four", "five"),
     rows("meal", "thin soup", "dry bread", "cold potatoes", "porridge"),
     rows("purse purseshort", "leather purse / purse", "small silk bag / bag", "{color} purse / purse",
          "little tin box / box"),
     rows("color", "red", "green", "blue", "black"),
     rows("coins", "ten", "twelve", "twenty", "thirty"),
     rows("buy", "a new coat and a roast goose", "shoes for the whole family", "a cow and a calf", "a pony"),
     rows("nobody", "Nobody has seen me.", "Nobody would ever know."),
     rows("no1 no2", "baker / smith", "miller / weaver", "grocer / teacher", "doctor / potter"),
     rows("owner owner_short owner_pro purpose",
          "old woman / old woman / her / my son's journey home",
          "young widow / widow / her / a new roof",
          "lame soldier / soldier / his / a wooden leg",
          "gray fiddler / fiddler / his / a new fiddle",
          "young teacher / teacher / her / the books of my school"),
     rows("reward moral",
          "a young goat that gave sweet milk / both a goat and a friend",
          "a little dog with a ribbon around its neck / both a dog and a friend",
          "three hens and a rooster / both hens and a friend",
          "a gray pony / both a pony and a friend",
          "a cart full of firewood / both warm winters and a friend"))

plot("soup through the snow", "child", """
{opening} {day} {hero} did not see any smoke above {friend}'s house on the other side of the {high}.
"{friend} must be ill," said {hero}. "Nobody has lit the stove." {His} mother filled a pot with {hot}, and
{hero} tied it to {his} sled.

The snow was deep, and the wind blew into {his} face. Halfway up the {high}, {trouble}. {He} wanted to turn
back. But then {he} thought of {friend}, alone in a cold house, and {he} {solve}. So {he} went on.

When {he} opened the door, it was as cold inside as outside. {friend} lay in bed with a red nose and could
only whisper. {Hero} lit a fire in the stove and warmed the soup. {friend} ate one spoonful, then two, and
then the whole pot. "{Taste}," said {friend}, in a voice that was almost as good as new.

{Hero} stayed for {days} days, and they {played}. By the time the sun shone again, {friend} was well. They
rode home together on the sled, down the {high}, with the empty pot between them. Now, whenever one of them
sees no smoke above the other house, there is soon a pot on the sled.
""",
     rows("hot", "chicken soup", "barley soup", "bean soup", "vegetable soup", "potato soup"),
     rows("trouble solve",
          "a big drift lay across the path / dug through the drift with {his} hands",
          "the rope tore / made a new rope out of {his} scarf",
          "one of the runners broke / put the pot on {his} shoulder",
          "{he} could not see the path anymore / followed the tracks of a hare down the other side"),
     rows("taste", "That tastes like sunshine", "I can feel my toes again",
          "That is the best soup in the world"),
     rows("days", "two", "three", "four"),
     rows("played", "told each other riddles", "carved little animals", "drew pictures on the frozen window",
          "played checkers"),
     seasons="winter")

plot("the fish and the wish", "grown", """
{opening} {Hero} was poor. {He} went out on the {water} every day with an old net, and lived in {a hut}.

{day} there was only one fish in the net, but it shone like {shine}. "Let me go," said the fish, "and I will
grant you one wish. But think well, for there is only one." {Hero} set the fish free and went home to think.

"I could wish for {wish1}," {he} thought. Then {he} thought, "No, I could wish for {wish2}." {He} thought so
hard that {he} forgot {his} supper. While {he} was thinking, somebody came along the shore. It was {friend},
a {fkind} from the village. {friend} was crying. "{sorrow}," said {friend}, "and nobody can help us."

{Hero} stood up and went back to the {water}. "Fish," {he} called, "I know my wish. {Wish}" The fish put its
head out of the water. "You could have had {wish2}," it said. "I know," said {hero}. The next morning
{result}, and {friend} danced along the shore. {Hero} still lives in the {hutshort}, but since that day
{his} net is [never empty|always full], and {friend} comes every evening to help {him} carry the fish.
""",
     rows("who", "poor fisher", "young fisher", "lonely fisher"),
     rows("home", "by the sea", "on the shore of a great lake", "on a small island", "in a quiet bay"),
     rows("water", "water"),
     rows("hut hutshort", "crooked hut / hut", "hut made of driftwood / hut", "hut with a leaky roof / hut",
          "turned-over boat / old boat"),
     rows("shine", "silver", "the moon", "a rainbow", "pure gold"),
     rows("wish1", "a fine new boat", "a net that never tears", "a chest full of gold"),
     rows("wish2", "a castle with a hundred rooms", "the crown of a king", "a ship with white sails",
          "a house of marble"),
     rows("sorrow wish result",
          "My mother is so ill that she cannot get up / Make {friend}'s mother well."
          " / the mother was well and baked bread",
          "My brother went to sea, and his ship is lost / Bring the lost ship home."
          " / the lost ship came sailing into the harbor",
          "Our cow has died, and the baby has no milk / Give {friend}'s family a cow."
          " / a brown cow stood before the house and mooed",
          "The flood took our whole field / Let the field be green again."
          " / the field was green, as if there had never been a flood"))

plot("the letter", "grown", """
{opening} {Hero} carried the letters over the mountain, in sunshine and in rain. In all {his} life {he} had
never lost one.

{day} {he} had only one letter in {his} bag. It was for {a who2}, and on the envelope somebody had written,
"{note}." "This must be important," said {hero} and walked faster. But at the {stream}, {trouble}, and the
letter {wet}.

{Hero} sat down and wanted to weep. Nobody could read it now. Then {he} saw {friend}, a {fkind} who was
watching the {flock}. "{Idea}," said {friend}. They made a small fire and {dry}. Slowly the words came back,
one after another, {like}.

It was late when {hero} knocked at the last door. The {who2} opened the letter with shaking fingers and read
it aloud: "{text}" Then the {who2} laughed and cried at once, and {kissed}. "The paper is a little brown,"
said {hero}. "It smells of smoke and of the mountain," said the {who2}. "That makes it even better." On the
way back, {hero} gave {friend} {a thanks}, and the two of them {last}.
""",
     rows("who", "cheerful postman", "young letter carrier", "tall letter carrier",
          "faithful letter carrier"),
     rows("who2 text",
          "old mother / I am on my way home. Put the kettle on!",
          "sad bride / Wait for me. I will be with you before the first snow.",
          "lonely grandmother / You have a grandchild, and we named her after you.",
          "old gardener / Your roses won the first prize.",
          "young painter / The queen wants to buy your picture."),
     rows("note", "Please hurry", "Good news inside", "To be opened at once", "Very important"),
     rows("trouble wet",
          "{he} slipped on a wet stone / fell into the water",
          "the bag tore open / fell into the water",
          "a gust of wind opened the bag / blew into the water"),
     rows("flock", "goats", "sheep", "cows", "geese"),
     rows("idea dry",
          "What is wet can be dried / held the letter over the warm smoke",
          "Do not cry, it only needs to be warm / laid the letter on a warm stone beside the flames"),
     rows("like", "like stars in the evening", "like flowers after the snow", "like birds in the spring"),
     rows("kissed", "kissed {hero} on both cheeks", "danced around the table with {hero}",
          "gave {hero} a bowl of soup"),
     rows("thanks last",
          "pocket knife / waved until they could not see each other",
          "bag of sweets / ate the sweets together",
          "little flute / played a song together",
          "warm cap / talked until the stars came out"))
