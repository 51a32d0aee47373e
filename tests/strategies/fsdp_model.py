"""The model that record_fsdp.py trains: GPT-like, small, and marked where the pass of a unit starts.

FSDP's hooks stand around a module's forward; the marks stand inside. So what FSDP does before a unit's pass comes before its
mark, and what it does after the pass comes before the next mark.
"""
import torch
from torch import nn
from torch.nn import functional as F

from stream_graph import GRAPH

VOCABULARY, CONTEXT = 101, 8


class MarkBackward(torch.autograd.Function):
    """The identity; its backward pass, which comes before that of what made its input, marks."""

    @staticmethod
    def forward(ctx, x, unit):
        ctx.unit = unit
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        GRAPH.compute_op("backward", ctx.unit)
        return gradient, None


class Layer(nn.Module):
    def __init__(self, unit, width):
        super().__init__()
        self.unit = unit
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.attn_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.c_fc, self.mlp_proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        GRAPH.compute_op("forward", self.unit)
        q, k, v = self.c_attn(self.ln_1(x)).chunk(3, -1)
        x = x + self.attn_proj(torch.softmax(q @ k.transpose(-1, -2), -1) @ v)
        return MarkBackward.apply(x + self.mlp_proj(F.gelu(self.c_fc(self.ln_2(x)))), self.unit)


class Gpt(nn.Module):
    unit = "root"

    def __init__(self, layers, width, tied, layers_a_unit=1):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, width), nn.Embedding(CONTEXT, width)
        # A unit is called by its first layer.
        self.h = nn.ModuleList(Layer(f"h.{i - i % layers_a_unit}", width) for i in range(layers))
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, VOCABULARY, bias=False)
        if tied:
            self.lm_head.weight = self.wte.weight

    def forward(self, tokens):
        GRAPH.compute_op("forward", "root")
        x = MarkBackward.apply(self.wte(tokens) + self.wpe(torch.arange(CONTEXT)), "root")
        for layer in self.h:
            x = layer(x)
        GRAPH.compute_op("forward", "root")
        return MarkBackward.apply(self.lm_head(self.ln_f(x)), "root")


MODELS = {
    "tied_3": {"layers": 3, "width": 16, "tied": True},
    "untied_3": {"layers": 3, "width": 16, "tied": False},
    "tied_5": {"layers": 5, "width": 15, "tied": True},     # an odd width: every parameter's rows are padded on two ranks
    "untied_5": {"layers": 5, "width": 15, "tied": False},
    "untied_4": {"layers": 4, "width": 16, "tied": False},  # two units of two layers
}


def build(name, layers_a_unit=1):
    torch.manual_seed(1)
    return Gpt(**MODELS[name], layers_a_unit=layers_a_unit)


def tokens(rank):
    return torch.randint(VOCABULARY, (2, CONTEXT), generator=torch.Generator().manual_seed(2 + rank))


def parameters_of(name):
    """[name, shape, part] by registration; the parts run forward in order: embeddings, layers, norm and head."""
    model = build(name)
    last = len(model.h) + 1

    def part(parameter):
        return 1 + int(parameter.split(".")[1]) if parameter.startswith("h.") else 0 if parameter.startswith("w") else last

    return [[n, list(p.shape), part(n)] for n, p in model.named_parameters()]


def arrivals_of(name):
    """Places in parameters_of(name), as the gradients arrive in the model by itself."""
    model, arrivals = build(name), []
    for i, parameter in enumerate(model.parameters()):
        parameter.register_post_accumulate_grad_hook(lambda _, i=i: arrivals.append(i))
    model(tokens(0)).float().mean().backward()
    return arrivals
