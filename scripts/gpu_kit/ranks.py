"""Two ranks on one GPU. NCCL takes them for GPUs of two machines (NCCL_HOSTID) that talk over the loopback: what it does, not how fast NVLink is."""
import os
import subprocess
import sys

import sections


def run_both(environment=None):
    """Runs this program as rank 0 and rank 1 (--rank), with what ENVIRONMENT(rank) adds. Prints what they say and ends with their exit code."""
    ranks = [subprocess.Popen([sys.executable, *sys.argv, "--rank", str(rank)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env={**os.environ, "NCCL_HOSTID": f"host{rank}", "NCCL_SOCKET_IFNAME": "lo", "GLOO_SOCKET_IFNAME": "lo", "NCCL_DEBUG": "WARN",
                                   **(environment(rank) if environment else {})})
             for rank in range(2)]
    texts = [rank.communicate()[0] for rank in ranks]
    print(*texts, sep="\n--- rank 1\n")
    if any("Duplicate GPU" in text for text in texts):
        print("error: this NCCL refuses two ranks on one GPU", file=sys.stderr)
        sys.exit(sections.MISSING)
    sys.exit(max(abs(rank.returncode) for rank in ranks))
