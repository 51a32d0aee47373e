"""What is wrong with an input, and where."""
from __future__ import annotations

import re

# "file:line:column: error: message", the line with a caret, "hint: ..." (sim/base/source.hpp).
_TEXT = re.compile(
    r"(?:(?P<file>.*?):(?:(?P<line>\d+):(?P<column>\d+):)? )?error: (?P<message>.*?)"
    r"(?:\n  \d+ \| [^\n]*\n *\| *\^[^\n]*)?(?:\nhint: (?P<hint>.*))?", re.DOTALL)


class InputError(ValueError):
    """The user's mistake. str() is the whole message as the command line prints it.

    Lines and columns count from 1; None where there is no place, or the file as a whole is meant.
    """

    file: str | None
    line: int | None
    column: int | None
    message: str
    hint: str | None

    def __init__(self, text: str):
        super().__init__(text)
        found = _TEXT.fullmatch(text)
        parts = found.groupdict() if found else {}
        self.file = parts.get("file")
        self.line = int(parts["line"]) if parts.get("line") else None
        self.column = int(parts["column"]) if parts.get("column") else None
        self.message = parts.get("message") or text
        self.hint = parts.get("hint")
