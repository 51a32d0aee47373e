"""Runs a script as `python SCRIPT` and `python -m MODULE` do."""
from __future__ import annotations

import os
import runpy
import sys
import threading
from typing import Any

from ddpsim.torch.fake.refusals import Unsupported, place, place_of


def run_file(path: str) -> None:
    if not os.path.isfile(path):
        raise Unsupported(f"there is no file {path}")
    runpy.run_path(path)


def run_script(script: list[str], is_module: bool) -> None:
    """In this process, as __main__, with its arguments."""
    name = script[0]
    if not is_module and not os.path.isfile(name):
        raise Unsupported(f"there is no script {name}")
    before, path = sys.argv, list(sys.path)
    sys.argv = list(script)
    sys.path.insert(0, os.getcwd() if is_module else os.path.dirname(os.path.abspath(name)))
    failed: list[str] = []
    hook = threading.excepthook

    def thread_failed(what: Any) -> None:
        failed.append(f"{what.thread.name if what.thread else 'a thread'}: {what.exc_type.__name__}: {what.exc_value}")
        hook(what)

    threading.excepthook = thread_failed
    finder = _Refused()
    sys.meta_path.insert(0, finder)
    try:
        if is_module:
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(name, run_name="__main__")
    except ImportError as error:
        hint = _HINTS.get((error.name or "").split(".")[0])
        if hint:
            raise Unsupported(f"{place_of(error)}: {error.name} has kernels of its own, and cannot be loaded here ({error})\nhint: {hint}") from error
        raise
    except Exception as error:
        if any(words in str(error) for words in _NO_GPU):
            raise Unsupported(f"{place_of(error)}: a kernel was launched that PyTorch does not know of, and there is no GPU here\n"
                              "hint: say what it returns and costs, in a file for --kernels; or use PyTorch's own (DeepSpeed: \"torch_adam\": true)") from error
        if failed:
            raise Unsupported(f"a thread of the script failed, and operators on a GPU are recorded in the main thread only: {failed[0]}") from error
        raise
    finally:
        sys.meta_path.remove(finder)
        threading.excepthook = hook
        sys.argv, sys.path[:] = before, path


#: Packages of CUDA kernels, and what to do where a script cannot do without.
_HINTS = {
    "flash_attn": "--kernels flash_attn stands in for it", "flash_attn_interface": "record with PyTorch's own attention",
    "apex": "record with torch.optim's and torch.nn's own (Megatron-LM: without --gradient-accumulation-fusion and the like)",
    "transformer_engine": "record with the framework's own layers (Megatron-LM: --transformer-impl local)",
    "xformers": "record with PyTorch's own attention", "bitsandbytes": "record with torch.optim's own optimizers"}


_NO_GPU = ("Found no NVIDIA driver", "CUDA driver version is insufficient", "no CUDA-capable device is detected")


class _Refused:
    """Frameworks that load CUDA extensions of their own and that nobody has recorded yet."""

    _NAMES = {"colossalai": "Colossal-AI", "horovod": "Horovod"}
    _OPTIONAL = ("accelerate", "transformers", "lightning", "pytorch_lightning", "peft", "trl", "diffusers", "torch")

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name not in self._NAMES:
            return
        frame = sys._getframe(1)
        while frame is not None:    # who imports it
            module = str(frame.f_globals.get("__name__", ""))
            if not module.startswith(("importlib", "ddpsim")):
                if module.split(".")[0] not in self._OPTIONAL:
                    raise Unsupported(f"{place()}: {self._NAMES[name]} loads kernels of its own and is not supported by recordings\n"
                                      "hint: ddpsim has its strategies (ddpsim list strategies); simulate the job from its sizes")
                return
            frame = frame.f_back  # type: ignore[assignment]
