"""GPT-2 in PyTorch, the same as traces/torch_gpt2 is in LibTorch: the same parameters, in the same order, by the same kernels."""
import torch
import torch.nn.functional as F
from torch import nn

SIZES = {"gpt2": (12, 768, 12), "gpt2-medium": (24, 1024, 16), "gpt2-large": (36, 1280, 20), "gpt2-xl": (48, 1600, 25)}
VOCABULARY, POSITIONS = 50257, 1024


class Conv1D(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs).normal_(0, 0.02))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return torch.addmm(self.bias, x.reshape(-1, self.weight.shape[0]), self.weight).view(*x.shape[:-1], -1)


def causal_attention(q, k, v):
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
    return torch.softmax(scores.masked_fill(future, -float("inf")), -1).to(v.dtype) @ v


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.c_attn, self.c_proj = heads, Conv1D(width, 3 * width), Conv1D(width, width)

    def forward(self, x):
        batch, sequence, width = x.shape
        q, k, v = (part.view(batch, sequence, self.heads, -1).transpose(1, 2) for part in self.c_attn(x).split(width, 2))
        return self.c_proj(causal_attention(q, k, v).transpose(1, 2).reshape(batch, sequence, width))


class Mlp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.c_fc, self.c_proj = Conv1D(width, 4 * width), Conv1D(4 * width, width)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1, self.attn, self.ln_2, self.mlp = nn.LayerNorm(width), Attention(width, heads), nn.LayerNorm(width), Mlp(width)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt2(nn.Module):
    """Its loss; the output layer is the token embedding."""

    def __init__(self, name):
        super().__init__()
        layers, width, heads = SIZES[name]
        body = self.transformer = nn.Module()
        body.wte, body.wpe = nn.Embedding(VOCABULARY, width), nn.Embedding(POSITIONS, width)
        body.h = nn.ModuleList(Block(width, heads) for _ in range(layers))
        body.ln_f = nn.LayerNorm(width)

    def forward(self, tokens, targets):
        body = self.transformer
        x = body.wte(tokens) + body.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in body.h:
            x = block(x)
        logits = F.linear(body.ln_f(x), body.wte.weight)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())
