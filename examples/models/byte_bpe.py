# Byte-level BPE, trained and applied: text is cut by GPT-2's pattern, each piece's bytes are merged in rank
# order. Ids: 0-255 are the bytes themselves, then one id per merge, then <|endoftext|>, which both begins and
# ends a story.
import collections
import math
import re

# GPT-2's pre-tokenizer. `re` has no \p{L} and \p{N}; [^\W\d_] and \d are the same for our text.
WORDS = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")
END = "<|endoftext|>"


def byte_alphabet():
    """GPT-2's printable stand-in for each byte, which is how vocabularies store pieces."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in printable]
    return {**{b: chr(b) for b in printable}, **{b: chr(256 + i) for i, b in enumerate(others)}}


class Bpe:
    def __init__(self, merges):
        self.merges = [tuple(pair) for pair in merges]
        self.ranks = {pair: rank for rank, pair in enumerate(self.merges)}
        self.end = 256 + len(self.merges)
        self.pieces = [bytes([b]) for b in range(256)]  # (n_tokens - 1) the bytes of each id
        for left, right in self.merges:
            self.pieces.append(self.pieces[left] + self.pieces[right])
        self.cache = {}  # word -> ids: a story has few different words

    def encode(self, text):
        ids = []
        for word in WORDS.findall(text):
            if word not in self.cache:
                self.cache[word] = self.merge(list(word.encode()))
            ids += self.cache[word]
        return ids

    def merge(self, ids):
        while len(ids) > 1:
            rank, at = min((self.ranks.get(pair, math.inf), at) for at, pair in enumerate(zip(ids, ids[1:])))
            if rank == math.inf:
                break
            ids = [*ids[:at], 256 + rank, *ids[at + 2:]]
        return ids

    def decode(self, ids):
        pieces = [*self.pieces, END.encode()]
        return b"".join(pieces[i] for i in ids).decode(errors="replace")

    def token_strings(self):
        alphabet = byte_alphabet()
        return ["".join(alphabet[b] for b in piece) for piece in self.pieces] + [END]

    def merge_strings(self):
        strings = self.token_strings()
        return [f"{strings[left]} {strings[right]}" for left, right in self.merges]


def train_bpe(texts, n_tokens):
    """Merges the commonest neighbours until there are n_tokens; of equal counts, the pair of lowest ids."""
    words = collections.Counter(word for text in texts for word in WORDS.findall(text))
    spelled = [(list(word.encode()), count) for word, count in sorted(words.items())]
    merges = []
    while len(merges) < n_tokens - 257:
        pairs = collections.Counter()
        for ids, count in spelled:
            for pair in zip(ids, ids[1:]):
                pairs[pair] += count
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        new = 256 + len(merges)
        merges.append(best)
        for ids, _ in spelled:
            at = 0
            while at + 1 < len(ids):
                if (ids[at], ids[at + 1]) == best:
                    ids[at:at + 2] = [new]
                at += 1
    return Bpe(merges)
