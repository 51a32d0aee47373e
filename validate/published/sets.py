"""The data sets of the accuracy book: what each command is given. Why: README.md (the protocol) and each folder's SOURCE.md."""
from dataclasses import dataclass, fields, replace


@dataclass(frozen=True)
class Row:
    """One measured run: which row of the measured file, and how the scenario says it."""
    strategy: str
    cap: str = ""                # "100MiB"; "" where the implementation has none
    role: str = "judged"         # calibrated, judged; other: shown, and not counted
    set: tuple = ()              # --set of this run: what its implementation does
    drained: bool = False        # the clock of the tail starts when all communication has ended


@dataclass(frozen=True)
class Case:
    """Runs of one configuration: one trace, one table of all-reduces, one file of measured iterations."""
    name: str
    forward: float               # seconds, without communication
    backward: float
    optimizer: float
    rows: tuple
    measured: str = "measured.csv"
    divide: float = 0            # a pass over all gradients after the last wait: beside the optimizer in the trace, tail in the book
    batch: int = 0               # where it differs from the set's
    sequence: int = 0
    set: tuple = ()              # --set of all its runs


@dataclass(frozen=True)
class Variation:
    """Another assumption, everything else as it is; calibrated again."""
    name: str
    set: tuple = ()
    synthesize: tuple = ()
    split: tuple = ()            # (forward, backward, optimizer) in place of the first case's; the others keep theirs
    one_to_two: bool = False     # forward : backward 1 : 2 in all cases
    without: tuple = ()          # --set entries that begin so are dropped
    each: bool = False           # every case calibrated on its own first overlapped row


@dataclass(frozen=True)
class Set:
    folder: str
    title: str
    layers: str                  # model file, from the root of the repository
    batch: int
    sequence: int
    cases: tuple
    inputs: tuple                # sentences
    tails: str                   # judged, or why not
    gpu: str                     # a preset's name: what the product would be told of these GPUs
    dtype: str = "float32"
    order: str = "caps"          # what is ordered: the caps of a case, or the configurations
    variations: tuple = ()
    plot: tuple = ()             # (index of a case, --set ...)
    remarks: tuple = ()
    shown: int = 0               # the case that scenario.yaml is, and trace.csv beside it

    def __post_init__(self):
        """A tuple of one without its comma is a string, and each of its letters a sentence."""
        for field in fields(self):
            if field.type is tuple and not isinstance(getattr(self, field.name), tuple):
                raise TypeError(f"{self.folder}: {field.name} must be a tuple; is a comma missing?")


CAPS = ("1MiB", "10MiB", "100MiB", "1000MiB")


def overlapped(bucketed=(), calibrated=True):
    """The runs of a CS336 report: all-reduces one by one, and the caps of 1, 10, 100 and 1000 MB."""
    return (Row("overlap", role="calibrated" if calibrated else "judged"), *(Row("ddp", cap, set=tuple(bucketed)) for cap in CAPS))


REFERENCE = Set(
    folder="reference", title="XL on 2 GPUs, the reference runs", layers="models/cs336-xl.yaml", batch=2, sequence=128,
    cases=(Case("", 0.07811, 0.15622, 0.092, overlapped()),),
    inputs=("Without communication 326.33 ms: the naive row less its 90.36 ms of communication.",
            "All-reduces: 12.6 us and 94.2 GB/s, from the naive row (435 of them, 90.36 ms) and the flat row (one of 7.99 GB, 84.89 ms).",
            "Assumed: the model (CS336 XL, 1,998,235,200 parameters in fp32), 92 ms of optimizer (as on ShibukiZero's H20), forward : backward 1 : 2, "
            "MB = 2^20 B, no copies (nothing says on which GPU)."),
    tails="judged", gpu="h100-sxm",    # which GPU it was nobody says
    variations=(Variation("optimizer 0 instead of 92 ms", split=(0.108777, 0.217553, 0)),
                Variation("optimizer 184 ms", split=(0.047443, 0.094887, 0.184)),
                Variation("forward : backward 1 : 1", split=(0.117165, 0.117165, 0.092)),
                Variation("passes over memory as if on an H100 (0.67 of 3.35 TB/s)", set=("physics.pass_bandwidth=2245GB/s",))),
    plot=(0,),
    remarks=("Seen afterwards: the bucketed tails are 0.66 ms and 2.5 us a bucket (435, 339, 98 and 8 of them) within 5 %, so the host's time after the GPU "
             "has come to rest rather than what is exposed: 740 MB, the last bucket of 1000 MB, cannot pass in 0.68 ms. They are judged as the protocol has it.",))

SHIBUKI = Set(
    folder="ShibukiZero", title="XL on 2 H20 with NVLink, ShibukiZero", layers="models/cs336-xl.yaml", batch=4, sequence=128,
    cases=(Case("", 0.104447, 0.208893, 0.09194, overlapped()),),
    inputs=("Without communication: forward and backward 313.34 ms (split 1 : 2), optimizer 91.94 ms, the means of the two naive rows.",
            "A pass over all gradients in memory: 6.03 ms (2652 GB/s, 0.66 of 4.0 TB/s), the tail of the calibrated row: by then only the division is left.",
            "All-reduces: 30.9 us and 379 GB/s, from the naive rows less one pass (34.51 ms for 435) and the flat row less three (21.11 ms for one)."),
    tails="judged", gpu="h20",
    variations=(Variation("the isolated all-reduces (1 GiB in 8.11 ms) instead of the run's own", set=("collective.measured=allreduce-isolated.csv",)),
                Variation("no passes over memory at all", set=("physics.passes=none",))),
    plot=(0,),
    remarks=("The plot begins at 80 MiB, where no large tensor is alone in its bucket: single ones are divided in place and not copied.",))

COPIES_ALL = ("physics.passes={in: 1, out: 2}",)    # single tensors, too


def damek_case(batch, sequence, forward, backward, optimizer, flat="other", calibrated=False):
    rows = overlapped(COPIES_ALL, calibrated=calibrated)
    if flat:
        rows += (Row("flat", role=flat),)
    return Case(f"batch {batch}, sequence {sequence}", forward, backward, optimizer, rows, f"measured-{batch}x{sequence}.csv", batch=batch, sequence=sequence)


DAMEK = Set(
    folder="damek", title="XL on 2 GPUs on PCIe, damek", layers="models/cs336-xl.yaml", batch=2, sequence=128,
    cases=(damek_case(2, 128, 0.079838, 0.112908, 0.168993, calibrated=True), damek_case(2, 256, 0.088909, 0.125736, 0.168993),
           damek_case(2, 512, 0.088951, 0.222195, 0.168993), damek_case(4, 128, 0.082503, 0.116677, 0.174059),
           damek_case(4, 256, 0.08085, 0.20196, 0.169128), damek_case(4, 512, 0.171453, 0.380493, 0.163793, flat="")),
    inputs=("All-reduces: the isolated table of the same report (19.4 us and 20.7 GB/s at 1000 MiB); it agrees with the flat rows.",
            "Without communication: each naive row less 427.7 ms, its 435 all-reduces by that table. Batch 4 is split as the same author's timings of one GPU "
            "are, what is left is the optimizer (164 to 174 ms); batch 2 takes the mean of those and the shares of the same number of tokens.",
            "A pass over all gradients: 11.1 ms (1443 GB/s), the optimizer's 169 ms against ShibukiZero's 91.9 ms at 2652 GB/s: the same code on the same tensors.",
            "One strength of interference for all six configurations, from the first overlapped row that is reported."),
    tails="not comparable: nothing waits for the GPU between backward and the clock's start, so that they hold what is left of backward, too",
    gpu="h100-sxm",    # nobody says
    variations=(Variation("each configuration calibrated on its own overlapped row (24 judged)", each=True),
                Variation("forward : backward 1 : 2", one_to_two=True),
                Variation("no passes over memory at all", without=("physics.passes",), set=("physics.passes=none",))),
    plot=(2, *COPIES_ALL), shown=2,
    remarks=("Flat rows are shown and not counted: nothing overlaps in them. Batch 4, sequence 512, flat is left out: 1963 ms, of which 403 are communication.",
             "Passes over memory: as in ShibukiZero's set, but this implementation copies single tensors, too."))

NONE = ("physics.passes=none",)    # but the division, which comes after all of them have ended: Case.divide
ENZO = Set(
    folder="EnzoDing", title="XL (2560 wide) on 2 RTX PRO 6000 on PCIe, EnzoDing", layers="validate/published/EnzoDing/model.yaml", batch=2, sequence=512,
    cases=(Case("batch 2", 0.155, 0.2953, 0.2727, (Row("overlap", role="calibrated", set=NONE, drained=True), Row("naive", set=NONE),
                                                          Row("flat", set=("physics.passes={in: 1, out: 1}",))), "measured-2.csv", divide=0.020),
           Case("batch 4", 0.323, 0.571, 0.273, (Row("naive", set=NONE),), "measured-4.csv", divide=0.020, batch=4)),
    inputs=("Without communication: batch 2 the means of three naive rows (155.0, 295.3, 272.7 ms), batch 4 the run on one GPU (323, 571, 273 ms).",
            "All-reduces: the isolated table of the same report (36.0 GB/s).",
            "A pass over all gradients: 20 ms (1363 GB/s, 0.76 of 1792 GB/s), the tail of the overlapped row."),
    tails="judged", gpu="rtx-pro-6000-blackwell", order="none",
    remarks=("There is one overlapped row. Its total gives the interference and its tail the pass over memory: that the book reproduces both is a fit, no judgement. "
             "Judged is what is left: rows in which nothing overlaps, by the isolated all-reduces.",
             "Its tail says nothing of the collectives: the clock waits for the whole GPU, all-reduces included, before it starts, and what follows is the division. "
             "So compute and collective cannot be told apart (s = r), and what the report calls backward includes the rest of the all-reduces."))

CESGA = Set(
    folder="cesga", title="BERT base on 1, 2 and 4 A100-PCIe, CESGA", layers="models/bert-base-qa.yaml", batch=160, sequence=384, dtype="bfloat16", order="all",
    cases=tuple(Case(name, 0.1213, 0.268068, 0.0025, (Row("ddp", "25MiB", role=role),), f"measured-{name}.csv",
                     set=(f"cluster.world_size={ranks}", f"collective.measured=allreduce-{name}.csv"))
                for name, ranks, role in (("1n2g", 2, "calibrated"), ("2n1g", 2, "judged"), ("2n2g", 4, "judged"))),
    inputs=("Without communication 391.87 ms, the step on one GPU; forward 121.3 and optimizer 2.5 ms as profiled (in the step on four), the rest backward.",
            "All-reduces: the three isolated tables.",
            "Copies in and out (PyTorch's DDP) at 1042 GB/s, 0.67 of the A100-PCIe's 1555 GB/s: the share is ShibukiZero's."),
    tails="judged: what the profiler saw as waiting", gpu="a100-pcie-40gb",
    variations=(Variation("forward : backward 1 : 2", one_to_two=True),
                Variation("no copies", set=("physics.passes=none",))),
    plot=(2,), shown=2,
    remarks=("Steps are epoch times over full batches, so start-up is in them: more on 138 steps (2n2g) than on 553 (one GPU).",
             "The calibrated row varies by 5.7 ms, which is more than what interference costs there: s is hardly determined. "
             "Both errors are within two standard deviations of the judged rows."))

BASKERVILLE = Set(
    folder="baskerville", title="GPT-2 large on 1 to 4 A100, Baskerville", layers="validate/published/baskerville/model.yaml", batch=16, sequence=128, dtype="bfloat16",
    order="all",
    cases=tuple(Case(f"{name} ({what})", 0.070632, 0.141264, 0.013, (Row("ddp", role=role),), f"measured-{name}.csv",
                     set=(f"cluster.world_size={ranks}", f"collective.measured=allreduce-{name}.csv"))
                for name, what, ranks, role in (("2x1", "InfiniBand", 2, "calibrated"), ("1x2", "NVLink", 2, "judged"), ("1x4", "NVLink", 4, "judged"),
                                                ("4x1", "InfiniBand", 4, "judged"))),
    inputs=("Without communication 224.90 ms, the step on one GPU; optimizer 13 ms (28 B a parameter at 1.5 TB/s, assumed), forward : backward 1 : 2.",
            "All-reduces: one isolated time a configuration (1.416 GB), in proportion to bytes.",
            "Copies in and out (PyTorch's DDP) at 1042 GB/s, 0.67 of 1555 GB/s.",
            "Gradients are fp32 on the wire: with bf16, 2x1 would take 346.6 ms without any overlap, and 366.5 were measured."),
    tails="not measured", gpu="a100-sxm4-40gb",
    variations=(Variation("no copies", set=("physics.passes=none",)),
                Variation("bf16 on the wire", synthesize=("--gradients", "bfloat16"))),
    shown=3,
    remarks=("2x2 is left out: 1617 ms a step, slower than one GPU, which its own all-reduces (309 ms) do not explain.",
             "The four 1-GPU and 2-GPU runs of the smaller GPT-2 have no number of steps, and one GPU is slower there than two by more than two."))

SETS = (REFERENCE, SHIBUKI, DAMEK, ENZO, CESGA, BASKERVILLE)


def varied(data: Set, variation: Variation) -> Set:
    """The set under another assumption."""
    cases = []
    for index, case in enumerate(data.cases):
        if variation.split and index == 0:
            case = replace(case, forward=variation.split[0], backward=variation.split[1], optimizer=variation.split[2])
        if variation.one_to_two:
            both = case.forward + case.backward
            case = replace(case, forward=both / 3, backward=2 * both / 3)
        rows = []
        for row in case.rows:
            kept = tuple(entry for entry in row.set if not entry.startswith(variation.without)) if variation.without else row.set
            role = "calibrated" if variation.each and row.strategy == "overlap" else row.role
            rows.append(replace(row, set=kept, role=role))
        cases.append(replace(case, rows=tuple(rows), set=case.set + variation.set))
    return replace(data, cases=tuple(cases))
