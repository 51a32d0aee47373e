"""collective_time and presets."""
import json
import subprocess
import sys
import timeit

import pytest

import ddpsim

OPERATIONS = ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "gather", "scatter", "send_recv"]


@pytest.mark.parametrize("topology, ranks", [("superpod-h100", 64), ("dgx-a100", 8), ("gb200-nvl72", 72)])
def test_the_times_are_those_of_topology_costs(cli, topology, ranks):
    listed = json.loads(cli("topology", "costs", topology, "--world-size", str(ranks), "--bytes", "8B:1GiB:32", "--json", "-"))["costs"]
    assert {row["operation"] for row in listed} == set(OPERATIONS)
    for row in listed:
        assert ddpsim.collective_time(row["operation"], row["bytes"], ranks=ranks, topology=topology) == row["time_s"], row


def test_by_hand_on_a_ring():
    """8 GPUs at 12.5 GB/s and 5 us a hop: an all-reduce is 14 steps of an eighth of the buffer."""
    def time(size):
        return ddpsim.collective_time("all_reduce", size, ranks=8, topology="ring-100gbps")
    size = 8_000_000_000
    latency = time(0) if time(0) else 0
    assert time(size) == pytest.approx(14 * (size / 8 / 12.5e9) + latency, rel=1e-3)


def test_the_times_of_a_backend_are_those_of_topology_costs(cli, root):
    for backend, topology in (("mpi", root / "examples/mpi/eight-hosts.yaml"), ("mpi", "dgx-h100"), ("gloo", "dgx-h100")):
        listed = json.loads(cli("topology", "costs", topology, "--world-size", "8", "--backend", backend, "--bytes", "8B:1GiB:512", "--json", "-"))["costs"]
        assert {row["operation"] for row in listed} == set(OPERATIONS)
        for row in listed:
            if row["operation"] == "send_recv" and backend == "gloo":
                continue    # of two ranks, and there of eight
            assert ddpsim.collective_time(row["operation"], row["bytes"], ranks=8, topology=str(topology), backend=backend) == row["time_s"], row
    assert ddpsim.collective_time("all_reduce", 1 << 20, 8, "dgx-h100", backend="nccl") == ddpsim.collective_time("all_reduce", 1 << 20, 8, "dgx-h100")


@pytest.mark.parametrize("program", ["ping", "reduction"])
def test_mpi_programs(root, program):
    """What the course's page shows."""
    done = subprocess.run([sys.executable, root / f"examples/mpi/{program}.py"], check=True, capture_output=True, text=True)
    assert f"$ python3 examples/mpi/{program}.py\n{done.stdout}```" in (root / "docs/guide/coursework.md").read_text()


def test_sizes_as_text_and_as_numbers():
    for text, number in (("64MiB", 64 << 20), ("1GB", 10**9), ("8B", 8)):
        assert ddpsim.collective_time("all_gather", text, ranks=64, topology="superpod-h100") == \
            ddpsim.collective_time("all_gather", number, ranks=64, topology="superpod-h100")


def test_shapes_of_groups():
    time = lambda ranks, **more: ddpsim.collective_time("all_reduce", "64MiB", ranks, "superpod-h100", **more)
    assert time(8) == time(list(range(8)))
    assert time(8, stride=8) == time(list(range(0, 64, 8)))
    assert time(8, stride=8) > time(8)    # over the network, and within a node


@pytest.mark.parametrize("topology, tolerance_us", [("superpod-h100", 5), ("dgx-a100", 5)])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_fast_enough_for_a_compiler(topology, tolerance_us, operation):
    """The best of some rounds, so that a busy machine does not decide; ever new sizes, as a compiler has them."""
    ddpsim.collective_time(operation, 1, ranks=64, topology=topology)
    sizes = iter(range(1000, 10_000_000, 977))
    rounds = timeit.repeat(lambda: ddpsim.collective_time(operation, next(sizes), ranks=64, topology=topology), number=500, repeat=15)
    assert min(rounds) / 500 < tolerance_us * 1e-6


@pytest.mark.parametrize("arguments, message", [
    (("all_reduc", 1, 8, "dgx-h100"), "did you mean 'all_reduce'"), (("all_reduce", "1MiX", 8, "dgx-h100"), "unknown unit"),
    (("all_reduce", -1, 8, "dgx-h100"), "is no number of bytes"), (("all_reduce", float("nan"), 8, "dgx-h100"), "is no number of bytes"),
    (("all_reduce", 1, 1, "dgx-h100"), "needs two GPUs"), (("all_reduce", 1, 8, "dgx-h10"), "did you mean 'dgx-h100'"),
    (("all_reduce", 1, [0, 0], "dgx-h100"), "different GPUs"), (("all_reduce", 1, 8, "dgx-h100", 1, "mpj"), "did you mean 'mpi'"), (("all_reduce", 1, 1 << 20, "dgx-h100", 1 << 20), "no cluster has")])
def test_what_cannot_be(arguments, message):
    with pytest.raises(ddpsim.InputError, match=message):
        ddpsim.collective_time(*arguments)


@pytest.mark.parametrize("kind", ["topologies", "gpus", "models", "software", "kernels", "fabrics", "calibrations", "configs"])
def test_presets_come_with_the_package(root, kind):
    files = {path.stem for path in (root / kind).glob("*.yaml") if not path.stem.startswith("testbed-")}
    names = ddpsim.presets(kind)
    assert files <= set(names) and names == sorted(names)
    if kind not in ("models",):
        assert files == set(names)
