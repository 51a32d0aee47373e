"""How to spread a model over GPUs, where there are more choices than one can try: Optuna's sampler asks, ddpsim answers.

What cannot be, or does not fit, is pruned. `ddpsim plan` searches the same choices by its own bounds.
optuna_plan.py [TRIALS]. Needs optuna."""
import sys

import ddpsim
import optuna

job = ddpsim.Job({
    "workload": {"model": "llama-2-70b", "micro_batch": 1, "sequence": 4096, "dtype": "bf16", "framework": "te-2025"},
    "cluster": {"topology": "superpod-h100", "world_size": 256}, "strategy": "megatron", "batch": {"global": 512}})


def tokens_per_s(trial: optuna.Trial) -> float:
    pipeline = trial.suggest_categorical("parallelism.pipeline", [1, 2, 4, 8])
    tensor = trial.suggest_categorical("parallelism.tensor", [1, 2, 4, 8])
    changes = {"parallelism.pipeline": pipeline, "parallelism.tensor": tensor, "parallelism.sequence": tensor > 1,
               "workload.micro_batch": trial.suggest_categorical("workload.micro_batch", [1, 2, 4]),
               "workload.recompute": trial.suggest_categorical("workload.recompute", ["none", "selective", "full"]),
               "strategy": trial.suggest_categorical("strategy", ["ddp", "zero1", "megatron"])}
    if pipeline > 1:
        changes["pipeline.virtual"] = trial.suggest_categorical("pipeline.virtual", [1, 2, 5])
    try:
        result = job.set(changes).simulate().to_dict()
    except ddpsim.InputError as error:
        raise optuna.TrialPruned(str(error)) from error
    if not result["memory"]["fits"]:
        raise optuna.TrialPruned("does not fit")
    return result["tokens_per_s_per_gpu"]


optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=1))
study.optimize(tokens_per_s, n_trials=int(sys.argv[1]) if len(sys.argv) > 1 else 100)
pruned = len(study.get_trials(states=[optuna.trial.TrialState.PRUNED]))
print(f"{study.best_value:.0f} tokens/s a GPU after {len(study.trials)} trials, of which {pruned} cannot be or do not fit:")
print(" ".join(f"--set {key}={value}" for key, value in study.best_params.items()))
