"""python -m ddpsim.torch record ...: see ddpsim/torch/fake/command.py."""
import sys


def main() -> int:
    if sys.argv[1:2] != ["record"]:
        print("usage: python -m ddpsim.torch record --world-size N --out step.json -- train.py ARGUMENTS", file=sys.stderr)
        return 2
    from ddpsim.torch.fake.command import main as record
    return record(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
