"""The command `ddpsim`: the program that lies beside this file."""
import os
import sys
from pathlib import Path


def main() -> None:
    program = Path(__file__).resolve().parent / "bin" / "ddpsim"
    os.execv(program, [str(program), *sys.argv[1:]])


if __name__ == "__main__":
    main()
