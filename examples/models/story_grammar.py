# The small template language the stories are written in, and the table of plots that fill it.
#
#   [a|b|c]   one of the alternatives (they nest; an empty one is allowed)
#   {key}     the story's value for key; {Key} the same with a capital; {a key}, {A key} with its article
#
# A value may itself hold templates. Everything random is drawn from the one generator passed in, so a
# story depends on its seed alone.
import functools
import re

PLOTS = []  # every plot of the plots_*.py files, in the order of their imports


class Plot:
    def __init__(self, name, cast, seasons, tables, text):
        self.name, self.cast, self.seasons, self.tables, self.text = name, cast, seasons, tables, text


def rows(columns, *lines):
    """A table of facts that belong together: a story takes one line, all its columns."""
    keys = columns.split()
    table = [dict(zip(keys, (cell.strip() for cell in line.split(" / ")))) for line in lines]
    assert all(len(row) == len(keys) for row in table), (columns, [r for r in table if len(r) != len(keys)])
    return table


def plot(name, cast, text, *tables, seasons="spring summer autumn winter"):
    """cast: child, animal or grown. text: paragraphs. tables: rows(), of which a story takes a line each."""
    paragraphs = [" ".join(p.split()) for p in text.strip().split("\n\n")]
    PLOTS.append(Plot(name, cast, seasons.split(), tables, "\n\n".join(paragraphs)))


def with_article(phrase):
    an = re.match(r"[aeiou]|hour|honest", phrase) and not re.match(r"one|use|uni", phrase)
    return ("an " if an else "a ") + phrase


@functools.lru_cache(maxsize=None)
def parse(text):
    """Template text to a list of strings, ("slot", key) and ("choice", [alternatives])."""
    def sequence(at, inside):
        parts = []
        while at < len(text) and not (inside and text[at] in "|]"):
            if text[at] == "[":
                alternatives = []
                while text[at] != "]":
                    part, at = sequence(at + 1, True)
                    alternatives.append(part)
                parts.append(("choice", alternatives))
                at += 1
            elif text[at] == "{":
                end = text.index("}", at)
                parts.append(("slot", text[at + 1:end]))
                at = end + 1
            else:
                end = re.compile(r"[\[{|\]]|$").search(text, at + 1).start()
                parts.append(text[at:end])
                at = end
        return parts, at
    return sequence(0, False)[0]


def expand(text, slots, rng):
    def write(parts):
        out = []
        for part in parts:
            if isinstance(part, str):
                out.append(part)
            elif part[0] == "choice":
                out.append(write(part[1][int(rng.random() * len(part[1]))]))
            else:
                key = part[1]
                lower = key.lower()
                article = lower.startswith("a ")
                value = write(parse(slots[lower[2:] if article else lower]))
                if article:
                    value = with_article(value)
                out.append(value[0].upper() + value[1:] if key[0].isupper() else value)
        return "".join(out)
    story = write(parse(text))
    # An empty alternative leaves a space too many.
    return re.sub(r" +([.,!?\n])", r"\1", re.sub(r" {2,}", " ", story))
