#!/usr/bin/env python3
"""The core simulates a step in a program that knows no YAML, no command line, no SimGrid and no child processes.

Usage: core_test.py PROGRAM.
"""
import re
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1)


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Core(unittest.TestCase):
    def test_it_simulates(self):
        """The last megabyte is ready at 30 ms and takes 2 x 7/8 of a millisecond at 1 GB/s."""
        self.assertEqual(output_of(PROGRAM), "31.750000 31.750000\n")

    def test_which_libraries_it_loads(self):
        needed = re.findall(r"NEEDED.*\[(.*)\]", output_of("readelf", "-d", PROGRAM))
        self.assertTrue(any(name.startswith("libstdc++") for name in needed), needed)
        for library in ("yaml", "simgrid", "CLI", "ns3"):
            self.assertFalse([name for name in needed if library.lower() in name.lower()], library)

    def test_it_starts_no_process(self):
        undefined = re.findall(r" U (\w+)", output_of("nm", "-D", PROGRAM))
        self.assertTrue("dlopen" in undefined)  # SimGrid, once somebody asks for it
        for call in ("fork", "vfork", "execv", "execvp", "posix_spawn", "posix_spawnp"):
            self.assertFalse(call in undefined, call)

    def test_what_is_in_it(self):
        """The libraries are static: what they would bring of these would be defined here."""
        defined = output_of("nm", "-C", PROGRAM)
        for name in ("YAML::", "CLI::", "ddpsim::config::", "ddpsim::run_in_forked_workers"):
            self.assertFalse(name in defined, name)


if __name__ == "__main__":
    unittest.main()
