"""How long calls take: by events on a GPU, by the host's clock on a CPU."""
import statistics
import time

import torch


class Clock:
    """Medians over batches of calls."""

    def __init__(self, device):
        self.cuda = device == "cuda"

    def wait(self):
        if self.cuda:
            torch.cuda.synchronize()

    def mark(self):
        if not self.cuda:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(self, begin, end):
        return begin.elapsed_time(end) * 1e-3 if self.cuda else end - begin

    def of(self, call, batch_s=0.02, batches=7):
        """Seconds of one call on the device, among many in a row."""
        for _ in range(3):
            call()
        self.wait()
        began = time.perf_counter()
        call()
        self.wait()
        calls = max(1, min(500, int(batch_s / max(time.perf_counter() - began, 1e-6))))
        found = []
        for _ in range(batches):
            begin = self.mark()
            for _ in range(calls):
                call()
            end = self.mark()
            self.wait()
            found.append(self.between(begin, end) / calls)
        return statistics.median(found)

    def of_host(self, call, calls=2000):
        """Seconds that the host is busy with a call, while the device has time to keep up."""
        found = []
        for _ in range(7):
            self.wait()
            began = time.perf_counter()
            for _ in range(calls // 7):
                call()
            found.append((time.perf_counter() - began) / (calls // 7))
            self.wait()
        return statistics.median(found)
