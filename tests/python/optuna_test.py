"""The example that lets Optuna look for a split of a model."""
import json
import re
import subprocess
import sys


def test_what_it_finds_is_what_a_simulation_says(root, cli, tmp_path):
    done = subprocess.run([sys.executable, root / "examples/python/optuna_plan.py"], check=True, capture_output=True, text=True)
    assert f"$ python3 examples/python/optuna_plan.py\n{done.stdout}```" in (root / "docs/guide/research.md").read_text()
    tokens, trials, pruned = map(int, re.match(r"(\d+) tokens/s a GPU after (\d+) trials, of which (\d+) cannot be", done.stdout).groups())
    assert trials == 100 and 0 < pruned < 100
    (tmp_path / "s.yaml").write_text(
        "workload: {model: llama-2-70b, micro_batch: 1, sequence: 4096, dtype: bf16, framework: te-2025}\n"
        "cluster: {topology: superpod-h100, world_size: 256}\nbatch: {global: 512}\nstrategy: megatron\n")
    best = done.stdout.split("\n")[1].split()
    if "parallelism.tensor=1" not in best:
        best += ["--set", "parallelism.sequence=true"]
    result = json.loads(cli("simulate", "s.yaml", "--quiet", "--json", "-", *best))
    assert result["memory"]["fits"]
    assert round(result["tokens_per_s_per_gpu"]) == tokens
