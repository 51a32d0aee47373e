#!/usr/bin/env python3
"""kernels.py products|attention|elementwise|optimizer|grouped|float8 OUT.csv [--device cuda] [--quick]: kernels of training steps, each alone, by shape.
Exit code 3: what it takes is not here."""
import contextlib

import gpt2
import sections
import torch
import torch.nn.functional as F
from clock import Clock
from torch import nn

BF16 = torch.bfloat16


class Bench:
    """Random tensors of a device, and how long calls take there."""

    def __init__(self, device):
        self.device, self.clock = device, Clock(device)

    def random(self, *shape, dtype=BF16, grad=False):
        return torch.randn(shape, device=self.device, dtype=dtype, requires_grad=grad)

    def indices(self, end, count):
        return torch.randint(0, end, (count,), device=self.device)

    def seconds(self, call, batch_s=0.008, batches=3):
        return self.clock.of(call, batch_s, batches)

    def both(self, function, *inputs):
        """Seconds of forward and of backward."""
        forward = self.seconds(lambda: function(*inputs))
        output = function(*inputs)
        gradient = torch.randn_like(output)
        return forward, self.seconds(lambda: torch.autograd.grad(output, inputs, gradient, retain_graph=True))


def name_of(dtype):
    return str(dtype).removeprefix("torch.")


def refused(what, error):
    """A row's name that says why it has no times."""
    return f"{what}: {str(error).splitlines()[0][:60]}"


def products_of_layer(bench, tokens, outputs, inputs, dtype=BF16, label=""):
    x, weight, gradient = (bench.random(*shape, dtype=dtype) for shape in ((tokens, inputs), (outputs, inputs), (tokens, outputs)))
    for what, call, shape in (("forward", lambda: F.linear(x, weight), (tokens, outputs, inputs)),
                              ("input", lambda: gradient @ weight, (tokens, inputs, outputs)),
                              ("weight", lambda: gradient.t() @ x, (outputs, inputs, tokens))):
        seconds = bench.seconds(call)
        yield what, label or name_of(dtype), *shape, seconds, 2 * tokens * outputs * inputs / seconds


def products(device, quick):
    yield "pass", "dtype", "m", "n", "k", "seconds", "flop_per_s"
    bench = Bench(device)
    for hidden in (64,) if quick else (768, 1024, 1280, 1600, 2048, 3072, 4096, 5120, 8192):
        for tokens in (256,) if quick else (1024, 2048, 4096, 8192, 16384):
            for outputs, inputs in ((3 * hidden, hidden), (hidden, hidden), (4 * hidden, hidden), (hidden, 4 * hidden)):
                yield from products_of_layer(bench, tokens, outputs, inputs)
    if quick:
        return
    llama = ((6144, 4096), (28672, 4096), (4096, 14336), (128256, 4096), (128256, 2048))
    odd_vocabulary = ((50257, 768), (50304, 768), (50257, 1600), (50304, 1600))
    for tokens in (2048, 4096, 8192):
        for outputs, inputs in llama + odd_vocabulary:
            yield from products_of_layer(bench, tokens, outputs, inputs)
    for tf32 in (False, True):
        torch.backends.cuda.matmul.allow_tf32 = tf32
        for hidden in (768, 1280, 2048, 4096):
            for outputs, inputs in ((3 * hidden, hidden), (hidden, 4 * hidden)):
                yield from products_of_layer(bench, 4096, outputs, inputs, torch.float32, "tf32" if tf32 else "float32")
    x, weight = bench.random(8192, 8192), bench.random(8192, 8192)
    for second in range(4):     # long enough for the GPU's power limit
        seconds = bench.seconds(lambda: F.linear(x, weight), 0.7, 1)
        yield f"sustained{second}", "bfloat16", 8192, 8192, 8192, seconds, 2 * 8192 ** 3 / seconds


def attention(device, quick):
    yield "kernel", "batch", "heads", "kv_heads", "sequence", "width", "forward_s", "backward_s", "causal_flop_forward"
    sections.need_torch(2, 7)
    from torch.nn.attention import SDPBackend, sdpa_kernel
    bench = Bench(device)
    for heads, kv_heads, width in ((2, 2, 64),) if quick else ((16, 16, 64), (25, 25, 64), (32, 8, 128), (64, 8, 128)):
        def attend(q, k, v):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=kv_heads != heads)
        for sequence in (128,) if quick else (512, 1024, 2048, 4096, 8192, 16384, 32768):
            batch = max(1, 16384 // sequence)
            shape = batch, heads, kv_heads, sequence, width
            for kernel in ("FLASH_ATTENTION", "CUDNN_ATTENTION", "default") if device == "cuda" else ("default",):
                try:
                    q, k, v = (bench.random(batch, count, sequence, width, grad=True) for count in (heads, kv_heads, kv_heads))
                    with contextlib.nullcontext() if kernel == "default" else sdpa_kernel(getattr(SDPBackend, kernel)):
                        yield kernel, *shape, *bench.both(attend, q, k, v), 2 * batch * heads * sequence * sequence * width
                except RuntimeError as error:
                    yield refused(kernel, error), *shape, "", "", ""


def eager_rms_norm(x, weight):
    wide = x.float()
    return weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype)


def passes_of_block(bench, tokens, width, dtype):
    size = tokens * width * torch.finfo(dtype).bits // 8
    x, other = (bench.random(tokens, width, dtype=dtype, grad=True) for _ in range(2))
    weight, bias = (bench.random(width, dtype=dtype, grad=True) for _ in range(2))
    for what, function, inputs in (("layer_norm", lambda x, weight, bias: F.layer_norm(x, (width,), weight, bias), (x, weight, bias)),
                                   ("rms_norm_fused", lambda x, weight: F.rms_norm(x, (width,), weight), (x, weight)),
                                   ("rms_norm_eager", eager_rms_norm, (x, weight)),
                                   ("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), (x,)),
                                   ("silu_times", lambda x, other: F.silu(x) * other, (x, other)),
                                   ("add", torch.add, (x, other)),
                                   ("dropout", lambda x: F.dropout(x, 0.1), (x,))):
        yield what, name_of(dtype), tokens, width, *bench.both(function, *inputs), size
    if dtype == BF16:
        master = bench.random(tokens, width, dtype=torch.float32)
        yield "cast_to_bf16", "float32", tokens, width, bench.seconds(lambda: master.to(BF16)), "", 2 * size
    if dtype == BF16 and width % 128 == 0:
        cos, sin = bench.random(tokens // 8, 1, 64), bench.random(tokens // 8, 1, 64)
        def rotate(x):
            first, second = x[..., :64], x[..., 64:]
            return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)
        heads = bench.random(8, tokens // 8, width // 128, 128, grad=True)
        yield "rope_eager", name_of(dtype), tokens, width, *bench.both(rotate, heads), size


def losses(bench, tokens, vocabulary):
    target = bench.indices(vocabulary, tokens)
    for what, dtype, function in (("cross_entropy_of_bf16", BF16, lambda logits: F.cross_entropy(logits, target)),
                                  ("cross_entropy_upcast", BF16, lambda logits: F.cross_entropy(logits.float(), target)),
                                  ("cross_entropy", torch.float32, lambda logits: F.cross_entropy(logits, target))):
        logits = bench.random(tokens, vocabulary, dtype=dtype, grad=True)
        yield what, name_of(dtype), tokens, vocabulary, *bench.both(function, logits), tokens * vocabulary * torch.finfo(dtype).bits // 8


def elementwise(device, quick):
    yield "what", "dtype", "rows", "width", "forward_s", "backward_s", "bytes_of_one_pass"
    sections.need_torch(2, 7)
    bench = Bench(device)
    for tokens in (256,) if quick else (4096, 8192):
        for width in (64,) if quick else (768, 1600, 2048, 4096, 8192):
            for dtype in (BF16, torch.float32) if width == 768 else (BF16,):
                yield from passes_of_block(bench, tokens, width, dtype)
    for tokens, vocabulary in ((64, 512),) if quick else ((4096, 50257), (4096, 50304), (4096, 128256), (8192, 50257)):
        yield from losses(bench, tokens, vocabulary)
    for tokens, vocabulary, width in ((64, 512, 64),) if quick else ((4096, 50257, 768), (4096, 50257, 1600), (8192, 128256, 4096)):
        words, weight = bench.indices(vocabulary, tokens), bench.random(vocabulary, width, dtype=torch.float32, grad=True)
        yield f"embedding_of_{vocabulary}", "float32", tokens, width, *bench.both(lambda weight: F.embedding(words, weight), weight), tokens * width * 4


def sizes_of_gpt2_medium():
    """Elements of its parameters, one tensor each."""
    layers, width, _ = gpt2.SIZES["gpt2-medium"]
    block = [width, width, 3 * width * width, 3 * width, width * width, width, width, width, 4 * width * width, 4 * width, 4 * width * width, width]
    return [gpt2.VOCABULARY * width, gpt2.POSITIONS * width, *layers * block]


def optimizer(device, quick):
    yield "what", "weights", "tensors", "parameters", "seconds", "bytes_a_parameter_per_s"
    sections.need_torch(2, 7)
    bench = Bench(device)
    adamw, sgd = torch.optim.AdamW, torch.optim.SGD
    makers = {"adamw_fused": lambda weights: adamw(weights, fused=True),
              "adamw_foreach": lambda weights: adamw(weights, foreach=True),
              "adamw_single": lambda weights: adamw(weights, foreach=False),
              "sgd_momentum_foreach": lambda weights: sgd(weights, 0.1, momentum=0.9, foreach=True),
              "sgd_foreach": lambda weights: sgd(weights, 0.1, foreach=True),
              "sgd_fused": lambda weights: sgd(weights, 0.1, momentum=0.9, fused=True)}
    for name, sizes in (("one", [2 ** 20 if quick else 2 ** 28]), ("gpt2-medium", [1024] * 8 if quick else sizes_of_gpt2_medium())):
        for dtype in (torch.float32, BF16):
            weights = [nn.Parameter(torch.zeros(size, device=device, dtype=dtype)) for size in sizes]
            for weight in weights:
                weight.grad = torch.zeros_like(weight)

            def row(what, call):
                seconds = bench.seconds(call, 0.02)
                return f"{what}:{name}", name_of(dtype), len(sizes), sum(sizes), seconds, sum(sizes) / seconds

            def zero_gradients():
                for weight in weights:
                    weight.grad.zero_()
            for what, make in makers.items():
                yield row(what, make(weights).step)
            yield row("clip_norm_foreach", lambda: nn.utils.clip_grad_norm_(weights, 1.0))
            yield row("zero_grad", zero_gradients)


def grouped_product(bench):
    product = getattr(F, "grouped_mm", None) or getattr(torch, "_grouped_mm", None)
    if not product:
        raise sections.Missing(f"PyTorch {torch.__version__} has no grouped_mm")
    try:
        product(bench.random(64, 64), bench.random(2, 64, 64), offs=torch.tensor([32, 64], device=bench.device, dtype=torch.int32))
    except RuntimeError as error:
        raise sections.Missing(refused("grouped_mm does not run here", error))
    return product


def grouped(device, quick):
    yield "what", "experts", "tokens", "n", "k", "seconds", "flop_per_s"
    bench = Bench(device)
    product = grouped_product(bench)
    shapes = (8, 28672, 4096), (8, 14336, 4096), (16, 1536, 2048), (128, 1536, 2048), (128, 768, 2048), (32, 4096, 7168), (8, 4096, 7168)
    for experts, n, k in ((4, 64, 64),) if quick else shapes:
        for tokens in (64,) if quick else (2048, 8192, 32768, 65536):
            x, weight, gradient = bench.random(tokens, k), bench.random(experts, n, k), bench.random(tokens, n)
            ends = torch.arange(1, experts + 1, device=device, dtype=torch.int32) * (tokens // experts)
            for what, call in (("forward", lambda: product(x, weight.transpose(-2, -1), offs=ends)),
                               ("input", lambda: product(gradient, weight, offs=ends)),
                               ("weight", lambda: product(gradient.t(), x, offs=ends))):
                seconds = bench.seconds(call)
                yield what, experts, tokens, n, k, seconds, 2 * tokens * n * k / seconds
    for rows, hidden, experts in ((64, 64, 4),) if quick else ((16384, 2048, 128), (32768, 4096, 8), (32768, 7168, 256)):
        yield from routing(bench, rows, hidden, experts)


def routing(bench, rows, hidden, experts):
    """What brings rows of tokens to 4 experts each and back. Of what moves rows the rate is bytes read and written."""
    tokens = rows // 4
    token_of = bench.indices(tokens, rows)
    x, y, logits = bench.random(tokens, hidden), bench.random(rows, hidden), bench.random(tokens, experts, dtype=torch.float32)
    total = torch.zeros(tokens, hidden, device=bench.device, dtype=BF16)
    for what, call in (("gather_rows", lambda: x[token_of]), ("scatter_add_rows", lambda: total.index_add_(0, token_of, y))):
        seconds = bench.seconds(call)
        yield what, experts, rows, hidden, 0, seconds, 2 * 2 * rows * hidden / seconds
    yield "softmax_topk", experts, tokens, experts, 0, bench.seconds(lambda: torch.topk(torch.softmax(logits, -1), 4, -1)), 0


def float8(device, quick):
    yield "what", "m", "n", "k", "seconds", "flop_per_s"
    sections.need_torch(2, 7)
    bench = Bench(device)
    one = torch.ones((), device=device)
    shapes = (4096, 4096, 4096), (8192, 8192, 8192), (4096, 14336, 4096), (8192, 28672, 8192), (16384, 8192, 8192), (8192, 4096, 14336)
    for m, n, k in ((32, 32, 32),) if quick else shapes:
        a, b = bench.random(m, k).to(torch.float8_e4m3fn), bench.random(n, k).to(torch.float8_e4m3fn)
        a_rows, b_rows = torch.ones(m, 1, device=device), torch.ones(1, n, device=device)
        for what, a_scale, b_scale, fast in (("tensorwise_fast", one, one, True), ("tensorwise", one, one, False), ("rowwise_fast", a_rows, b_rows, True)):
            try:
                seconds = bench.seconds(lambda: torch._scaled_mm(a, b.t(), a_scale, b_scale, out_dtype=BF16, use_fast_accum=fast))
                yield what, m, n, k, seconds, 2 * m * n * k / seconds
            except RuntimeError as error:
                yield refused(what, error), m, n, k, "", ""
        x = bench.random(m, k)
        yield "cast_eager", m, 0, k, bench.seconds(lambda: (x / x.abs().amax().float()).to(torch.float8_e4m3fn)), ""


if __name__ == "__main__":
    sections.main({"products": products, "attention": attention, "elementwise": elementwise, "optimizer": optimizer, "grouped": grouped, "float8": float8}, __doc__)
