#!/usr/bin/env python3
# Writes the little stories that the embedded model learns from. Each is made from a seed alone, by filling
# one plot's templates (plots_*.py) with a cast, a place and a season (story_world.py).
#
#   make_stories.py [--split train|held_out] [--seed N] [COUNT]      prints COUNT stories
import argparse
import hashlib
import itertools
import random

import plots_animals  # noqa: F401  (importing a plots file registers its plots)
import plots_children  # noqa: F401
import plots_village  # noqa: F401
from story_grammar import PLOTS, expand
from story_world import ANIMALS, cast_of

HELD_OUT_ONE_IN = 50


def make_story(seed):
    rng = random.Random(f"story {seed}")
    plot = rng.choice(PLOTS)
    slots = cast_of(plot, rng)
    for table in plot.tables:
        slots.update(rng.choice(table))
    while plot.cast == "animal" and slots["fkind"] in slots["who"]:  # the friend is of another kind
        slots["fkind"] = rng.choice(ANIMALS)
    # A value is settled once, so that one of several kinds stays that kind to the end.
    settled = {key: expand(value, slots, rng) if "[" in value and key != "opening" else value
               for key, value in slots.items()}
    return expand(plot.text, settled, rng) + "\n"


def is_held_out(story):
    """By the text itself, so that the two splits cannot share a story whatever the seeds."""
    return int.from_bytes(hashlib.sha256(story.encode()).digest()[:4], "little") % HELD_OUT_ONE_IN == 0


def stories(split, first_seed=0):
    """An endless stream of the stories of one split."""
    for seed in itertools.count(first_seed):
        story = make_story(seed)
        if is_held_out(story) == (split == "held_out"):
            yield story


def main():
    parser = argparse.ArgumentParser(description="Print generated stories.")
    parser.add_argument("count", nargs="?", type=int, default=1)
    parser.add_argument("--split", choices=["train", "held_out"], default="train")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    print("\n".join(itertools.islice(stories(args.split, args.seed), args.count)), end="")


if __name__ == "__main__":
    main()
