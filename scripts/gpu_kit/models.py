"""GPT-2 and Llama as training scripts write them: each model returns its loss of the tokens that come next. gpt2.py is another GPT-2, for traces:
the same parameters and kernels as traces/torch_gpt2."""
import gpt2
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

GPT2 = {name.removeprefix("gpt2-"): sizes for name, sizes in gpt2.SIZES.items()}    # layers, width, heads
LLAMA = {   # layers, width, heads, heads of keys and values, width of the MLP, vocabulary, whether the output layer is the embedding
    "llama-1b": (16, 2048, 32, 8, 8192, 128256, True),
    "llama-3b": (28, 3072, 24, 8, 8192, 128256, True),
    "llama-8b-half": (16, 4096, 32, 8, 14336, 128256, False),
    "llama-8b": (32, 4096, 32, 8, 14336, 128256, False),
    "llama-70b-4": (4, 8192, 64, 8, 28672, 128256, False),
    "tiny": (2, 64, 2, 1, 128, 512, False),
}


def build(name, device, dtype=torch.float32, recompute=False):
    torch.manual_seed(0)
    with torch.device(device):
        model = Llama(*LLAMA[name]) if name in LLAMA else Gpt2(*GPT2[name])
    model.recompute = recompute
    return model.to(dtype)


class Model(nn.Module):
    """What both have: blocks, each of which may be recomputed in backward."""

    def __init__(self, vocabulary, blocks):
        super().__init__()
        self.vocabulary, self.blocks, self.recompute = vocabulary, nn.ModuleList(blocks), False

    def through_blocks(self, x, *more):
        for block in self.blocks:
            x = checkpoint(block, x, *more, use_reentrant=False) if self.recompute else block(x, *more)
        return x


def split_heads(x, heads):
    batch, sequence, width = x.shape
    return x.view(batch, sequence, heads, width // heads).transpose(1, 2)


def join_heads(x):
    batch, heads, sequence, width = x.shape
    return x.transpose(1, 2).reshape(batch, sequence, heads * width)


class Gpt2Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = (split_heads(part, self.heads) for part in self.qkv(self.norm_1(x)).split(x.shape[-1], -1))
        x = x + self.out(join_heads(F.scaled_dot_product_attention(q, k, v, is_causal=True)))
        return x + self.down(F.gelu(self.up(self.norm_2(x)), approximate="tanh"))


class Gpt2(Model):
    def __init__(self, layers, width, heads, positions=2048):
        super().__init__(gpt2.VOCABULARY, (Gpt2Block(width, heads) for _ in range(layers)))
        self.words, self.positions, self.norm = nn.Embedding(self.vocabulary, width), nn.Embedding(positions, width), nn.LayerNorm(width)

    def forward(self, tokens):
        x = self.words(tokens) + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        logits = F.linear(self.norm(self.through_blocks(x)), self.words.weight)
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return F.rms_norm(x, self.weight.shape, self.weight.to(x.dtype), 1e-5)


def rotated(x, cos, sin):
    first, second = x.chunk(2, -1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)


class LlamaBlock(nn.Module):
    def __init__(self, width, heads, kv_heads, mlp):
        super().__init__()
        self.heads, self.kv_heads, head = heads, kv_heads, width // heads

        def linear(inputs, outputs):
            return nn.Linear(inputs, outputs, bias=False)
        self.norm_1, self.norm_2 = RmsNorm(width), RmsNorm(width)
        self.q, self.k, self.v, self.out = linear(width, heads * head), linear(width, kv_heads * head), linear(width, kv_heads * head), linear(heads * head, width)
        self.gate, self.up, self.down = linear(width, mlp), linear(width, mlp), linear(mlp, width)

    def forward(self, x, cos, sin):
        y = self.norm_1(x)
        q, k, v = split_heads(self.q(y), self.heads), split_heads(self.k(y), self.kv_heads), split_heads(self.v(y), self.kv_heads)
        attended = F.scaled_dot_product_attention(rotated(q, cos, sin), rotated(k, cos, sin), v, is_causal=True, enable_gqa=self.kv_heads != self.heads)
        x = x + self.out(join_heads(attended))
        y = self.norm_2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(Model):
    def __init__(self, layers, width, heads, kv_heads, mlp, vocabulary, tied):
        super().__init__(vocabulary, (LlamaBlock(width, heads, kv_heads, mlp) for _ in range(layers)))
        self.head_width = width // heads
        self.words, self.norm = nn.Embedding(vocabulary, width), RmsNorm(width)
        self.head = None if tied else nn.Linear(width, vocabulary, bias=False)

    def rotation(self, sequence, device):
        places = torch.arange(sequence, device=device)[:, None]
        angles = places * 5e5 ** (-torch.arange(0, self.head_width, 2, device=device) / self.head_width)
        return angles.cos().to(torch.bfloat16), angles.sin().to(torch.bfloat16)

    def forward(self, tokens):
        x = self.words(tokens)
        cos, sin = self.rotation(tokens.shape[1], tokens.device)
        if torch.is_autocast_enabled(tokens.device.type):
            x = x.to(torch.bfloat16)
        y = self.norm(self.through_blocks(x, cos, sin))
        logits = F.linear(y, self.words.weight) if self.head is None else self.head(y)
        return F.cross_entropy(logits[:, :-1].flatten(0, 1).float(), tokens[:, 1:].flatten())
