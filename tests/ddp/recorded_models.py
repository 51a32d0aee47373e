"""The models whose buckets record_pytorch.py records: the structure of well-known networks, narrow enough for CPUs.

build(name) makes a model. forward(iteration, rank) draws its own small input and returns a tensor; its sum is the loss.
"""
import torch
from torch import nn
from torch.nn import functional as F

DTYPES = {"f": torch.float32, "h": torch.float16, "b": torch.bfloat16, "d": torch.float64}


class Block(nn.Module):
    """A residual block of ResNet-18 (two 3x3 convolutions) or ResNet-50 (bottleneck of three)."""

    def __init__(self, inputs, width, stride, bottleneck):
        super().__init__()
        outputs = 4 * width if bottleneck else width
        shapes = [(inputs, width, 3), (width, width, 3)]
        if bottleneck:
            shapes = [(inputs, width, 1), (width, width, 3), (width, outputs, 1)]
        self.depth = len(shapes)
        strided = 1 if bottleneck else 0
        for i, (a, b, kernel) in enumerate(shapes):
            setattr(self, f"conv{i}", nn.Conv2d(a, b, kernel, stride if i == strided else 1, kernel // 2, bias=False))
            setattr(self, f"bn{i}", nn.BatchNorm2d(b))
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = x
        for i in range(self.depth):
            y = getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(y))
            if i + 1 < self.depth:
                y = F.relu(y)
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    def __init__(self, blocks, width, bottleneck, classes):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width)
        channels, layers = width, []
        for stage, count in enumerate(blocks):
            for i in range(count):
                layers.append(Block(channels, width << stage, 2 if stage and not i else 1, bottleneck))
                channels = (width << stage) * (4 if bottleneck else 1)
        self.layers = nn.Sequential(*layers)
        self.fc = nn.Linear(channels, classes)

    def forward(self, iteration, rank):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(torch.randn(2, 3, 32, 32)))), 3, 2, 1)
        return self.fc(self.layers(x).mean((2, 3)))


def attention(q, k, v, heads):
    q, k, v = (t.view(*t.shape[:2], heads, -1).transpose(1, 2) for t in (q, k, v))
    y = torch.softmax(q @ k.transpose(-1, -2), -1) @ v
    return y.transpose(1, 2).flatten(2)


class Gpt2Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.c_attn, self.attn_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.ln_2 = nn.LayerNorm(width)
        self.c_fc, self.mlp_proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attn_proj(attention(*self.c_attn(self.ln_1(x)).chunk(3, -1), 4))
        return x + self.mlp_proj(F.gelu(self.c_fc(self.ln_2(x))))


class Gpt2(nn.Module):
    """The output layer shares the token embedding's weight."""

    def __init__(self, vocabulary, width, layers):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(64, width)
        self.h = nn.ModuleList(Gpt2Layer(width) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, vocabulary, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, iteration, rank):
        x = self.wte(torch.randint(self.wte.num_embeddings, (1, 8))) + self.wpe(torch.arange(8))
        for layer in self.h:
            x = layer(x)
        return self.lm_head(self.ln_f(x))


class BertLayer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.attention_output, self.attention_norm = nn.Linear(width, width), nn.LayerNorm(width)
        self.intermediate, self.output = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.output_norm = nn.LayerNorm(width)

    def forward(self, x):
        y = attention(self.query(x), self.key(x), self.value(x), 4)
        x = self.attention_norm(x + self.attention_output(y))
        return self.output_norm(x + self.output(F.gelu(self.intermediate(x))))


class Bert(nn.Module):
    def __init__(self, vocabulary, width, layers, frozen_embeddings=False):
        super().__init__()
        self.word, self.position, self.token_type = (nn.Embedding(n, width) for n in (vocabulary, 128, 2))
        self.norm = nn.LayerNorm(width)
        for part in (self.word, self.position, self.token_type) if frozen_embeddings else ():
            part.weight.requires_grad = False
        self.layers = nn.ModuleList(BertLayer(width) for _ in range(layers))
        self.pooler, self.classifier = nn.Linear(width, width), nn.Linear(width, 2)

    def forward(self, iteration, rank):
        x = self.word(torch.randint(self.word.num_embeddings, (1, 8)))
        x = self.norm(x + self.position(torch.arange(8)) + self.token_type(torch.zeros(1, 8, dtype=torch.long)))
        for layer in self.layers:
            x = layer(x)
        return self.classifier(torch.tanh(self.pooler(x[:, 0])))


class MixedLinear(nn.Module):
    def __init__(self, inputs, outputs, weight, bias):
        super().__init__()
        self.weight = nn.Parameter((torch.randn(outputs, inputs) / inputs).to(DTYPES[weight]))
        self.bias = nn.Parameter(torch.zeros(outputs).to(DTYPES[bias]))

    def forward(self, x):
        return F.linear(x, self.weight.float(), self.bias.float())


class Mixed(nn.Module):
    """Linear layers whose parameters differ in dtype, computed in float32. pattern: weight and bias of each layer, such as
    "hf dd"; order: the layers as the forward pass goes through them."""

    def __init__(self, pattern, order=None):
        super().__init__()
        layers, widths = pattern.split(), [64, 96, 48, 128, 80, 32]
        self.order = order or range(len(layers))
        place = {layer: k for k, layer in enumerate(self.order)}
        width = [widths[k % len(widths)] for k in range(len(layers) + 1)]
        self.layers = nn.ModuleList(
            MixedLinear(width[place[i]], width[place[i] + 1], *dtypes) for i, dtypes in enumerate(layers))

    def forward(self, iteration, rank):
        x = torch.randn(2, self.layers[self.order[0]].weight.shape[1])
        for i in self.order:
            x = torch.tanh(self.layers[i](x))
        return x


class MixtureOfExperts(nn.Module):
    """experts(iteration, rank): those the tokens are sent to; the others get no gradient."""

    def __init__(self, experts):
        super().__init__()
        self.experts = experts
        width = 64
        self.embedding, self.router = nn.Embedding(300, width), nn.Linear(width, 4)
        self.expert = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)) for _ in range(4))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 100)

    def forward(self, iteration, rank):
        x = self.embedding(torch.randint(300, (4,)))
        gates = torch.softmax(self.router(x), -1)
        y = sum(gates[:, i : i + 1] * self.expert[i](x) for i in self.experts(iteration, rank))
        return self.head(self.norm(x + y))


MODELS = {
    "resnet18": lambda: ResNet([2, 2, 2, 2], 32, False, 1000),
    "resnet50": lambda: ResNet([3, 4, 6, 3], 16, True, 100),
    "gpt2": lambda: Gpt2(5003, 128, 4),
    "gpt2_wide": lambda: Gpt2(9001, 320, 5),
    "bert": lambda: Bert(3001, 128, 3),
    "bert_frozen": lambda: Bert(3001, 128, 3, frozen_embeddings=True),
    "mixed_2_weights": lambda: Mixed("hf hf hf hf hf hf hf"),
    "mixed_2_layers": lambda: Mixed("ff hh ff hh fh hf ff hh"),
    "mixed_3": lambda: Mixed("ff hf df fd hh dd fh ff"),
    "mixed_3_cyclic": lambda: Mixed("dd hh ff dh hf fd hh dd"),
    "mixed_3_shuffled": lambda: Mixed("hd ff dd hh fd hf df hh", order=[3, 0, 6, 1, 7, 2, 5, 4]),
    "mixed_4": lambda: Mixed("hb fd bb ff dh bf dd hf"),
    "mixed_4_shuffled": lambda: Mixed("bd ff dd hb fh bf db hh", order=[5, 2, 0, 7, 1, 3, 6, 4]),
    "moe": lambda: MixtureOfExperts(lambda iteration, rank: [(0, 1), (1, 2), (3, 0)][iteration]),
    "moe_all": lambda: MixtureOfExperts(lambda iteration, rank: (0, 1, 2, 3)),
    "moe_fixed": lambda: MixtureOfExperts(lambda iteration, rank: (0, 2)),
    "moe_ranks": lambda: MixtureOfExperts(lambda iteration, rank: (rank, 2 + iteration % 2)),
}


def build(name):
    torch.manual_seed(1)
    return MODELS[name]()
