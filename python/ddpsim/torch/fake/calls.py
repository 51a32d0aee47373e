"""Calls of PyTorch whose answer is another one without a GPU: which kernel scaled_dot_product_attention takes, what kind of device a number is."""
from __future__ import annotations

from typing import Any, Callable

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.overrides import TorchFunctionMode

_FLASH_HEAD = 256    # the widest head of the flash kernels (sdp_utils.cpp)
_SET_DATA = torch.Tensor.data.__set__
_DEVICE_AT = {torch._C._nn._parse_to: 0, torch.Tensor.to: 1, torch.Tensor.cuda: 1}    # position of the argument


class Calls(TorchFunctionMode):  # type: ignore[misc]
    """While it is entered, attention on a GPU runs the kernel of PyTorch's default order of choice, and a number is a GPU."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        handler = _HANDLERS.get(func)
        if handler is not None:
            return handler(*args, **kwargs)
        at = _DEVICE_AT.get(func)
        if at is not None and len(args) > at:
            args = (*args[:at], _device(args[at]), *args[at + 1:])
        if "device" in kwargs:
            kwargs = {**kwargs, "device": _device(kwargs["device"])}
        return func(*args, **kwargs)


def _set_data(tensor: Any, value: Any) -> None:
    """tensor.data = value, with the device of a fake value."""
    if isinstance(value, FakeTensor) and not isinstance(tensor, FakeTensor) and type(tensor) in (torch.Tensor, torch.nn.Parameter):
        made = value.detach()
        torch.utils.swap_tensors(tensor, torch.nn.Parameter(made, tensor.requires_grad) if isinstance(tensor, torch.nn.Parameter) else made)
        return
    _SET_DATA(tensor, value)
    if isinstance(tensor, FakeTensor) and isinstance(value, FakeTensor):
        tensor.fake_device = value.fake_device


def _tensor(data: Any, *args: Any, **kwargs: Any) -> Any:
    """torch.tensor(): of tensors in a list, the numbers."""
    def number(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [number(part) for part in value]
        return value.item() if isinstance(value, FakeTensor) else value

    if "device" in kwargs:
        kwargs["device"] = _device(kwargs["device"])
    return torch.tensor(number(data) if isinstance(data, (list, tuple)) else data, *args, **kwargs)


def _data_ptr(tensor: Any) -> int:
    """An address that differs from storage to storage: what is known by it is found again."""
    if not isinstance(tensor, FakeTensor):
        return int(torch.Tensor.data_ptr(tensor))
    storage = tensor.untyped_storage()
    return int(storage._cdata + tensor.storage_offset() * tensor.element_size()) if storage.nbytes() else 0


def _make_device(*args: Any, **kwargs: Any) -> Any:
    return torch.device("cuda", args[0]) if len(args) == 1 and isinstance(args[0], int) else torch.device(*args, **kwargs)


def _format(tensor: Any, spec: str) -> str:
    """f"{loss:.4f}": a number's, as of a tensor that is no subclass."""
    return format(tensor.item(), spec) if isinstance(tensor, FakeTensor) and not tensor.dim() else torch.Tensor.__format__(tensor, spec)


def _device(value: Any) -> Any:
    """A number is a GPU, and "cuda" the current one: C++ would ask the driver."""
    if isinstance(value, int) and not isinstance(value, bool):
        return torch.device("cuda", value)
    return torch.device("cuda", torch.cuda.current_device()) if isinstance(value, (str, torch.device)) and str(value) == "cuda" else value


def _new_tensor(tensor: Any, *args: Any, **kwargs: Any) -> Any:
    return tensor.new_tensor(*args, **{"device": tensor.device, **kwargs})


def attention(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False, scale: Any = None,
               enable_gqa: bool = False) -> Any:
    """Flash for 16 bits without a mask, else memory-efficient, else written out (sdp_utils.cpp: can_use_flash_attention)."""
    backends = torch.backends.cuda
    flash, efficient = backends.flash_sdp_enabled(), backends.mem_efficient_sdp_enabled()
    if query.device.type != "cuda" or query.dim() != 4 or not (flash or efficient):
        return _math(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    if enable_gqa and key.shape[1] != query.shape[1]:
        key, value = (part.repeat_interleave(query.shape[1] // part.shape[1], 1) for part in (key, value))
    half = query.dtype in (torch.float16, torch.bfloat16)
    head = query.shape[-1]
    if flash and half and attn_mask is None and head <= _FLASH_HEAD:
        scale = head ** -0.5 if scale is None else scale    # of the head before it is padded
        padding = -head % 8
        if padding:
            query, key, value = (torch.nn.functional.pad(part, (0, padding)) for part in (query, key, value))
        out = torch.ops.aten._scaled_dot_product_flash_attention(query, key, value, dropout_p, is_causal, False, scale=scale)[0]
        return out[..., :head] if padding else out
    if not efficient or head % (8 if half else 4):
        return _math(query, key, value, attn_mask, dropout_p, is_causal, scale, False)
    if attn_mask is not None:
        if attn_mask.dtype == torch.bool:
            attn_mask = torch.zeros_like(attn_mask, dtype=query.dtype).masked_fill(attn_mask.logical_not(), float("-inf"))
        attn_mask = attn_mask.expand(query.shape[0], query.shape[1], query.shape[2], key.shape[2])
    keeps = torch.is_grad_enabled() and (query.requires_grad or key.requires_grad or value.requires_grad)
    return torch.ops.aten._scaled_dot_product_efficient_attention(query, key, value, attn_mask, keeps, dropout_p, is_causal, scale=scale)[0]


def _math(query: Any, key: Any, value: Any, attn_mask: Any, dropout_p: float, is_causal: bool, scale: Any, enable_gqa: bool) -> Any:
    if query.device.type != "cuda":
        more = {"enable_gqa": True} if enable_gqa else {}    # not in PyTorch 2.4
        return torch._C._nn.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, **more)
    if enable_gqa and key.shape[-3] != query.shape[-3]:
        key, value = (part.repeat_interleave(query.shape[-3] // part.shape[-3], -3) for part in (key, value))
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        attn_mask = torch.zeros_like(attn_mask, dtype=query.dtype).masked_fill(attn_mask.logical_not(), float("-inf"))
    return torch.ops.aten._scaled_dot_product_attention_math(query, key, value, attn_mask, dropout_p, is_causal, scale=scale)[0]


_HANDLERS: dict[Any, Callable[..., Any]] = {
    torch.device: _make_device, torch.tensor: _tensor, torch.Tensor.new_tensor: _new_tensor, torch.nn.functional.scaled_dot_product_attention: attention,
    _SET_DATA: _set_data, torch.Tensor.data_ptr: _data_ptr, torch.Tensor.__format__: _format}
