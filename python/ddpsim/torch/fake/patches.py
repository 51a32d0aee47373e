"""Changes to Python objects that are undone at the end of a block."""
from __future__ import annotations

import contextlib
from typing import Any

_ABSENT = object()


class Patches(contextlib.ExitStack):
    """Sets attributes for as long as it is open; the last change is undone first."""

    def set(self, where: Any, name: str, value: Any) -> Any:
        """Sets an attribute that exists in this release of PyTorch, and returns what it was; None, and nothing is done, where it does not."""
        if where is None or not hasattr(where, name):
            return None
        before = getattr(where, name)
        self.put(where, name, value)
        return before

    def put(self, where: Any, name: str, value: Any) -> None:
        """Sets an attribute, whether there was one or not."""
        own = vars(where).get(name, _ABSENT)    # a classmethod stays one, what is inherited or made by __getattr__ stays so
        setattr(where, name, value)
        if own is _ABSENT:
            self.callback(delattr, where, name)
        else:
            self.callback(setattr, where, name, own)

    def answer(self, where: Any, **values: Any) -> None:
        """Makes functions answer a constant, whatever they are called with."""
        for name, value in values.items():
            self.set(where, name, lambda *_, _value=value, **__: _value)
