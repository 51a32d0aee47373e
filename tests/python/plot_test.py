"""Pictures of real studies: what they show is what the tables say, and the same picture is the same file."""
import os
import subprocess
import sys
import warnings

import matplotlib
import pandas
import pytest

import ddpsim
from ddpsim import plot

matplotlib.use("Agg")
MIB = 2 ** 20
CAPS = {"from": "1MiB", "to": "1GiB", "points": 12, "spacing": "log"}


@pytest.fixture(autouse=True)
def no_leftovers():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
    import matplotlib.pyplot
    matplotlib.pyplot.close("all")


@pytest.fixture(scope="module")
def quickstart():
    return ddpsim.Job.load("quickstart").sweep(progress=False)


@pytest.fixture
def swept(cli, tmp_path, root):
    """What the command line writes for a scenario's sweep."""
    def run(name):
        cli("sweep", root / name, "--quiet", "--csv", "swept.csv")
        return pandas.read_csv(tmp_path / "swept.csv")
    return run


def marked(ax, gid):
    return [(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in ax.get_lines() if line.get_gid() == gid]


def texts(ax):
    return [text.get_text() for text in ax.texts]


def inside(ax):
    """Whether all that is drawn lies on the paper; inches."""
    figure = ax.figure
    figure.canvas.draw()
    drawn, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    return drawn.x0 > -0.02 and drawn.y0 > -0.02 and drawn.x1 < width + 0.02 and drawn.y1 < height + 0.02


class TestSweep:
    def test_a_line_is_the_table(self, quickstart):
        ax = plot.sweep(quickstart)
        line = ax.get_lines()[1]
        assert list(line.get_xdata()) == list(quickstart["bucket_cap_bytes"])
        assert list(line.get_ydata()) == pytest.approx(list(quickstart["iteration_s"] * 1e3), rel=1e-12)
        assert ax.get_ylabel() == "iteration time (ms)" and ax.get_xlabel() == "bucket cap"
        assert inside(ax)

    def test_the_best_and_the_default_are_marked(self, quickstart):
        ax = plot.sweep(quickstart)
        best = quickstart.loc[quickstart["iteration_s"].idxmin()]
        assert marked(ax, "best") == [(best["bucket_cap_bytes"], pytest.approx(best["iteration_s"] * 1e3))]
        assert marked(ax, "default")[0][0] == 25 * MIB
        assert "PyTorch's default, 25 MiB" in texts(ax)
        assert ax.get_title().replace("\xa0", " ") == "An iteration is shortest with buckets of 310 MiB: 1477 ms"

    def test_an_axis_that_does_not_begin_at_zero_is_cut(self, quickstart):
        cut = plot.sweep(quickstart)
        assert cut.get_ylim()[0] > 0 and len(marked(cut, "cut")) == 2 and "axis cut" in texts(cut)
        wide = plot.sweep(quickstart.drop(columns=["p10_s", "p90_s"]).assign(iteration_s=[1 + 0.2 * point for point in range(30)]))
        assert wide.get_ylim()[0] == 0 and not marked(wide, "cut") and "axis cut" not in texts(wide)

    def test_a_line_for_each_combination_of_the_other_axes(self):
        table = ddpsim.Job.load("quickstart").set({"physics": "none"}).sweep({"ddp.bucket_cap": CAPS, "cluster.world_size": [64, 256, 1024]}, progress=False)
        ax = plot.sweep(table)
        best = marked(ax, "best")
        for (size, rows), mark, label in zip(table.groupby("world_size"), best, ax.get_legend_handles_labels()[1], strict=True):
            row = rows.loc[rows["iteration_s"].idxmin()]
            assert mark == (row["bucket_cap_bytes"], pytest.approx(row["iteration_s"] * 1e3))
            assert label.startswith(f"{size} GPUs: best ")
        assert inside(ax)

    def test_along_the_number_of_gpus(self):
        table = ddpsim.Job.load("world-size-h100").sweep(progress=False)
        ax = plot.sweep(table)
        assert ax.get_xlabel() == "GPUs" and ax.get_yscale() == "log"
        assert len(ax.get_lines()) == table["collective.algorithm"].nunique() == 3

    def test_a_strategy_without_caps_is_a_level(self, small):
        table = small.sweep({"strategy": ["naive", "ddp"], "ddp.bucket_cap": ["1MiB", "25MiB"]}, progress=False)
        ax = plot.sweep(table)
        level = table[table["strategy"] == "naive"]["iteration_s"].min()
        labels = ax.get_legend_handles_labels()[1]
        assert [label for label in labels if label.startswith("naive, no cap")]
        assert any(list(line.get_ydata()) == pytest.approx([level * 1e3] * 2) for line in ax.get_lines())

    def test_measured_iterations(self, swept):
        table = swept("configs/testbed-2-model-calibrated.yaml")
        ax = plot.sweep(table)
        best = table.loc[table["measured_iteration_s"].idxmin()]
        assert marked(ax, "best measured") == [(best["bucket_cap_bytes"], pytest.approx(best["measured_iteration_s"] * 1e3))]
        assert ax.get_legend_handles_labels()[1] == ["predicted"]
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["predicted", "measured", "shortest measured"]

    def test_measured_iterations_of_a_table_belong_where_they_agree(self, small):
        table = small.sweep({"cluster.world_size": [4, 8], "ddp.bucket_cap": ["1MiB", "25MiB"]}, progress=False)
        measured = pandas.DataFrame({"world_size": [8, 8, 16], "bucket_cap_bytes": [MIB, 25 * MIB, MIB], "iteration_s": [0.9, 0.8, 0.1]})
        ax = plot.sweep(table, measured=measured)
        assert marked(ax, "best measured") == [(25 * MIB, 800)]

    def test_failed_points_are_left_out(self, quickstart):
        failed = quickstart.copy()
        failed.loc[3, ["failed", "iteration_s"]] = ["machine", None]
        assert len(plot.sweep(failed).get_lines()[1].get_xdata()) == len(quickstart) - 1
        with pytest.raises(ValueError, match="no finished point"):
            plot.sweep(failed.iloc[3:4])

    def test_words_need_bars(self, swept):
        with pytest.raises(ValueError, match="ddpsim.plot.parts"):
            plot.sweep(swept("configs/strategies-2gpu.yaml").drop(columns="bucket_cap_bytes"))

    def test_estimated_times_are_called_so(self, root):
        ax = plot.sweep(ddpsim.Job.load(root / "configs/jitter-1024xh100.yaml").sweep({"ddp.bucket_cap": ["25MiB", "400MiB"]}, progress=False))
        assert any("estimated, not recorded" in text.replace("\n", " ") for text in texts(ax))

    def test_on_axes_that_are_given(self, quickstart):
        import matplotlib.pyplot
        figure, (left, right) = matplotlib.pyplot.subplots(1, 2)
        assert plot.sweep(quickstart, ax=right, title="mine") is right
        assert right.get_title() == "mine" and not left.get_lines()


class TestBands:
    def test_least_typical_and_most(self, quickstart):
        ax = plot.bands(quickstart)
        best = marked(ax, "best")
        for column, mark in zip(("p90_s", "iteration_s", "p10_s"), best, strict=True):
            row = quickstart.loc[quickstart[column].idxmin()]
            assert mark == (row["bucket_cap_bytes"], pytest.approx(row[column] * 1e3))
        assert inside(ax)

    def test_one_series_only(self, quickstart):
        with pytest.raises(ValueError, match="2 series have overlapping bands: choose the rows of one, such as '64 GPUs'"):
            plot.bands(pandas.concat([quickstart.assign(world_size=64), quickstart]))
        with pytest.raises(ValueError, match="p10_s"):
            plot.bands(quickstart.drop(columns="p10_s"))


class TestTimeline:
    @pytest.mark.parametrize("name", ["quickstart", "gpt2-large-8xa100", "llama-2-7b-64xh100", "groups-1024"])
    def test_lanes_are_full_from_end_to_end(self, name):
        """Work and waiting of the longest rank add up to the iteration."""
        result = ddpsim.Job.load(name).simulate()
        ax = plot.timeline(result)
        lanes = [label.get_text() for label in ax.get_yticklabels()]
        filled = []
        for row in (row for row, lane in enumerate(lanes) if lane.endswith("\ncompute")):
            boxes = [path.get_extents() for bars in ax.collections for path in bars.get_paths()]
            length = end = 0.0
            for box in sorted((box for box in boxes if round(box.y0 + 0.36) == row), key=lambda box: box.x0):
                length += max(0, box.x1 - max(box.x0, end))
                end = max(end, box.x1)
            filled.append(length)
        assert max(filled) == pytest.approx(result.iteration_s * 1e3, rel=2e-3)
        assert inside(ax)

    def test_every_bucket_is_drawn(self):
        result = ddpsim.Job.load("quickstart").set({"ddp.bucket_cap": "400MiB"}).simulate()
        ax = plot.timeline(result, ranks=[0])
        assert [label.get_text() for label in ax.get_yticklabels()] == ["rank 0\ncompute", "rank 0\ncommunication"]
        drawn = [path.get_extents() for bars in ax.collections for path in bars.get_paths() if round(path.get_extents().y0 + 0.36) == 1]
        found = result.to_dict()    # its buckets' times count from the begin of the backward pass
        for edge, key in (("x0", "start_s"), ("x1", "end_s")):
            expected = [(found["forward_s"] + bucket[key]) * 1e3 for bucket in found["buckets"]]
            assert sorted(getattr(box, edge) for box in drawn) == pytest.approx(expected, abs=1e-5)
        assert {"0", "1"} <= set(texts(ax))

    def test_ranks_that_are_not_drawn(self):
        result = ddpsim.Job.load("quickstart").simulate()
        with pytest.raises(ValueError, match=r"no rank of \[17\] is drawn: there are \[0, 1\]"):
            plot.timeline(result, ranks=[17])


class TestParts:
    def test_they_add_up(self, swept):
        table = swept("configs/strategies-2gpu.yaml")
        ax = plot.parts(table)
        tops = [max(bar.get_y() + bar.get_height() for bar in ax.patches if round(bar.get_x() + 0.35) == place) for place in range(len(table))]
        assert tops == pytest.approx(list(table["iteration_s"] * 1e3), rel=1e-9)
        assert [label.get_text() for label in ax.get_xticklabels()] == ["naive", "flat", "overlap", "ddp"]
        assert ax.get_title().endswith("; ddp is shortest")

    def test_a_pipeline_waits(self, root):
        table = ddpsim.Job.load(root / "configs/tensor-pipeline-175b.yaml").sweep({"batch.global": [1024, 2048]}, progress=False)
        assert (table["bubble_s"] > 0).all()
        ax = plot.parts(table)
        for place, time in enumerate(table["iteration_s"]):
            assert max(bar.get_y() + bar.get_height() for bar in ax.patches if round(bar.get_x() + 0.35) == place) == pytest.approx(time, rel=1e-9)

    def test_a_studys_file(self, quickstart, tmp_path):
        job, axes = ddpsim.Job.load("quickstart"), {"ddp.bucket_cap": ["1MiB", "25MiB", "100MiB"]}
        main = job.sweep(axes, results=tmp_path / "main", progress=False)
        with pytest.raises(ValueError, match="no column forward_s: a study's file has it with all_columns=True"):
            plot.parts(main)
        assert plot.sweep(main).get_xscale() == "log"    # caps lie along the axis all the same
        worlds = {"cluster.world_size": [8, 64], **axes}
        assert len(plot.sweep(job.sweep(worlds, results=tmp_path / "worlds", progress=False)).get_legend().get_texts()) >= 2
        plot.parts(job.sweep(axes, results=tmp_path / "all", all_columns=True, progress=False))

    def test_many_bars(self, quickstart):
        ax = plot.parts(quickstart)
        assert inside(ax) and len(ax.get_xticklabels()) == 30 and not texts(ax)


class TestAccuracy:
    def test_errors_in_the_title_are_those_of_the_table(self, swept):
        table = swept("configs/testbed-2-model-calibrated.yaml")
        ax = plot.accuracy(table)
        errors = table["relative_error"].abs() * 100
        assert ax.get_title().replace("\xa0", " ") == (
            f"Predictions of 5 measured runs are {errors.mean():.1f} % off on average, {errors.max():.1f} % at worst")
        assert ax.get_xlim() == ax.get_ylim()
        assert inside(ax)

    def test_series(self):
        table = pandas.DataFrame({"iteration_s": [1.0, 2.0, 30.0], "measured_iteration_s": [1.1, 2.0, 29.0], "machine": ["a", "a", "b"]})
        ax = plot.accuracy(table, by="machine")
        assert ax.get_legend_handles_labels()[1] == ["equal", "within 10 %", "a", "b"]
        assert ax.get_xscale() == ax.get_yscale() == "log"

    def test_nothing_measured(self, quickstart):
        with pytest.raises(ValueError, match="measured_iteration_s"):
            plot.accuracy(quickstart)


class TestCollective:
    def test_bus_bandwidth(self):
        ax = plot.collective("all_reduce", "superpod-h100", [8, 64], sizes=[MIB, 64 * MIB])
        for line, ranks in zip(ax.get_lines(), (8, 64), strict=True):
            expected = [2 * (ranks - 1) / ranks * size / ddpsim.collective_time("all_reduce", size, ranks, "superpod-h100") / 1e9 for size in (MIB, 64 * MIB)]
            assert list(line.get_ydata()) == pytest.approx(expected, rel=1e-12)
        assert ax.get_legend_handles_labels()[1] == ["8 ranks", "64 ranks"]

    def test_beside_nccl_tests(self, root):
        table = pandas.read_csv(root / "measurements/dgxh100_8xH100_dgxc_benchmarking.csv", comment="#")
        ax = plot.collective("all_reduce", "dgx-h100", 8, measured={8: table})
        measured = dict(marked(ax, "measured"))
        # The table has bus bandwidths of its own: those that are drawn, to its digits.
        for size, bandwidth in zip(table["size_B"], table["oop_busbw_GBps"]):
            if size >= MIB:
                assert measured[size] == pytest.approx(bandwidth, abs=0.006, rel=1e-3)
        assert "off the measured ones on average" in ax.get_title().replace("\n", " ")
        assert inside(ax)

    def test_what_has_no_bus_bandwidth(self):
        with pytest.raises(ValueError, match="no bus bandwidth of 'send_recv'"):
            plot.collective("send_recv", "dgx-h100")


def test_the_example(root, tmp_path):
    """Its title takes the place of ours."""
    subprocess.run([sys.executable, root / "examples/python/pictures.py"], check=True, cwd=tmp_path, env={**os.environ, "MPLBACKEND": "Agg"})
    assert (tmp_path / "caps.pdf").read_bytes().startswith(b"%PDF")
    ax = plot.bands(ddpsim.Job.load("quickstart").sweep({"ddp.bucket_cap": CAPS}, progress=False))
    ax.set_title("mine")
    assert [ax.get_title(loc=place) for place in ("left", "center", "right")] == ["", "mine", ""]


def test_the_same_picture_is_the_same_file(tmp_path):
    script = """if True:
        import sys, matplotlib; matplotlib.use("Agg")
        import ddpsim
        job = ddpsim.Job.load("quickstart")
        for kind in ("svg", "pdf"):
            ddpsim.plot.save(ddpsim.plot.timeline(job.simulate()), f"{sys.argv[1]}-timeline.{kind}")
            ddpsim.plot.save(ddpsim.plot.sweep(job.sweep(progress=False)).figure, f"{sys.argv[1]}-sweep.{kind}")
    """
    for name, seed in (("a", "1"), ("b", "2")):
        subprocess.run([sys.executable, "-c", script, tmp_path / name], check=True, env={**os.environ, "PYTHONHASHSEED": seed, "SOURCE_DATE_EPOCH": seed})
    for kind in ("svg", "pdf"):
        for picture in ("timeline", "sweep"):
            text = (tmp_path / f"a-{picture}.{kind}").read_bytes()
            assert text == (tmp_path / f"b-{picture}.{kind}").read_bytes()
            assert b"CreationDate" not in text and b"dc:date" not in text


class TestTornado:
    def test_a_bar_a_part(self):
        result = ddpsim.Job.load("quickstart").simulate()
        ax = plot.tornado(result)
        evidence = result.to_dict()["evidence"]
        widths = [bar.get_width() for bar in ax.patches]
        least, most = result.interval(0.8)
        assert widths == pytest.approx([100 * (most / least - 1), *(100 * width for width in sorted(evidence["width_by"].values(), reverse=True) if width > 0)])
        names = [label.get_text().replace("\n", " ") for label in ax.get_yticklabels()]
        assert names[0] == "all together" and set(names[1:]) <= {one["phrase"] for one in evidence["classes"].values()}

    def test_nothing_is_in_doubt(self):
        with pytest.raises(ddpsim.InputError, match="no interval"):
            plot.tornado(ddpsim.Job.load("quickstart").set({"evidence": "none"}).simulate())
