#!/usr/bin/env python3
"""Broken inputs and the whole message each of them gets.

A case stands in one of the tables bad_input/*.txt:

    == what is wrong
    $ sweep scenario.yaml --set ddp.bucket_cap=25
    -- trace.csv
    the broken text of a file
    -- stderr
    what is on standard error

`$ ARGUMENTS` is that in front of the table's first case unless given, and `$ simulate scenario.yaml` where there is none. The case runs beside the files of bad_input/good/; the files it names
replace those. `-- NAME (escaped)` reads \\t, \\r and \\xNN as Python does and a last line end only where there is \\n;
`-- NAME (absent)` removes the file and `-- NAME (folder)` puts a folder there. Files too large or too odd to be shown are made
in GENERATED.

Errors of bad_input/scenario.txt stand as they are printed. Those of other tables leave out the line that is quoted and what is below it, where it
is the line of the file or the argument that the place names, marked from that column on: "x.yaml:2:14-16: error: ..." has three marks.

Whatever the case, the exit code is 2, standard output is empty, no output is written and there is a hint.

After a message was changed: bad_input_test.py BINARY SOURCE_ROOT --update rewrites every `-- stderr`; read the difference.
"""
import gzip
import pickle
import re
import shlex
import shutil
import struct
import subprocess
import sys
import unittest
import zlib
from pathlib import Path

import ddpsim_cli as cli

TABLES = Path(__file__).resolve().parent / "bad_input"


def one_pixel_png():
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b""))


def alias_bomb():
    """Nine lists, each of nine times the one before: 9^9 values in 400 bytes."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]" for k in range(1, 9)]
    return "\n".join(lines).encode() + b"\n"


def nccl_system(count, device):
    """A topology of NCCL with as many devices below one CPU."""
    devices = "".join(f'<pci busid="{i:04x}:01:00.0" {device}\n' for i in range(count))
    return f'<system version="1"><cpu numaid="0">\n{devices}</cpu></system>\n'.encode()


# File name -> bytes; a case has the file when it names it in its command or in another file.
GENERATED = {
    "nested.yaml": lambda: b"workload: " + b"[" * 100_000,
    "nested_maps.yaml": lambda: b"{a: " * 100_000,
    "aliases.yaml": alias_bomb,
    "picture.yaml": one_pixel_png,
    "report.sqlite": lambda: b"SQLite format 3\0" + bytes(84),
    "dump.pkl": lambda: pickle.dumps({"entries": []}, protocol=4),
    "model.pt": lambda: b"PK\x03\x04" + bytes(26),
    "trace.csv.gz": lambda: gzip.compress((TABLES / "good/trace.csv").read_bytes(), mtime=0),
    "latin1.yaml": lambda: "workload: {trace: tracé.csv}\n".encode("latin-1"),
    "utf16.yaml": lambda: "workload: {trace: trace.csv}\n".encode("utf-16"),
    "binary.csv": lambda: bytes(range(256)) * 16,
    "large.yaml": lambda: b"# filler\n" * 600_000,
    "many_gpus.txt": lambda: " ".join(f"GPU{i}" for i in range(129)).encode() + b"\n",
    "many_gpus.xml": lambda: nccl_system(129, 'class="0x030200" link_speed="8 GT/s"/>'),
    "many_nics.xml": lambda: nccl_system(129, 'class="0x020000" link_speed="8 GT/s"/>'),
    "many_switches.xml": lambda: nccl_system(4100, 'class="0x060400" link_speed="8 GT/s"><pci busid="1" class="0x01"/></pci>'),
}


class Case:
    def __init__(self, table, title, command):
        self.table, self.title, self.command = table, title, command
        self.files = []  # (name, how, text)
        self.stderr = ""

    @property
    def arguments(self):
        return shlex.split(self.command)

    def with_outputs(self):
        """The command with every output it can write."""
        command, *rest = self.arguments
        outputs = {"simulate": ["--json", "out.json", "--csv", "out.csv", "--timeline", "out.trace"],
                   "sweep": ["--json", "out.json", "--csv", "out.csv", "--plot", "out.svg", "--html", "out.html"],
                   "calibrate": [] if {"--json", "--overlap-profile", "--alone", "--step"} & set(rest) else ["--json", "out.json"]}
        return [command, *outputs.get(command, []), *rest]

    def names_file(self, name):
        return name in self.command or any(name in text for _, _, text in self.files)


def parse_table(path):
    cases, section, command = [], None, "simulate scenario.yaml"
    for number, line in enumerate(path.read_text().splitlines(keepends=True), 1):
        if line.startswith("== "):
            cases.append(Case(path.stem, line[3:].strip(), command))
            section = None
        elif line.startswith("$ ") and not cases:
            command = line[2:].strip()
        elif line.startswith("$ ") and section is None:
            cases[-1].command = line[2:].strip()
        elif match := re.fullmatch(r"-- (\S+)(?: \((escaped|absent|folder)\))?\n", line):
            section, how = match.groups()
            if section != "stderr":
                cases[-1].files.append((section, how, ""))
        elif section == "stderr":
            cases[-1].stderr += line
        elif section:
            name, how, text = cases[-1].files[-1]
            cases[-1].files[-1] = (name, how, text + line)
        elif line.strip() and not line.startswith("#"):
            raise ValueError(f"{path}:{number}: belongs to no section: {line!r}")
    for case in cases:
        case.stderr = case.stderr.rstrip("\n") + "\n"
    return cases


def write_inputs(case, folder):
    shutil.copytree(TABLES / "good", folder, dirs_exist_ok=True)
    for name, contents in GENERATED.items():
        if case.names_file(name):
            (folder / name).write_bytes(contents())
    for name, how, text in case.files:
        path = folder / name
        path.unlink(missing_ok=True)
        if how == "folder":
            path.mkdir()
        elif how == "escaped":
            path.write_bytes(text.rstrip("\n").encode().decode("unicode_escape").encode("latin-1"))
        elif how != "absent":
            path.write_text(text)


QUOTE = re.compile(r"(?m)^(?P<name>\S+):(?P<line>\d+):(?P<column>\d+): (?P<error>error: .*)\n  (?P=line) \| (?P<quoted>.*)\n +\| (?P<before> *)(?P<marks>\^~*)$")


def without_quotes(stderr, case, folder):
    """Leaves out each quoted line that is the one its place names."""
    def shortened(match):
        column, line = int(match["column"]), int(match["line"])
        path = folder / match["name"]
        texts = path.read_bytes().split(b"\n")[line - 1:line] if path.is_file() else [text.encode() for text in case.arguments]
        for text in (text.rstrip(b"\r") for text in texts):
            if re.sub(r"[\x00-\x1f\x7f]", " ", text.decode(errors="replace")) == match["quoted"] and \
                    len(text[:column - 1].decode(errors="replace")) == len(match["before"]):
                marks = len(match["marks"])
                return f"{match['name']}:{line}:{column}{f'-{column + marks - 1}' if marks > 1 else ''}: {match['error']}"
        return match[0]
    return stderr if case.table == "scenario" else QUOTE.sub(shortened, stderr)


class BadInput(cli.CliTest):
    def check(self, case):
        write_inputs(case, self.folder)
        before = self.files()
        done = self.run_ddpsim(*case.with_outputs())
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(self.files(), before, "a failed command leaves files")
        self.assertEqual(without_quotes(done.stderr, case, self.folder), case.stderr)
        self.assertRegex(done.stderr, r"(?m)^(\S+: )?error: ")
        self.assertRegex(done.stderr, r"(?m)^hint: ")


class Corpus(unittest.TestCase):
    def test_is_as_large_as_promised(self):
        cases = all_cases()
        self.assertGreaterEqual(len(cases), 60)
        titles = [(case.table, case.title) for case in cases]
        self.assertEqual(len(titles), len(set(titles)), "two cases have the same title")

    def test_every_table_is_registered(self):
        """CMakeLists.txt runs each table as a test of its own."""
        registered = re.search(r"foreach\(table IN ITEMS ([^)]*)\)", (TABLES.parent / "CMakeLists.txt").read_text())[1].split()
        self.assertEqual(registered, sorted(table.stem for table in TABLES.glob("*.txt")))

    def test_uses_every_generated_file(self):
        for name in GENERATED:
            self.assertTrue(any(case.names_file(name) for case in all_cases()), name)


def all_cases():
    return [case for table in sorted(TABLES.glob("*.txt")) for case in parse_table(table)]


def add_tests():
    """One test a case: BadInput.test_TABLE__TITLE."""
    for case in all_cases():
        name = f"test_{case.table}__" + re.sub(r"\W+", "_", case.title).strip("_")
        setattr(BadInput, name, lambda self, case=case: self.check(case))


def update():
    for table in sorted(TABLES.glob("*.txt")):
        texts = re.split(r"(?m)^(?=== )", table.read_text())
        for i, case in enumerate(parse_table(table), 1):
            test = cli.CliTest()
            test.setUp()
            write_inputs(case, test.folder)
            done = test.run_ddpsim(*case.with_outputs())
            stderr = without_quotes(done.stderr, case, test.folder)
            test.doCleanups()
            if done.returncode != 2:
                print(f"{table.name}: {case.title}: exit code {done.returncode}", file=sys.stderr)
            head = texts[i].split("\n-- stderr\n")[0].rstrip("\n")
            texts[i] = f"{head}\n-- stderr\n{stderr.rstrip()}\n\n"
        table.write_text("".join(texts).rstrip("\n") + "\n")


if __name__ == "__main__":
    if sys.argv[3:] == ["--update"]:
        cli.BINARY = Path(sys.argv[1]).resolve()
        update()
    else:
        add_tests()
        cli.main()
