# The llama architecture as a GGUF file means it: RMS norm before each block, rotary positions on adjacent
# pairs, grouped-query attention, SwiGLU, no biases; the embedding is also the output matrix.
import math

import torch
import torch.nn.functional as F
from torch import nn

N_VOCAB = 1024
N_CONTEXT = 512
DIM = 256  # a multiple of 256, so that every block format, K-quants included, can hold the rows
N_LAYERS = 4
N_HEADS = 8
N_KV_HEADS = 2
HEAD_DIM = DIM // N_HEADS
N_FF = 512
NORM_EPS = 1e-5
ROPE_BASE = 10000.0


def rope_table(n_positions, dtype):
    """cos and sin, (n_positions, HEAD_DIM / 2) each."""
    rates = ROPE_BASE ** (-torch.arange(0, HEAD_DIM, 2, dtype=torch.float64) / HEAD_DIM)
    angles = torch.arange(n_positions, dtype=torch.float64)[:, None] * rates
    return angles.cos().to(dtype), angles.sin().to(dtype)


def rotate(x, cos, sin):
    """Turns each adjacent pair (x[2i], x[2i+1]) of x, (rows, heads, positions, HEAD_DIM)."""
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2)


class RmsNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(DIM))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + NORM_EPS) * self.weight


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn_norm, self.ffn_norm = RmsNorm(), RmsNorm()
        self.attn_q = nn.Linear(DIM, N_HEADS * HEAD_DIM, bias=False)
        self.attn_k = nn.Linear(DIM, N_KV_HEADS * HEAD_DIM, bias=False)
        self.attn_v = nn.Linear(DIM, N_KV_HEADS * HEAD_DIM, bias=False)
        self.attn_output = nn.Linear(N_HEADS * HEAD_DIM, DIM, bias=False)
        self.ffn_gate = nn.Linear(DIM, N_FF, bias=False)
        self.ffn_up = nn.Linear(DIM, N_FF, bias=False)
        self.ffn_down = nn.Linear(N_FF, DIM, bias=False)

    def attention(self, y, cos, sin, mask):
        rows, n, _ = y.shape
        group = N_HEADS // N_KV_HEADS
        q = rotate(self.attn_q(y).view(rows, n, N_HEADS, HEAD_DIM).transpose(1, 2), cos, sin)
        k = rotate(self.attn_k(y).view(rows, n, N_KV_HEADS, HEAD_DIM).transpose(1, 2), cos, sin)
        v = self.attn_v(y).view(rows, n, N_KV_HEADS, HEAD_DIM).transpose(1, 2)
        # The heads of a group lie one after the other, so a group's queries are one taller matrix.
        q = (q * (1 / math.sqrt(HEAD_DIM))).reshape(rows, N_KV_HEADS, group * n, HEAD_DIM)
        scores = (q @ k.transpose(2, 3)).view(rows, N_KV_HEADS, group, n, n) + mask
        a = scores.softmax(-1).view(rows, N_KV_HEADS, group * n, n) @ v
        a = a.reshape(rows, N_HEADS, n, HEAD_DIM).transpose(1, 2).reshape(rows, n, N_HEADS * HEAD_DIM)
        return self.attn_output(a)

    def forward(self, x, cos, sin, mask):
        x = x + self.attention(self.attn_norm(x), cos, sin, mask)
        y = self.ffn_norm(x)
        return x + self.ffn_down(F.silu(self.ffn_gate(y)) * self.ffn_up(y))


class StoryModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.token_embd = nn.Embedding(N_VOCAB, DIM)
        self.blk = nn.ModuleList(Block() for _ in range(N_LAYERS))
        self.output_norm = RmsNorm()
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                residual = name.endswith(("attn_output.weight", "ffn_down.weight"))
                std = 0.02 if name.startswith("token_embd") else 1 / math.sqrt(weight.shape[1])
                nn.init.normal_(weight, std=std / math.sqrt(2 * N_LAYERS) if residual else std)

    def forward(self, ids):
        """ids: (rows, n) -> logits: (rows, n, N_VOCAB)."""
        n = ids.shape[1]
        x = self.token_embd(ids)
        cos, sin = rope_table(n, x.dtype)
        mask = torch.full((n, n), -math.inf, dtype=x.dtype).triu(1)
        for block in self.blk:
            x = block(x, cos, sin, mask)
        return F.linear(self.output_norm(x), self.token_embd.weight)


def story_losses(model, ids):
    """Sum of -log p over a story's tokens and their number. ids: <|endoftext|>, the story, <|endoftext|>."""
    with torch.no_grad():
        logits = model(torch.tensor([ids[:-1]]))[0]
        return F.cross_entropy(logits, torch.tensor(ids[1:]), reduction="sum").item(), len(ids) - 1
