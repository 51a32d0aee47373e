"""Makes PyTorch's C++ side accept fake tensors on "cuda" where there is no driver: a device guard that does nothing.

Autograd asks the guard that is registered for a tensor's device for its current stream. A CPU build of PyTorch has none for CUDA; that of a
CUDA build throws without a driver, from a constructor, which ends the process. The registry is an exported array of pointers in libc10.
Its entry for CUDA becomes a copy of the CPU's guard, which does nothing, with five functions that answer for a GPU instead. Without a
GPU the entry stays after the block: a tensor of the step that lives on would end the process otherwise.

A CUDA build also asks its hooks for the accelerator, which need a driver: within the block two functions answer that there is none.
"""
from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import platform
import sys
from pathlib import Path
from typing import Any

import torch

from ddpsim.torch.fake.patches import Patches
from ddpsim.torch.fake.refusals import Unsupported

_NUMBER = b"\xb8%b\x00\x00\xc3"       # mov eax, two bytes; ret: DeviceType 1, Device{1, index}
_STREAM = b"\x89\xf0\x31\xd2\xc3"     # mov eax, esi; xor edx, edx; ret: Stream{the device that was asked for, 0}
_NONE = b"\x31\xc0\xc3"               # xor eax, eax; ret: false, nullopt
_REGISTRY = "_ZN3c104impl26device_guard_impl_registryE"
_ACCELERATOR = ("_ZN2at11accelerator14getAcceleratorEb", "_ZN2at11accelerator13isAcceleratorEN3c1010DeviceTypeE", "_ZN2at14getAcceleratorEb",
                "_ZN2at13isAcceleratorEN3c1010DeviceTypeE", "_ZN2at13isAcceleratorEN3c106DeviceE")
_CPU, _CUDA = 0, 1                       # DeviceType.h
_TYPE, _EXCHANGE_DEVICE, _GET_DEVICE, _GET_STREAM, _GET_DEFAULT_STREAM = 0, 1, 2, 5, 6    # virtual functions, in the order of DeviceGuardImplInterface.h
_SLOTS = 48                              # more than the interface has; what lies behind it is never called
_NO_INDEX = 0xFF00                       # Device{CPU, -1}, as two bytes
_FUNCTION = 16                           # bytes between functions
_LEAST = (2, 4)
_kept: list[Any] = []


def check_platform() -> None:
    """Throws, with the reason, where recording cannot work."""
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < _LEAST:
        raise Unsupported(f"recording needs PyTorch 2.4 or newer; this is {torch.__version__}\nhint: python3 -m pip install 'torch>=2.4'")
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise Unsupported(f"recording works on Linux on x86-64 only; this is {sys.platform} on {platform.machine()}")
    if torch.version.hip is not None:
        raise Unsupported("recording works with PyTorch's builds for CUDA and for the CPU; this one is for ROCm")
    if not torch.distributed.is_available():
        raise Unsupported("this PyTorch was built without torch.distributed")


def install(patches: Patches, index: int) -> None:
    """Registers the guard, for good where there is no GPU, and hides the accelerator until `patches` are undone. `index`: the current GPU."""
    if not _kept:
        _kept.append(_make())
    registry, guard, code, _ = _kept[0]
    code[_FUNCTION:2 * _FUNCTION] = _padded(_NUMBER % bytes((_CUDA, index)))
    if torch.cuda.is_available():
        patches.callback(registry.__setitem__, _CUDA, registry[_CUDA])
    registry[_CUDA] = ctypes.addressof(guard)
    if torch.version.cuda is not None:
        library = _library("libtorch_cpu.so")
        for name in _ACCELERATOR:
            with contextlib.suppress(AttributeError):
                _replace(patches, ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0)


def _library(name: str) -> ctypes.CDLL:
    return ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / name))


def _padded(code: bytes) -> bytes:
    return code.ljust(_FUNCTION, b"\xcc")


def _make() -> tuple[Any, Any, Any, Any]:
    """The registry, the guard, the code of its functions (which device it is, the current one, a stream), and what must live as long."""
    try:
        registry = (ctypes.c_void_p * 2).in_dll(_library("libc10.so"), _REGISTRY)
        code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except ValueError:
        raise Unsupported(f"PyTorch {torch.__version__} does not export its registry of device guards; recording cannot work with it") from None
    except OSError as error:
        raise Unsupported(f"this system grants no executable memory ({error.strerror}), which recording needs for three functions of 6 bytes") from None
    code.write(_padded(_NUMBER % bytes((_CUDA, 0))) + _padded(_NUMBER % bytes((_CUDA, 0))) + _padded(_STREAM))
    answer = ctypes.addressof(ctypes.c_char.from_buffer(code))
    cpu = registry[_CPU]
    if cpu is None:
        raise Unsupported(f"PyTorch {torch.__version__} has no device guard of the CPU; recording cannot work with it")
    table = ctypes.cast(ctypes.c_void_p.from_address(cpu).value or 0, ctypes.POINTER(ctypes.c_void_p))

    def ask(slot: int, result: Any) -> int:
        return int(ctypes.CFUNCTYPE(result, ctypes.c_void_p, ctypes.c_int)(table[slot] or 0)(cpu, _NO_INDEX))

    found = (ask(_TYPE, ctypes.c_uint8), ask(_GET_DEVICE, ctypes.c_uint16), ask(_EXCHANGE_DEVICE, ctypes.c_uint16), ask(_GET_STREAM, ctypes.c_uint16))
    if found != (_CPU, _NO_INDEX, _NO_INDEX, _NO_INDEX):
        raise Unsupported(f"the device guards of PyTorch {torch.__version__} are laid out in a way that is not known here {found}")
    head = 2    # offset to top and type information lie before the functions
    copy = (ctypes.c_void_p * (_SLOTS + head))(*[table[i - head] for i in range(_SLOTS + head)])
    for slot, function in ((_TYPE, 0), (_EXCHANGE_DEVICE, 1), (_GET_DEVICE, 1), (_GET_STREAM, 2), (_GET_DEFAULT_STREAM, 2)):
        copy[slot + head] = answer + function * _FUNCTION
    guard = (ctypes.c_void_p * 8)(ctypes.addressof(copy) + head * ctypes.sizeof(ctypes.c_void_p))
    return registry, guard, code, copy


def _replace(patches: Patches, address: int) -> None:
    """Lets the function at `address` return zero until the patches are undone."""
    before = ctypes.string_at(address, len(_NONE))
    _write(address, _NONE)
    patches.callback(_write, address, before)


def _write(address: int, code: bytes) -> None:
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    first = address // mmap.PAGESIZE * mmap.PAGESIZE
    pages, size = ctypes.c_void_p(first), ctypes.c_size_t(address + len(code) - first)
    if protect(pages, size, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC):
        raise Unsupported(f"this system forbids changing a loaded library ({os.strerror(ctypes.get_errno())}), which a CUDA build of PyTorch needs "
                          "without a driver\nhint: use a CPU build of PyTorch")
    ctypes.memmove(address, code, len(code))
    protect(pages, size, mmap.PROT_READ | mmap.PROT_EXEC)
