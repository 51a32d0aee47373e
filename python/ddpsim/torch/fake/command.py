"""python -m ddpsim.torch record: a script's step at any world size, as files."""
from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

_EXAMPLE = """\
examples:
  ddpsim record --world-size 64 --out step.json -- train.py --batch-size 8
  ddpsim record --world-size 8,64,1024 --out step.json -- train.py     writes step-8.json, step-64.json, step-1024.json
  ddpsim record --world-size 32 --ranks stages --out step.json -- pipeline.py    one file for each pipeline stage
"""
_WAITS = 75    # exit status of a rank that needs another one's objects first


def _numbers(text: str) -> list[int]:
    try:
        values = [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of whole numbers") from None
    if len(set(values)) != len(values):
        raise argparse.ArgumentTypeError(f"{text!r} names a number twice")
    return values


def _ranks(text: str) -> list[int] | None:
    return None if text == "stages" else _numbers(text)


def _assumption(text: str) -> tuple[str, float]:
    word, _, share = text.partition("=")
    try:
        return word, float(share)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not OPERATOR=SHARE, such as nonzero=0.5") from None


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="ddpsim record", description="Records one training step of a PyTorch script as one rank of a job of any size. "
                                   "It needs no GPU: tensors have shapes only, and other ranks are not started.",
                                   epilog=_EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--world-size", type=_numbers, required=True, metavar="N[,N...]", help="ranks of the job; one file for each")
    which = made.add_mutually_exclusive_group()
    which.add_argument("--rank", type=int, default=None, metavar="R", help="the rank that is recorded (default: 0)")
    which.add_argument("--ranks", type=_ranks, default=[], metavar="R,R...|stages", help="several, a file for each; stages: rank 0 and those of its pipeline")
    made.add_argument("--step", type=int, default=3, metavar="K", help="the step of the optimizer that is recorded, from 2 (default: 3)")
    made.add_argument("--gpu", default="h100-sxm", metavar="NAME", help="the GPU that the script sees, of 'ddpsim list gpus' (default: h100-sxm)")
    made.add_argument("--gpus-per-node", type=int, default=8, metavar="N", help="for LOCAL_RANK and the like (default: 8)")
    made.add_argument("--assume", type=_assumption, action="append", default=[], metavar="OPERATOR=SHARE",
                      help="results whose size depends on values: nonzero=0.5 takes half of the elements")
    made.add_argument("--kernels", metavar="FILE.py|flash_attn",
                      help="runs before the script; says by ddpsim.torch.kernel() what unknown kernels are; flash_attn: the package's, which need not be installed")
    made.add_argument("--out", required=True, metavar="FILE", help="JSON lines, compressed where it ends in .gz")
    made.add_argument("--mail", help=argparse.SUPPRESS)
    made.add_argument("-m", dest="module", action="store_true", help="the script is the name of a module, as in python -m")
    made.add_argument("script", nargs=argparse.REMAINDER, metavar="-- SCRIPT ARGUMENTS")
    return made


def main(arguments: list[str]) -> int:
    """Exit status: 0, 1 where the script fails, 2 for what cannot be recorded or is asked wrongly."""
    made = parser()
    asked = made.parse_args(arguments)
    script = asked.script[1:] if asked.script[:1] == ["--"] else asked.script
    if not script:
        made.error("no script: ddpsim record --world-size N --out step.json -- train.py")
    ranks = [asked.rank or 0] if asked.ranks == [] else asked.ranks
    sizes = asked.world_size
    for rank in ranks or []:
        if rank >= min(sizes):
            made.error(f"rank {rank} is none of {min(sizes)} ranks")
    if ranks is not None and len(ranks) == 1 and len(sizes) == 1:
        return _record(asked, sizes[0], ranks[0], Path(asked.out), script)
    for size in sizes:
        status = _several(asked, size, ranks, len(sizes) > 1, script)
        if status:
            return status
    return 0


def _name(out: str, *parts: str) -> Path:
    path = Path(out)
    ending = "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix
    return path.with_name("-".join([path.name[:len(path.name) - len(ending)] if ending else path.name, *parts]) + ending)


def _several(asked: Any, size: int, ranks: list[int] | None, name_size: bool, script: list[str]) -> int:
    """Each rank in a process of its own. One that needs objects of a rank that comes later is recorded again once that has sent them."""
    stages = ranks is None
    wanted = list(ranks or [0])
    done: set[int] = set()
    left = -1    # letters in the mail after the last round in which no rank was finished
    with tempfile.TemporaryDirectory(prefix="ddpsim-record-") as folder:
        mail = Path(folder)
        while len(done) < len(wanted):
            before = len(done)
            for rank in [rank for rank in wanted if rank not in done]:
                out = _name(asked.out, *([str(size)] if name_size else []), *([f"rank{rank}"] if stages or len(wanted) > 1 else []))
                command = [sys.executable, "-m", "ddpsim.torch", "record", "--world-size", str(size), "--rank", str(rank), "--step", str(asked.step), "--gpu", asked.gpu,
                           "--gpus-per-node", str(asked.gpus_per_node), "--mail", folder, "--out", str(out), *(["-m"] if asked.module else []),
                           *(["--kernels", asked.kernels] if asked.kernels else []), *[f"--assume={word}={share}" for word, share in asked.assume], "--", *script]
                status = subprocess.run(command, check=False).returncode
                if status == 0:
                    done.add(rank)
                elif status != _WAITS:
                    return status
                if stages:
                    wanted += [peer for peer in _peers(mail, rank) if peer not in wanted]
            letters = len(list(mail.iterdir()))
            if len(done) == before and letters == left:
                waiting = ", ".join(str(rank) for rank in sorted(set(wanted) - done))
                print(f"ddpsim record: error: ranks {waiting} wait for objects of ranks that are not recorded with them\n"
                      "hint: --ranks stages records rank 0 and all it exchanges with", file=sys.stderr)
                return 2
            left = letters
            wanted.reverse()    # what comes back goes the other way
    return 0


def _peers(mail: Path, rank: int) -> list[int]:
    """Ranks that it exchanges with, or wants to."""
    from ddpsim.torch.fake.groups import peers_file
    path = mail / peers_file(rank)
    return [int(word) for word in path.read_text().split()] if path.exists() else []


def _record(asked: Any, size: int, rank: int, out: Path, script: list[str]) -> int:
    os.environ["CUDA_VISIBLE_DEVICES"] = ""    # before CUDA is asked for the first time: the GPU is not there whether there is one or not
    from ddpsim.torch.fake import flash_attn
    from ddpsim.torch.fake.refusals import MissingMail, Unsupported
    from ddpsim.torch.fake.running import run_file, run_script
    from ddpsim.torch.fake.session import trace_step
    from ddpsim.torch.fake.summary import summary
    try:
        out.parent.joinpath(out.name).open("ab").close()    # before the work
    except OSError as error:
        print(f"ddpsim record: cannot write {out}: {error.strerror}", file=sys.stderr)
        return 6
    written = False
    try:
        if asked.kernels == "flash_attn":
            flash_attn.declare()
        elif asked.kernels:
            run_file(asked.kernels)
        with trace_step(size, rank, gpu=asked.gpu, gpus_per_node=asked.gpus_per_node, step=asked.step, out=out, assume=dict(asked.assume), mail=asked.mail,
                        script=script) as step:
            run_script(script, asked.module)
        written = True
        print(summary(step), file=sys.stderr)
        return 0
    except MissingMail as error:
        if asked.mail:
            return _WAITS
        return _fail(str(error))
    except (Unsupported, ValueError) as error:
        if isinstance(error, ValueError) and not _is_ours(error):
            raise
        return _fail(str(error))
    finally:
        if not written and out.exists() and out.stat().st_size == 0:
            out.unlink()


def _is_ours(error: BaseException) -> bool:
    """Whether it was thrown for an argument, and not in the script."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    return frame is not None and os.path.dirname(frame.tb_frame.f_code.co_filename) == os.path.dirname(os.path.abspath(__file__))


def _fail(message: str) -> int:
    print(f"ddpsim record: error: {message}", file=sys.stderr)
    return 2


