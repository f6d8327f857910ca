#!/usr/bin/env python3
# Trains the embedded story model from nothing and writes stories.gguf, held_out.txt and expected.json beside
# itself. Needs Debian's python3-torch. The same seed gives the same data, batches and first weights.
import argparse
import itertools
import math
import os
import random
import time

import torch
import torch.nn.functional as F

import export
from byte_bpe import Bpe, train_bpe
from make_stories import stories
from model import N_CONTEXT, N_VOCAB, StoryModel, story_losses

SEED = 1
BPE_STORIES = 20000
HELD_OUT_STORIES = 100  # for the perplexity printed on the way
BATCH_TOKENS = 2048
WINDOW = 512  # stories sorted by length at a time, so that a batch is padded little
LONG_BATCHES = 10  # for each window
PEAK_RATE = 3e-3
WARM_UP = 100


def batches(bpe):
    """Endless (rows, n) batches of ids, padded with -1; each story is seen once."""
    rng = random.Random(SEED)
    source = ([bpe.end, *bpe.encode(story), bpe.end] for story in stories("train"))
    while True:
        window = sorted(itertools.islice(source, WINDOW), key=len)
        cut = []
        while window:
            rows = max(1, BATCH_TOKENS // len(window[-1]))
            cut.append([window.pop() for _ in range(min(rows, len(window)))])
        # Some batches hold rows of the whole context, so that late positions are learnt too: a story and the
        # beginning of another.
        for _ in range(LONG_BATCHES):
            pairs = [(next(source), next(source)) for _ in range(BATCH_TOKENS // N_CONTEXT)]
            cut.append([(first[:-1] + second)[:N_CONTEXT + 1] for first, second in pairs])
        rng.shuffle(cut)
        for rows in cut:
            longest = max(map(len, rows))
            yield torch.tensor([row + [-1] * (longest - len(row)) for row in rows])


def rate_at(step, steps):
    """Linear warm-up, then half a cosine down to nothing."""
    if step < WARM_UP:
        return PEAK_RATE * (step + 1) / WARM_UP
    return PEAK_RATE * 0.5 * (1 + math.cos(math.pi * (step - WARM_UP) / max(1, steps - WARM_UP)))


def perplexity(model, rows):
    sums = [story_losses(model, row) for row in rows]
    return math.exp(sum(loss for loss, _ in sums) / sum(n for _, n in sums))


def train(model, bpe, steps, checkpoint, resumed):
    matrices = [p for p in model.parameters() if p.dim() == 2]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    groups = [dict(params=matrices, weight_decay=0.1), dict(params=vectors, weight_decay=0.0)]
    optimizer = torch.optim.AdamW(groups, lr=PEAK_RATE, betas=(0.9, 0.95))
    held_out = itertools.islice(stories("held_out"), HELD_OUT_STORIES)
    held_out = [[bpe.end, *bpe.encode(story), bpe.end] for story in held_out]
    first = 0
    if resumed:
        optimizer.load_state_dict(resumed["optimizer"])
        first = resumed["steps"]
    start, seen = time.time(), 0
    for step, batch in itertools.islice(enumerate(batches(bpe)), first, steps):
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, steps)
        inputs, targets = batch[:, :-1].clamp(min=0), batch[:, 1:]
        with torch.autocast("cpu", dtype=torch.bfloat16):  # the weights and their updates stay float
            logits = model(inputs)
        loss = F.cross_entropy(logits.float().flatten(0, 1), targets.flatten(), ignore_index=-1)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        seen += int((targets >= 0).sum())
        if step % 25 == 0 or step == steps - 1:
            print(f"step {step:5d}  loss {loss.item():.4f}  {seen / 1e6:6.2f} M tokens  "
                  f"{time.time() - start:6.0f} s", flush=True)
        if step % 250 == 249 or step == steps - 1:
            torch.save(dict(steps=step + 1, merges=bpe.merges, weights=model.state_dict(),
                            optimizer=optimizer.state_dict()), checkpoint)
            print(f"            held-out perplexity {perplexity(model, held_out):.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description="Train the embedded story model.")
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--work", default="/tmp", help="folder for the checkpoint")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint")
    parser.add_argument("--export-only", action="store_true", help="from the checkpoint, without training")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(SEED)
    model = StoryModel()
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters")
    checkpoint, saved = os.path.join(args.work, "stories.pt"), None
    if args.resume or args.export_only:
        saved = torch.load(checkpoint)
        model.load_state_dict(saved["weights"])
        bpe = Bpe(saved["merges"])
    else:
        bpe = train_bpe(itertools.islice(stories("train"), BPE_STORIES), N_VOCAB)
    if not args.export_only:
        train(model, bpe, args.steps, checkpoint, saved)
    export.write_all(model, bpe, os.path.dirname(os.path.abspath(__file__)))


if __name__ == "__main__":
    main()
