"""Timelines load in HolisticTraceAnalysis, span for span."""
import json

import pytest
from hta.common.trace import Trace

import ddpsim

# Buckets; units of FSDP; stages of a pipeline under tensor parallelism, with messages.
CASES = {"quickstart": {"ddp.bucket_cap": "100MiB"}, "llama-2-7b-64xh100": {}, "tensor-pipeline-175b": {"batch.global": 64}}


@pytest.mark.parametrize("name", CASES)
def test_every_span_is_there(name, tmp_path):
    path = tmp_path / "timeline.json"
    ddpsim.Job.load(name).set(CASES[name]).simulate().timeline(path)
    spans = [event for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"]
    trace = Trace(trace_files={0: str(path)})
    trace.parse_traces(use_multiprocessing=False)
    frame = trace.get_trace(0)
    names = trace.symbol_table.sym_table
    # It rounds to whole microseconds.
    whole = [span for span in spans if span["dur"] >= 1]
    found = {(row.pid, row.tid, names[row.name], names[row.cat], round(row.ts)) for row in frame.itertuples()}
    assert len(frame) == len(spans) > 10
    for span in whole:
        near = {(span["pid"], span["tid"], span["name"], span["cat"], round(span["ts"]) + off) for off in (-1, 0, 1)}
        assert near & found, span
    assert frame["dur"].sum() == pytest.approx(sum(span["dur"] for span in spans), abs=2 * len(spans))    # of times and lengths
