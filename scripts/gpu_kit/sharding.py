"""models.py's models under PyTorch's wrappers, every block a unit of its own."""
import models
import torch
from torch import nn

BF16 = torch.bfloat16


def ddp(model, device, **options):
    return nn.parallel.DistributedDataParallel(model, device_ids=[0] if device == "cuda" else None, **options)


def fsdp2(model, mixed, **options):
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    policy = MixedPrecisionPolicy(param_dtype=BF16, reduce_dtype=torch.float32) if mixed else MixedPrecisionPolicy()
    for module in (*model.blocks, model):
        fully_shard(module, mp_policy=policy, **options)
    return model


def fsdp1(model, mixed, device, keep=False):
    """keep: parameters stay gathered between forward and backward."""
    from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision, ShardingStrategy
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy
    return FullyShardedDataParallel(model, auto_wrap_policy=ModuleWrapPolicy({models.Gpt2Block, models.LlamaBlock}), use_orig_params=True,
                                    device_id=torch.device("cuda:0" if device == "cuda" else "cpu"),
                                    mixed_precision=MixedPrecision(param_dtype=BF16, reduce_dtype=BF16) if mixed else None,
                                    sharding_strategy=ShardingStrategy.SHARD_GRAD_OP if keep else ShardingStrategy.FULL_SHARD)
