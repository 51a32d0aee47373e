"""The command `ddpsim`: the program that lies beside this file; `ddpsim record` is Python's (ddpsim.torch)."""
import os
import sys
from pathlib import Path


def main() -> None:
    if sys.argv[1:2] == ["record"]:
        os.execv(sys.executable, [sys.executable, "-m", "ddpsim.torch", *sys.argv[1:]])
    program = Path(__file__).resolve().parent / "bin" / "ddpsim"
    os.execv(program, [str(program), *sys.argv[1:]])


if __name__ == "__main__":
    main()
