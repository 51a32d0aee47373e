#!/usr/bin/env python3
"""libraries.py deepspeed|transformers OUT.csv [--device cuda] [--quick]: whole training steps as steps.py measures them, by libraries: one rank of eight under DeepSpeed
(PyTorch's fake process group: its collectives do nothing), and the models of transformers. Exit code 3: what it takes is not here."""
import os
from typing import NamedTuple

import models
import sections
import torch
from steps import BF16, TIMES, each, join, kernels_of, make_optimizer, parameters_of, timed
from clock import Clock

STEPS = 4


class Stage(NamedTuple):
    stage: str          # plain: no wrapper, weights in bfloat16; zero3-leaf: blocks are fetched whole
    model: str
    batch: int
    sequence: int
    checkpoint: int


WORLD = 8
STAGES = ("plain", "zero1", "zero2", "zero3", "zero3-leaf")
DEEPSPEED = [
    *[Stage(stage, "medium", 1, 32, 0) for stage in STAGES],
    *[Stage(stage, "llama-1b", 1, 32, 0) for stage in STAGES],
    *[Stage(stage, "large", 4, 1024, 0) for stage in STAGES],
    *[Stage(stage, "llama-1b", 2, 2048, 1) for stage in STAGES],
    *[Stage(stage, "llama-3b", 1, 2048, 1) for stage in ("zero1", "zero2", "zero3")],
    Stage("zero3", "llama-8b", 1, 2048, 1),
]
QUICK_DEEPSPEED = [Stage(stage, "tiny", 2, 32, checkpoint) for stage in STAGES for checkpoint in (0, 1)]


class Engine:
    """A DeepSpeed engine with an optimizer's words."""

    def __init__(self, model, stage, batch, leaf):
        import deepspeed
        if leaf:
            deepspeed.utils.set_z3_leaf_modules(model, [type(model.blocks[0])])
        config = {"train_micro_batch_size_per_gpu": batch, "gradient_accumulation_steps": 1, "bf16": {"enabled": True}, "zero_allow_untested_optimizer": True,
                  "zero_optimization": {"stage": stage, "overlap_comm": True, "contiguous_gradients": True}}
        self.engine, *_ = deepspeed.initialize(model=model, optimizer=make_optimizer(model, "fused"), config=config, dist_init_required=False)
        self.backward, self.step = self.engine.backward, self.engine.step

    def zero_grad(self):
        """step() does."""


def measure_stage(row, device):
    model = models.build(row.model, device, BF16 if row.stage == "plain" else torch.float32, bool(row.checkpoint))
    parameters, vocabulary = parameters_of(model), model.vocabulary
    tokens = torch.randint(0, vocabulary, (row.batch, row.sequence), device=device)
    if row.stage == "plain":
        found = timed(model, model, tokens, make_optimizer(model, "fused"), False, STEPS)
    else:
        engine = Engine(model, int(row.stage[4]), row.batch, row.stage.endswith("leaf"))
        found = timed(model, engine.engine, tokens, engine, False, STEPS, engine.backward)
        engine.engine.destroy()     # its hooks would keep the model
    return parameters, *found.times, found.static, found.peak, found.reserved


def deepspeed(device, quick):
    columns = *Stage._fields, "parameters", *TIMES, "static_bytes", "peak_allocated_bytes", "peak_reserved_bytes"
    yield columns
    sections.need_torch(2, 7)
    os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE=str(WORLD), DS_ACCELERATOR=device, MASTER_ADDR="127.0.0.1", MASTER_PORT="29551")
    try:
        import deepspeed as library
    except ImportError as error:
        raise sections.Missing(f"no DeepSpeed: {error}")
    join("zero", WORLD, device)     # once: DeepSpeed keeps the groups that it finds
    print("deepspeed", library.__version__, flush=True)
    yield from each(QUICK_DEEPSPEED if quick else DEEPSPEED, len(columns), lambda row: measure_stage(row, device))


class Hub(NamedTuple):
    model: str
    experts: str        # how the library's experts compute; "-" where there are none
    precision: str      # bf16: weights, too; autocast: float32 weights
    checkpoint: int
    batch: int
    sequence: int


def hub_config(name):
    """Of the library: whole small models, and a few layers of large ones."""
    import transformers as hub
    llama = {"vocab_size": 128256, "rope_parameters": {"rope_type": "default", "rope_theta": 5e5}, "num_key_value_heads": 8}
    qwen = {"vocab_size": 151936, "hidden_size": 2048, "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128, "num_hidden_layers": 6}
    return {
        "tiny-experts": lambda: hub.Qwen3MoeConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=16, num_experts=8, num_experts_per_tok=2,
                                                   moe_intermediate_size=32, vocab_size=512),
        "gpt2": lambda: hub.GPT2Config(),
        "gpt2-large": lambda: hub.GPT2Config(n_layer=36, n_embd=1280, n_head=20),
        "bert-large": lambda: hub.BertConfig(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096),
        "llama-1b": lambda: hub.LlamaConfig(hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, num_attention_heads=32, tie_word_embeddings=True, **llama),
        "llama-3b": lambda: hub.LlamaConfig(hidden_size=3072, intermediate_size=8192, num_hidden_layers=28, num_attention_heads=24, tie_word_embeddings=True, **llama),
        "llama-8b-half": lambda: hub.LlamaConfig(hidden_size=4096, intermediate_size=14336, num_hidden_layers=16, num_attention_heads=32, **llama),
        "qwen3-30b-a3b-6": lambda: hub.Qwen3MoeConfig(num_experts=128, num_experts_per_tok=8, moe_intermediate_size=768, norm_topk_prob=True, **qwen),
        "qwen3-dense-6": lambda: hub.Qwen3Config(intermediate_size=6144, **qwen),
        "mixtral-8x7b-2": lambda: hub.MixtralConfig(num_hidden_layers=2),
    }[name]()


def with_labels(model):
    causal = type(model).__name__ != "BertForMaskedLM"
    return lambda tokens: model(tokens, labels=tokens, **({"use_cache": False} if causal else {})).loss


HUB = [
    *[Hub("gpt2", "-", "autocast", 0, batch, 1024) for batch in (4, 16)],
    Hub("gpt2-large", "-", "autocast", 0, 4, 1024),
    *[Hub("bert-large", "-", precision, 0, batch, 512) for precision in ("autocast", "float32", "tf32") for batch in (4, 16)],
    *[Hub("llama-1b", "-", precision, 0, 2, 2048) for precision in ("bf16", "autocast")],
    Hub("llama-1b", "-", "bf16", 1, 4, 2048),
    Hub("llama-3b", "-", "bf16", 1, 2, 4096),
    Hub("llama-8b-half", "-", "bf16", 1, 1, 4096),
    *[Hub("qwen3-dense-6", "-", "bf16", 0, batch, sequence) for batch, sequence in ((1, 128), (1, 4096), (4, 4096))],
    *[Hub("qwen3-30b-a3b-6", experts, "bf16", 0, batch, sequence) for experts in ("eager", "grouped_mm") for batch, sequence in ((1, 128), (1, 4096), (4, 4096))],
    *[Hub("mixtral-8x7b-2", experts, "bf16", 0, batch, sequence) for experts in ("eager", "grouped_mm") for batch, sequence in ((1, 128), (1, 4096), (4, 4096))],
]
QUICK_HUB = [Hub("tiny-experts", experts, "bf16", checkpoint, 2, 32) for experts, checkpoint in (("eager", 0), ("grouped_mm", 0), ("eager", 1))]


def hub_model(row, device):
    import transformers as hub
    config = hub_config(row.model)
    kind = hub.AutoModelForMaskedLM if row.model.startswith("bert") else hub.AutoModelForCausalLM
    options = {} if row.experts == "-" else {"experts_implementation": row.experts}
    with torch.device(device):
        model = kind.from_config(config, attn_implementation="sdpa", dtype=BF16 if row.precision == "bf16" else torch.float32, **options)
    if row.checkpoint:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    return model.train()


def measure_hub(row, device):
    torch.manual_seed(0)
    model = hub_model(row, device)
    torch.backends.cuda.matmul.allow_tf32 = row.precision == "tf32"
    tokens = torch.randint(0, model.config.vocab_size, (row.batch, row.sequence), device=device)
    run, autocast = with_labels(model), row.precision == "autocast"
    found = timed(model, run, tokens, make_optimizer(model, "fused"), autocast, STEPS)

    def forward():
        with torch.autocast(device, dtype=BF16, enabled=autocast):
            return run(tokens)
    clock = Clock(device)
    loss, *of_forward = kernels_of(forward, clock)
    _, *of_backward = kernels_of(loss.backward, clock)
    return parameters_of(model), *found.times, found.after_forward, found.peak, found.reserved, of_forward[0], of_backward[0], of_forward[1], of_backward[1]


def transformers(device, quick):
    columns = (*Hub._fields, "parameters", *TIMES, "after_forward_bytes", "peak_allocated_bytes", "peak_reserved_bytes",
               "kernels_forward", "kernels_backward", "device_forward_s", "device_backward_s")
    yield columns
    sections.need_torch(2, 7)
    try:
        import transformers as library
    except ImportError as error:
        raise sections.Missing(f"no transformers: {error}")
    print("transformers", library.__version__, flush=True)
    yield from each(QUICK_HUB if quick else HUB, len(columns), lambda row: measure_hub(row, device))


if __name__ == "__main__":
    sections.main({"deepspeed": deepspeed, "transformers": transformers}, __doc__)
