"""What a command writes as JSON, as text and as a dictionary."""
from __future__ import annotations

import json
from typing import Any, Generic, Protocol, TypeVar


class _Core(Protocol):
    def to_json(self) -> str: ...


Core = TypeVar("Core", bound=_Core)


class Answer(Generic[Core]):
    """Of one simulated iteration, or of a sweep."""

    def __init__(self, core: Core):
        self._core = core

    def to_json(self) -> str:
        """The very text that the command writes with --json: `ddpsim simulate` of a Result, `ddpsim sweep` of a Study."""
        return self._core.to_json()

    def to_dict(self) -> dict[str, Any]:
        """The same as a dictionary (docs/reference/results.md has every key)."""
        parsed: dict[str, Any] = json.loads(self.to_json())
        return parsed
