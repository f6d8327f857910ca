# Turns the trained model into what is committed: stories.gguf, held_out.txt, and expected.json, which holds
# what any reader of the file must find. Its figures are computed in double precision from the weights as they
# are in the file, that is after Q8_0.
import itertools
import json
import math
import os

import torch

import model as shape
from byte_bpe import END
from make_stories import stories
from model import StoryModel, story_losses
from write_gguf import from_q8_0, write_gguf

NORMAL, CONTROL = 1, 3
PROMPT = "Once upon a time"
GREEDY_TOKENS = 64
HELD_OUT_STORIES = 12
HELD_OUT_SEED = 10_000_000  # far from the seeds of the training


def gguf_entries(bpe):
    return [
        ("general.architecture", "string", "llama"),
        ("general.name", "string", "librz stories"),
        ("general.description", "string", "Writes little stories; trained on generated text only."),
        ("general.license", "string", "MIT"),
        ("general.file_type", "u32", 7),
        ("general.quantization_version", "u32", 2),
        ("llama.context_length", "u32", shape.N_CONTEXT),
        ("llama.embedding_length", "u32", shape.DIM),
        ("llama.block_count", "u32", shape.N_LAYERS),
        ("llama.feed_forward_length", "u32", shape.N_FF),
        ("llama.attention.head_count", "u32", shape.N_HEADS),
        ("llama.attention.head_count_kv", "u32", shape.N_KV_HEADS),
        ("llama.attention.layer_norm_rms_epsilon", "f32", shape.NORM_EPS),
        ("llama.rope.dimension_count", "u32", shape.HEAD_DIM),
        ("llama.rope.freq_base", "f32", shape.ROPE_BASE),
        ("llama.vocab_size", "u32", shape.N_VOCAB),
        ("tokenizer.ggml.model", "string", "gpt2"),
        ("tokenizer.ggml.pre", "string", "gpt-2"),
        ("tokenizer.ggml.tokens", "string[]", bpe.token_strings()),
        ("tokenizer.ggml.token_type", "i32[]", [NORMAL] * bpe.end + [CONTROL]),
        ("tokenizer.ggml.merges", "string[]", bpe.merge_strings()),
        ("tokenizer.ggml.bos_token_id", "u32", bpe.end),
        ("tokenizer.ggml.eos_token_id", "u32", bpe.end),
        ("tokenizer.ggml.add_bos_token", "bool", True),
        ("tokenizer.ggml.add_eos_token", "bool", False),
    ]


def as_in_the_file(model):
    """A double-precision model of the weights that a reader of the file sees."""
    seen = StoryModel().double()
    seen.load_state_dict({name: torch.from_numpy(from_q8_0(w.numpy()) if w.dim() == 2 else w.numpy()).double()
                          for name, w in model.state_dict().items()})
    return seen


@torch.no_grad()
def greedy(model, ids, count):
    """The likeliest next ids one after another, and the smallest lead of a best logit over the second."""
    ids, gap = list(ids), math.inf
    for _ in range(count):
        best = model(torch.tensor([ids]))[0, -1].topk(2)
        gap = min(gap, float(best.values[0] - best.values[1]))
        ids.append(int(best.indices[0]))
    return ids[-count:], gap


@torch.no_grad()
def sample(model, bpe, ids, temperature, seed):
    """A whole story, for people to read."""
    torch.manual_seed(seed)
    ids = list(ids)
    while len(ids) < shape.N_CONTEXT:
        chances = (model(torch.tensor([ids]))[0, -1] / temperature).softmax(-1)
        ids.append(int(torch.multinomial(chances, 1)))
        if ids[-1] == bpe.end:
            break
    return bpe.decode(ids[1:])


def write_all(model, bpe, folder):
    write_gguf(os.path.join(folder, "stories.gguf"), gguf_entries(bpe),
               {name: w.numpy() for name, w in model.state_dict().items()})
    held_out = list(itertools.islice(stories("held_out", HELD_OUT_SEED), HELD_OUT_STORIES))
    with open(os.path.join(folder, "held_out.txt"), "w") as file:
        file.write("".join(story + END for story in held_out))

    seen = as_in_the_file(model)
    rows = [[bpe.end, *bpe.encode(story), bpe.end] for story in held_out]
    sums = [story_losses(seen, row) for row in rows]
    tokens = sum(n for _, n in sums)
    prompt = [bpe.end, *bpe.encode(PROMPT)]
    ids, gap = greedy(seen, prompt, GREEDY_TOKENS)
    expected = {
        "prompt": PROMPT,
        "prompt_ids": prompt,
        "greedy_ids": ids,
        "greedy_text": bpe.decode(ids),
        "greedy_smallest_gap": round(gap, 6),
        "held_out_stories": len(held_out),
        "held_out_tokens": tokens,
        "held_out_perplexity": round(math.exp(sum(loss for loss, _ in sums) / tokens), 6),
    }
    with open(os.path.join(folder, "expected.json"), "w") as file:
        json.dump(expected, file, indent=1)
        file.write("\n")
    print(f"held-out perplexity of the file: {expected['held_out_perplexity']}")
    for seed in range(3):
        print(f"\n--- sampled, temperature 0.8, seed {seed}\n{sample(seen, bpe, prompt, 0.8, seed)}")
