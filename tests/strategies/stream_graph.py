"""Streams and events that know who waits for whom, in place of those of torch.cpu, which do nothing.

FSDP orders its work on streams of `torch.<device>`: of torch.cpu where parameters are on CPUs. GRAPH.install() puts recording
streams there, so that FSDP's own calls of wait_stream, wait_event, record_event and Event.synchronize say which op waits for
which, as they would on a GPU. An op is issued on a stream: it waits for the op before on this stream, for what the stream was
told to wait for, and for what the host has waited for.
"""
from contextlib import contextmanager

import torch


class Stream:
    def __init__(self, *_, **__):
        self.after = frozenset()  # ops that its next op waits for

    def wait_stream(self, stream):
        self.after |= stream.after

    def wait_event(self, event):
        self.after |= event.after

    def record_event(self, event=None):
        event = event or Event()
        event.record(self)
        return event

    def synchronize(self):
        GRAPH.host |= self.after


class Event:
    def __init__(self, *_, **__):
        self.after = frozenset()

    def record(self, stream=None):
        self.after = (stream or GRAPH.current).after

    def wait(self, stream=None):
        (stream or GRAPH.current).wait_event(self)

    def synchronize(self):
        GRAPH.host |= self.after

    def query(self):
        return True


class Graph:
    def __init__(self):
        self.compute = self.current = Stream()
        self.host = frozenset()
        self.ops, self.after, self.ancestors, self.first = [], [], [], 0

    def install(self):
        torch.cpu.Stream, torch.cpu.Event = Stream, Event
        torch.cpu.current_stream = lambda device=None: self.current
        torch.cpu.stream = self.on
        torch.cpu.StreamContext = self.on

    @contextmanager
    def on(self, stream):
        outer, self.current = self.current, stream or self.current
        yield
        self.current = outer

    def begin(self):
        """What was issued before now is over: the ops of an iteration stand by themselves."""
        self.first = len(self.ops)

    def issue(self, *op):
        """Notes an op on the current stream."""
        after = self.current.after | self.host
        self.after.append(after)
        self.ancestors.append(after.union(*(self.ancestors[i] for i in after)))
        self.current.after = frozenset([len(self.ops)])
        self.ops.append(op)

    def compute_op(self, *op):
        assert self.current is self.compute, f"{op} is not on the stream of the model"
        self.issue(*op)

    def iteration(self):
        """Every op since begin(), with the ops it waits for last: those that no other of them waits for."""
        result = []
        for i in range(self.first, len(self.ops)):
            implied = frozenset().union(*(self.ancestors[j] for j in self.after[i]))
            result.append([*self.ops[i], [j - self.first for j in sorted(self.after[i] - implied) if j >= self.first]])
        return result


GRAPH = Graph()
