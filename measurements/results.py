#!/usr/bin/env python3
"""Writes the blocks of RESULTS.md anew: results.py DDPSIM [WORD ...]

A block begins with the command that makes it, <!-- measurements/judge_X.py ARGUMENTS -->, and ends at <!-- end -->. With words, only blocks whose command has one of them."""
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE / "RESULTS.md"
BLOCK = re.compile(r"<!-- measurements/(\S+)( [^\n]*)? -->\n.*?<!-- end -->\n", re.DOTALL)


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    ddpsim, *words = sys.argv[1:]

    def written(match):
        script, arguments = match[1], (match[2] or "").split()
        command = " ".join([script, *arguments])
        if words and not any(word in command for word in words):
            return match[0]
        print(command, file=sys.stderr)
        program = [] if script == "judge_attention.py" else [ddpsim]  # kernels alone, nothing simulated
        done = subprocess.run([sys.executable, "-B", HERE / script, *program, *arguments], stdout=subprocess.PIPE, text=True, check=True)
        return f"<!-- measurements/{command} -->\n{done.stdout.strip()}\n<!-- end -->\n"

    PAGE.write_text(BLOCK.sub(written, PAGE.read_text()))


if __name__ == "__main__":
    main()
