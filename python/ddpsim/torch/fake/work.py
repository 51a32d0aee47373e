"""What an asynchronous collective hands back: waiting for it makes the current stream wait, as NCCL's does."""
from __future__ import annotations

from typing import Any, Callable

import torch

from ddpsim.torch.fake.operators import tensors_in
from ddpsim.torch.fake.streams import StreamContext, Streams


class Work(torch._C._distributed_c10d.Work):  # type: ignore[misc]
    """Of collectives on the tape, by their numbers. `tensors` are their result, for who asks for a future of it."""

    def __init__(self, streams: Streams, numbers: list[int | None], tensors: Any = None, pending: Pending | None = None):
        super().__init__()
        self._streams, self._numbers, self._tensors, self._pending = streams, numbers, tensors, pending

    def wait(self, timeout: Any = None) -> bool:
        self._streams.wait(self._numbers)
        return True

    def synchronize(self) -> None:
        self.wait()

    def block_current_stream(self) -> None:
        self.wait()

    def is_completed(self) -> bool:
        return True

    def is_success(self) -> bool:
        return True

    def result(self) -> Any:
        return self._tensors

    def get_future(self) -> Any:
        future = Future(self._streams, self._numbers, self._pending)
        future.set_result(self._tensors)
        self._tensors = None    # a work lives as long as the block, what it reduced must not
        return future


class Future(torch.futures.Future):  # type: ignore[misc]
    """Of a work; what is chained to it runs on a stream of its own, as in PyTorch."""

    def __init__(self, streams: Streams, numbers: list[int | None], pending: Pending | None):
        super().__init__()
        self._streams, self._numbers, self._pending = streams, numbers, pending

    def wait(self) -> Any:
        self._streams.wait(self._numbers)
        return super().wait()

    def then(self, callback: Callable[[Any], Any]) -> Any:
        side = self._streams.make()
        with StreamContext(side):
            self._streams.wait(self._numbers)
            result = callback(self)
        at = [self._streams.tape.position(side.id)]
        if self._pending is not None:
            self._pending.add(tensors_in(result), at)
        future = Future(self._streams, at, self._pending)
        future.set_result(result)
        return future


class Pending:
    """Buckets that DistributedDataParallel's Reducer has launched. It waits in C++, unseen: the first operator that reads one is behind it."""

    def __init__(self, streams: Streams):
        self._streams = streams
        self._numbers: dict[int, list[int | None]] = {}

    def add(self, tensors: list[torch.Tensor], numbers: list[int | None]) -> None:
        for tensor in tensors:
            self._numbers[tensor.untyped_storage()._cdata] = numbers

    def used(self, tensors: list[torch.Tensor]) -> None:
        """An operator on the current stream is about to use these."""
        if self._numbers and self._streams.current is self._streams.default:
            for tensor in tensors:
                self._streams.wait(self._numbers.pop(tensor.untyped_storage()._cdata, []))

    def flush(self) -> None:
        """The backward pass ends: it has waited for all of them."""
        for numbers in self._numbers.values():
            self._streams.wait(numbers)
        self._numbers.clear()
