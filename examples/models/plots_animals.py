# Stories of animals: hunger and sharing, races, lost young ones, strange sounds in the night.
from story_grammar import plot, rows

FOOD = rows("food", "berries", "nuts", "acorns", "mushrooms", "apples", "seeds")

plot("the full store", "animal", """
{opening} {Hero} had found more {food} than anyone else, and {he} hid them all {store}. [{He} counted them
every evening.|The pile reached almost to the roof.]

{day} {friend} the {fkind} knocked at the door. "I have nothing to eat," said {friend}. "May I have a few of
your {food}?" "No," said {hero}, "I found them, and they are mine." {friend} went away without a word, and
{hero} counted the {food} once more.

But that night {disaster}. In the morning, every one of the {food} was gone. {Hero} searched [everywhere|all
day long] and found nothing. Hungry and cold, {he} sat down {place}. "Now I know how {friend} felt," {he}
thought.

Then somebody came through the {wood}. It was {friend}, with a small basket. "I found a little food today,"
said {friend}. "It is not much, but half of it is yours." {Hero} [felt ashamed|hung {his} head]. "I gave you
nothing," {he} said. "Why do you share with me?" "Because you are hungry," said {friend}. {Hero} never
forgot it. When the {food} were ripe again, {he} {after}.
""",
     rows("store", "under {his} bed", "in a deep hole", "behind a flat stone", "in a hollow log"),
     rows("disaster",
          "the rain came down and the flood washed them away",
          "a storm came and carried them off",
          "a crowd of crows came and ate everything",
          "the roof fell in, and the wind swept everything away"),
     rows("place", "on a stump", "by the {water}", "under a bare bush", "on a cold stone"),
     rows("after",
          "brought the first basket to {friend}",
          "filled two baskets, and one of them was for {friend}",
          "left the door of the store open for everyone",
          "called {friend} before {he} ate the first one"), FOOD)

plot("the race", "animal", """
{opening} {day} the animals held a great race, from the {square} to the {high} and back again. The winner
would get {prize}. "{Boast}," said {friend} the {fkind}. {Hero} was not [very fast|the fastest], but {he}
wanted to try.

"One, two, three, go!" cried the owl, and they all ran. {friend} was soon far ahead. {Hero} ran as well as
{he} could. Halfway up the {high}, {he} heard a thin voice. It was {a small} {stuck}. "Please help me!"
cried the {smallshort}. {Hero} looked after the others. Then {he} stopped and {rescue}.

Now {hero} was the very last. "Wait," said the {smallshort}, "I know a short way {short_way}." {Hero}
followed the {smallshort}, and when {he} came out again, the {square} was right before {him}. [Far behind
came {friend}.|{friend} was just coming down the {high}.] {Hero} crossed the line first!

The animals cheered, and {friend} shook {his} paw. "How did you do it?" asked {friend}. "I had help," said
{hero}. {He} took the {prizeshort} and shared it with the {smallshort}, and with {friend} too.
""",
     rows("prize prizeshort", "a basket of pears / basket", "a big honeycomb / honeycomb",
          "a cherry pie / pie", "a jar of plum jam / jam", "a round cheese / cheese"),
     rows("boast", "Nobody can catch me", "I have already won", "You will see only my tail",
          "I could win in my sleep"),
     rows("small smallshort stuck rescue",
          "young bird / bird / caught in a thorn bush / bent the thorns aside until the bird was free",
          "green lizard / lizard / under a fallen stone / rolled the stone away",
          "beetle / beetle / floating in a puddle / held out a leaf so that the beetle could climb out",
          "baby mouse / mouse / stuck under a branch / lifted the branch until the mouse could crawl out",
          "frog / frog / trapped in an old jar / rolled the jar until the frog could jump out",
          "ladybug / ladybug / caught in a web / broke the threads one by one"),
     rows("short_way", "through the blackberries", "under the roots", "behind the waterfall",
          "through the tall ferns", "along the {stream}"))

plot("looking for mother", "animal", """
{opening} {day} {hero} heard somebody crying {place}. There sat {a baby}, all alone. "I followed {lure}," it
sobbed, "and now I cannot find my mother." "Do not cry," said {hero}. "We will look for her together."

First they went to the {water} and asked the {first}. "I have seen nobody," said the {first}. Then they went
to the {high} and asked the {second}. "I have not seen her," said the {second}, "but {hint}." [The little
one began to cry again.|The little one was very tired by now.] {Hero} took it on {his} back and {comfort}.

"{Idea}," thought {hero}. {He} {call}. The {wood} was silent. Then, from far away, there came an answer.
Branches cracked, and the mother came running. "There you are!" she cried, and she [licked|nuzzled] the
little one from head to tail.

"How can I thank you?" she asked {hero}. "You have already thanked me," said {hero}, and {he} was happy all
the way home. In the following {season}, {a grownup} stood before {his} door. It was the little one, grown
tall, and it said, "I came to carry you on my back now."
""",
     rows("baby grownup", "tiny fawn / big deer", "small bear cub / big bear", "little lamb / big sheep",
          "little foal / fine horse", "little calf / big cow"),
     rows("place", "behind a bush", "under a fir tree", "in the tall grass", "between two rocks"),
     rows("lure", "a blue butterfly", "a rolling leaf", "a jumping frog", "a funny cloud", "a bumblebee"),
     rows("first second", "ducks / old raven", "heron / mole", "frogs / hawk", "swans / lizard",
          "beavers / old goat"),
     rows("hint", "somebody has been calling all day", "a mother always listens",
          "I heard a sad voice in the {wood}", "she cannot be far away"),
     rows("comfort", "told it a story", "sang it a song", "gave it the last of {his} nuts"),
     rows("idea call",
          "She cannot see us, but she can hear us"
          " / beat on a hollow tree with a stick, as loudly as {he} could",
          "We cannot find her, so she must find us / climbed on a rock and called as loudly as {he} could",
          "She must be calling too, but the wind is loud"
          " / waited until the wind was still, and then {he} whistled"))

plot("the wounded bird", "animal", """
{opening} {day} {hero} found {a bird} on the ground. One of its wings was hurt. "All the others have flown
south," said the {short}, "and I cannot fly. What will become of me?"

{Hero} carried the {short} home and made a bed of {bed}. [At first the {short} was too weak to eat.|The
{short} slept for two days.] {Hero} fed it with {feed} and kept the fire burning. Outside, {he} heard the
cold wind blow. In the long evenings the {short} told {him} about {south}, and {hero} listened with wide
eyes.

When the snow melted, the wing was strong again. The {short} flew one circle around the {square}, and then
another. "I must go to my family now," it said. {Hero} [swallowed hard|felt a lump in {his} throat], but
{he} nodded. "Fly well," {he} said. The {short} rose into the sky, and {his} home seemed very quiet.

The whole summer passed. Then, one [windy|gray] day in autumn, something tapped at {his} door. There stood
the {short}, with {gift} in its beak. "I brought this for you from the south," it said. "And if you like, I
will stay and tell you the rest."
""",
     rows("bird short", "gray swallow / swallow", "young stork / stork", "white goose / goose",
          "small crane / crane", "little cuckoo / cuckoo"),
     rows("bed", "dry moss", "soft leaves", "feathers and grass", "sheep's wool"),
     rows("feed", "warm porridge", "seeds and berries", "crumbs and honey", "small worms"),
     rows("south", "deserts as wide as the sky", "cities with golden roofs", "seas full of ships",
          "trees that are green all year", "elephants that bathe in the rain"),
     rows("gift", "a shining shell", "a red feather", "a sweet date", "a small gold button",
          "a seed from a far tree"),
     seasons="autumn")

plot("the strange sound", "animal", """
{opening} {day} something odd happened. As soon as it was dark, a strange sound came from the {place}.
"{sound}!" it went, and again, "{sound}!" {Hero} pulled the blanket over {his} ears.

The next morning all the animals talked about it. "It is a giant," said {friend} the {fkind}. "It is a
ghost," said the magpie. Nobody wanted to go near the {place}. When night fell, the sound came again:
"{sound}!" {Hero} shivered. But it sounded [so sad|so lonely] that {he} could not sleep. "I will go and
look," {he} said at last.

{He} took a lantern and [crept|walked] slowly toward the {place}. "{sound}!" {He} held up the light, and
there was no giant and no ghost. There was only {a maker} {trouble}. "I have been calling for help for two
nights," said the {short}, "but everybody ran away." {Hero} {rescue}.

In the morning {hero} brought the {short} to the {square}. "Here is your giant," {he} told {friend}, and
everyone laughed. The {short} stayed with them. And when somebody hears a strange sound at night, {hero}
takes {his} lantern and says, "Let us go and look first."
""",
     rows("maker short sound trouble rescue",
          "young owl / owl / Hoo / with its foot caught in a root"
          " / pulled the root aside and set the owl free",
          "fat toad / toad / Brock / at the bottom of an old well"
          " / let down a rope, and the toad held on tight",
          "small goat / goat / Meh / with its horns stuck in a hedge"
          " / broke the twigs until the goat was free",
          "lost duckling / duckling / Peep / sitting on a floating log"
          " / pulled the log to the bank with a long stick",
          "tired donkey / donkey / Hee / with its rope caught on a branch / untied the rope with great care",
          "lonely goose / goose / Honk / with one wing under a stone / rolled the stone away"),
     rows("place", "old mill", "swamp", "dark end of the {wood}", "ruined tower", "far bank of the {water}"))

plot("the big and the small", "animal", """
{opening} {Hero} was [very proud|a little vain], because {he} had {pride}. "Nobody is as fine as I am," {he}
liked to say. When {friend} the {fkind} asked, "Shall we play together?" {hero} only laughed. "You are too
{flaw}," {he} said.

{day} {hero} went alone to the {water} to look at {himself} in the water. {He} leaned too far, and the bank
gave way. {trap} {He} pulled and pushed, but the more {he} moved, the worse it became. "Help!" {he} cried.
"Somebody help me!"

The {first} came, but it {first_no}. The {second} came, but it {second_no}. Then {friend} came running.
"Hold still," said {friend}. {how}. {friend} worked without a rest, and before the sun went down {hero} was
free.

{Hero} was covered with mud, and {nopride}. "I was not kind to you," {he} said, "and still you helped me."
{friend} smiled. "Shall we play together?" {friend} asked once more. "Yes," said {hero}, "and you may choose
the game." So they played {game} until it was dark, and {hero} forgot to look at {himself} in the {water}.
""",
     rows("pride nopride",
          "the softest fur / {his} soft fur looked like an old broom",
          "the longest whiskers / {his} long whiskers hung down like wet string",
          "the finest tail / {his} fine tail looked like a dirty rope",
          "the whitest teeth / there was mud even on {his} white teeth"),
     rows("flaw trap how",
          "small / {His} foot was caught between two roots."
          " / Because {friend} was so small, {friend} could slip between the roots and dig {him} out",
          "slow / {His} leg was caught in a tangle of reeds."
          " / Slowly and with great care, {friend} undid the reeds, one after the other",
          "quiet / {He} slid into a muddy hole."
          " / Quietly {friend} pushed branches into the hole, until there was a ladder",
          "dirty / {He} sank into deep mud."
          " / {friend} was not afraid of the mud, and dug and dug until {his} feet were free"),
     rows("first first_no", "heron / did not want to get its feet dirty", "stork / was in a hurry",
          "peacock / only shook its head"),
     rows("second second_no", "goat / was too heavy for the soft bank", "deer / was afraid of the mud",
          "horse / could not come so close"),
     rows("game", "hide and seek", "tag", "leapfrog", "catch"))

plot("room for one more", "animal", """
{opening} {Hero}'s home was so small that there was room only for {furniture}. "It is just right for me,"
{hero} always said.

{day} a terrible storm broke over the {wood}. {Hero} was sitting in {his} warm room when there was a knock.
It was {friend} the {fkind}, wet from head to foot. "{disaster}," said {friend}. "May I come in?" {Hero}
looked at {his} little room. "It is small," {he} said, "but come in."

They had hardly sat down when there was another knock. It was {a third} with {children}. "Our home is gone
too," said the {third}. "It is small," said {hero}, "but come in." And so it went on until {many} were
sitting close together. [Nobody could move.|{His} tail was in somebody's soup.] But it was warm, and they
{evening} all night long.

In the morning the sun came out. "You gave us half of a small room," said {friend}. "Now we will give you
something." All of them went to work. They {build}, and by evening {his} home was [twice as large|the
largest in the {wood}]. "What shall I do with so much room?" asked {hero}. "{answer}," said {friend}, and
that is what {hero} did.
""",
     rows("furniture", "a bed and a chair", "a bed, a stove and a clock", "one bed and one cup",
          "a table and a stool"),
     rows("disaster", "A tree fell on my house", "The {stream} came into my house", "The wind took my roof"),
     rows("third", "squirrel", "mole", "wren", "porcupine", "turtle", "magpie"),
     rows("children", "two children", "three children", "seven children", "an old aunt"),
     rows("many", "nine animals", "twelve animals", "ten guests", "eleven guests"),
     rows("evening", "told stories", "sang old songs", "played cards", "drank berry tea"),
     rows("build", "dug a second room and a third", "brought branches and made a hall",
          "built a new room on each side"),
     rows("answer", "Invite us for supper", "Ask us to come and sing", "Keep a bed ready for the next storm"),
     seasons="spring autumn summer")

plot("the prickly guest", "animal", """
{opening} {Hero} had no friends, because {flaw}. When the others played {game}, they said, "You cannot play
with us. {No}." So {hero} watched them from behind a {bush}.

{day} the animals played {game} near the {water}. Suddenly there was a cry. {friend} the {fkind} had
{danger}! Nobody knew what to do. {Hero} did not think for long. {How} Soon {friend} was safe.

[For a moment nobody spoke.|Everyone looked at {hero}.] "You saved me," said {friend}. "{Turn}" The others
looked at the ground. "We were wrong," they said. "Please play with us."

So they thought about the game for a while, and then they changed it: {rule}. They played until the moon
rose, and {hero} laughed more than all the others. "Come again tomorrow!" called {friend}. And {hero} came,
tomorrow and every day.
""",
     rows("who flaw no danger how turn rule",
          "young hedgehog / {his} coat was so prickly / You would burst our ball"
          " / slipped and slid toward the deep water"
          " / {He} threw {himself} down on the bank, and {friend} slid against {his} rough coat and stopped."
          " / Your coat held me when nothing else did!"
          " / they used a heavy wooden ball that no coat can burst",
          "young bear / {he} was so big and clumsy / You would step on our feet / fallen into a deep hole"
          " / {He} reached down with {his} long arm and lifted {friend} out."
          " / You are big, and that is good! / everyone who was too small could ride on {hero}'s back",
          "little mouse / {he} was so very small / We would not even see you"
          " / caught a foot under the bridge"
          " / {He} slipped under the planks, where nobody else could go, and freed the foot."
          " / Only someone small could do that! / {hero} sat on a high branch and was the judge",
          "young raccoon / {his} voice was so loud / You would hurt our ears"
          " / drifted far away on a log, with no one near"
          " / {He} shouted so loudly that the beavers on the far side heard it and"
          " pulled the log to the land."
          " / Your voice is the best voice in the {wood}!"
          " / {hero} called out when the game began and when it ended"),
     rows("game", "ball", "tag", "a ball game", "hide and seek"),
     rows("bush", "bush", "tree", "stone", "fern"))

plot("learning to swim", "animal", """
{opening} All the other animals could {skill}, but {hero} could not. "{Tease}" laughed the magpie, and
{hero} went red to the tips of {his} ears.

{day} {he} went alone to the {place} to practice. {He} tried once, and {fail}. {He} tried again, and it was
no better. "What are you doing wrong?" asked {a teacher}, who had been watching. "Everything," said {hero}.
"No," said the {teacher}, "only one thing. {lesson}."

Every day {hero} came to the {place}, and every day the {teacher} helped {him}. {By} It took [a week|ten
days|two weeks]. Then, one evening, {success}. "I can do it!" {he} cried. "I can really do it!"

Soon after, {test}. Nobody else was near. {Hero} did not wait. {He} did just what the {teacher} had taught
{him}, and {rescue}. The magpie [never laughed at {him} again|said in a small voice, "Thank you"]. And when
{hero} sees someone at the {place} who tries and fails, {he} says kindly, "{lesson}."
""",
     rows("who skill tease place fail teacher lesson by success test rescue",
          "[young fox|small hedgehog|shy rabbit|curious mouse] / swim / You swim like a stone! / {water}"
          " / {he} swallowed a lot of water / turtle / Do not fight the water, lie down on it"
          " / First {he} learned to float, and then to paddle. / {he} swam all the way to the other side"
          " / the magpie's egg fell into the {water} / swam out and carried the egg safely to the land",
          "[young hedgehog|clever otter|small badger|shy rabbit] / climb / You climb like a potato!"
          " / old oak / {he} slid down and landed in a heap / squirrel"
          " / Do not look up, look for the next branch"
          " / First {he} reached the first branch, and then the second."
          " / {he} stood at the very top of the oak"
          " / the magpie was caught in a string at the top of the oak"
          " / climbed up and bit through the string",
          "[young mole|little hedgehog|small badger|shy mouse] / jump / You jump like a cow! / {stream}"
          " / {he} landed in the middle with a splash / frog"
          " / Do not think of the water, think of the other side"
          " / First {he} jumped over a twig, and then over a log."
          " / {he} flew over the {stream} and landed on dry grass"
          " / the magpie's child was alone on the other side, and the water was rising"
          " / jumped across and brought the little one back"),
     seasons="spring summer autumn")

plot("the forgotten birthday", "animal", """
{opening} {day} {hero} could not stop smiling, because it was {his} birthday. "Today everyone will be nice
to me," {he} thought, and {he} went out to meet {his} friends.

First {he} met the {first}, who was carrying {load}. "Good morning!" said {hero}. "Do you know what day it
is?" "It is {weekday}," said the {first} and hurried on. Then {he} met the {second}, who had {odd}. "Do you
know what day it is?" asked {hero}. "A busy day," said the {second} and was gone. Even {friend} the {fkind}
had no time.

{Hero} walked home with {his} head down. "They have all forgotten me," {he} thought. [{He} was close to
tears.|The way had never seemed so long.] But when {he} opened {his} door, {he} stood still. There was
{load} on the table, and there were candles everywhere. "Surprise!" shouted {friend}, the {first} and the
{second}.

"We could not tell you," said {friend}, "or it would not have been a surprise." They gave {him} {a gift},
and they {feast} until late. Before {he} fell asleep, {hero} thought, "Nobody forgot me at all." {He} kept
the {giftshort} [beside {his} bed|on the shelf above {his} bed] from then on.
""",
     rows("first second", "turtle / robin", "goose / lizard", "hare / wren", "porcupine / toad",
          "goat / magpie"),
     rows("load", "a large cake", "a huge pie", "a basket of plums", "a pot of honey", "a bowl of pudding"),
     rows("weekday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
     rows("odd", "paint on its nose", "flour on its feet", "paper stars behind its back",
          "a long ribbon around its neck"),
     rows("gift giftshort", "warm blanket / blanket", "new lantern / lantern", "blue cup / cup",
          "drum / drum", "walking stick / stick", "green scarf / scarf"),
     rows("feast", "ate and danced", "sang and laughed", "played games", "told stories"))
