"""The package flash-attn, which need not be installed: its functions are PyTorch's own flash kernel (--kernels flash_attn)."""
from __future__ import annotations

from typing import Any

from ddpsim.torch.fake.calls import attention
from ddpsim.torch.fake.kernels import stand_in
from ddpsim.torch.fake.refusals import refuse


def declare() -> None:
    stand_in("flash_attn.flash_attn_func", _attend)
    stand_in("flash_attn.flash_attn_qkvpacked_func", lambda qkv, *args, **kwargs: _attend(*qkv.unbind(2), *args, **kwargs))
    stand_in("flash_attn.flash_attn_varlen_func", _attend_packed)


def _attend(q: Any, k: Any, v: Any, dropout_p: float = 0.0, softmax_scale: Any = None, causal: bool = False, **_: Any) -> Any:
    """Batch, sequence, heads, width, as flash-attn has them."""
    query, key, value = (part.transpose(1, 2) for part in (q, k, v))
    return attention(query, key, value, None, dropout_p, causal, softmax_scale, True).transpose(1, 2)


def _attend_packed(q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, max_seqlen_q: int, max_seqlen_k: int, *args: Any, **kwargs: Any) -> Any:
    """Sequences one after another, whose lengths are values: all are taken to be as long."""
    batch = cu_seqlens_q.numel() - 1
    if any(part.shape[0] % batch for part in (q, k, v)):
        raise refuse(f"flash_attn_varlen_func: {q.shape[0]} tokens of {batch} sequences, whose lengths are not computed",
                     "record with a batch of one sequence, or with padded ones")
    query, key, value = (part.reshape(batch, -1, *part.shape[1:]) for part in (q, k, v))
    return _attend(query, key, value, *args, **kwargs).reshape(q.shape[0], q.shape[1], -1)
