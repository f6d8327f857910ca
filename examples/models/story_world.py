# Who lives in the stories and where: names, kinds, places, seasons and the ways a story can open.
from story_grammar import rows

GIRLS = ("Mia Lily Anna Rosa Ella Nora Clara Ida Maya Zoe Ruby Hana Lena Tessa Greta Alma Ivy Sara Emma Lucy "
         "Nina June Olga Freya Stella Vera Leila Amira Daisy Wanda").split()
BOYS = ("Tom Leo Max Sam Ben Finn Hugo Oscar Emil Jack Theo Noah Omar Paul Otto Ravi Luca Jonas Milo Felix Karl "
        "Amos Peter Simon Ivan Tariq Rowan Anton Louis Kofi").split()
ANIMAL_NAMES = ("Pip Bramble Hazel Nutmeg Clover Moss Pepper Tansy Willow Fern Acorn Button Biscuit Ginger "
                "Sorrel Juniper Thistle Maple Poppy Rusty Dusty Bracken Pebble Tumble Basil Cricket Sage "
                "Barley").split()
ANIMALS = "fox rabbit squirrel hedgehog mouse badger otter beaver mole raccoon bear deer".split()
# The first half are women.
GROWN = "Marta Agnes Helga Edda Rosalind Beatrix Henrik Oswald Gustav Walter Bernard Tobias".split()
CHILD_TRAITS = "curious cheerful quiet brave kind clever gentle stubborn lively thoughtful".split()
ANIMAL_TRAITS = "young small clever cheerful curious shy brave".split()

PLACES = rows(
    "home water stream high wood square",
    "in a village by the sea / sea / stream / cliff / pine wood / harbor",
    "in a small house at the edge of a forest / lake / brook / hill / forest / well",
    "in a town beside a wide river / river / canal / hill / park / market square",
    "on a farm among green hills / pond / stream / hill / wood / barn",
    "in a valley between two mountains / lake / stream / ridge / forest / old mill",
    "on an island full of birds / sea / creek / cliff / palm grove / landing",
    "in a stone cottage near a waterfall / lake / stream / hill / birch wood / bridge",
    "at the foot of a snowy mountain / lake / brook / slope / forest / chapel",
    "in a village with a windmill / pond / brook / hill / orchard / windmill",
    "by a quiet lake / lake / stream / hill / oak wood / boathouse",
)

WILDS = rows(
    "home water stream high wood square",
    "in a hollow oak / pond / brook / hill / forest / clearing",
    "under the roots of an old beech / lake / stream / hill / wood / clearing",
    "in a burrow by the river / river / brook / bank / meadow / big stone",
    "at the edge of a green meadow / pond / stream / hill / thicket / old fence",
    "deep in a quiet forest / lake / brook / ridge / forest / fallen log",
    "on the shore of a round lake / lake / creek / hill / pine wood / flat rock",
)

SEASONS = rows(
    "season weather sky",
    "spring / the first flowers were opening / a soft rain was falling",
    "spring / the birds were building their nests / the sky was pale and clear",
    "summer / the days were long and warm / the sun was bright",
    "summer / the bees hummed in the clover / there was not a cloud to be seen",
    "autumn / the leaves were turning gold / a cold wind was blowing",
    "autumn / the apples were ripe / a gray mist hung over the fields",
    "winter / snow lay on the ground / the air was sharp and clear",
    "winter / the branches were white with frost / large flakes were falling",
)

# An opening ends where the plot begins. {day} is how the plot then says that something starts to happen.
OPENINGS = rows(
    "opening day",
    "Once upon a time there was {a who} named {hero}. {He} lived {home}. / {one_day}",
    "Once upon a time there was {a who} called {hero} who lived {home}. / {one_day}",
    "Once upon a time, {home}, there lived {a who} named {hero}. / {one_day}",
    "Long ago, {home}, there lived {a who} [named|called] {hero}. / {one_day}",
    "Long ago, there was {a who} called {hero}. {He} lived {home}. / {one_day}",
    "There was once {a who} named {hero}, who lived {home}. / {one_day}",
    "{Hero} was {a who} who lived {home}. / {one_day}",
    "{Home} lived {a who} named {hero}. / {one_day}",
    "One {season} morning, {a who} named {hero} woke up early. {He} lived {home}."
    " / [That day|Later that day|That morning],",
    "One [morning|day], {a who} named {hero} [was in a very good mood|looked up at the sky|got up early]. "
    "{He} lived {home}, and {weather}. / [That day|Later that day|A little later],",
)
ONE_DAY = "[One day|One morning|One {season} day|One {season} morning|One afternoon],"
SEASON_LINE = "It was {season}, and {weather}."

PRONOUNS = {
    "girl": dict(he="she", him="her", his="her", himself="herself"),
    "boy": dict(he="he", him="him", his="his", himself="himself"),
}


def cast_of(plot, rng):
    """The slots of the hero, the friend, the place and the season, as the plot wants them."""
    sex, other = rng.choice(["girl", "boy"]), rng.choice(["girl", "boy"])
    slots = dict(PRONOUNS[sex], **{"f" + key: word for key, word in PRONOUNS[other].items()})
    if plot.cast == "animal":
        names, kinds = rng.sample(ANIMAL_NAMES, 2), rng.sample(ANIMALS, 2)
        slots.update(hero=names[0], friend=names[1], kind=kinds[0], fkind=kinds[1])
        slots["who"] = rng.choice(ANIMAL_TRAITS) + " " + kinds[0]
        slots.update(rng.choice(WILDS))
    else:
        girls, boys = rng.sample(GIRLS, 2), rng.sample(BOYS, 2)
        hero = (girls if sex == "girl" else boys)[0]
        if plot.cast == "grown":
            hero = rng.choice(GROWN[:6] if sex == "girl" else GROWN[6:])
        slots.update(hero=hero, friend=(girls if other == "girl" else boys)[1], kind=sex, fkind=other)
        slots["who"] = rng.choice([rng.choice(CHILD_TRAITS) + " " + sex, "little " + sex, sex])
        slots.update(rng.choice(PLACES))
    slots.update(rng.choice([row for row in SEASONS if row["season"] in plot.seasons]))
    slots.update(rng.choice(OPENINGS))
    slots["one_day"] = ONE_DAY
    if slots["weather"] and "{weather}" not in slots["opening"] and rng.random() < 0.4:
        slots["opening"] += " " + SEASON_LINE
    return slots
