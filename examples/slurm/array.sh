#!/bin/bash
# A study in shards, without Python: sbatch examples/slurm/array.sh SCENARIO FOLDER, as often as it takes. What is finished stays; a shard that
# was killed goes on where it was.
#SBATCH --job-name=ddpsim
#SBATCH --array=1-16
#SBATCH --cpus-per-task=1
#SBATCH --mem=1G
#SBATCH --time=01:00:00
set -euo pipefail
scenario=$1 folder=$2
mkdir -p "$folder"
ddpsim sweep "$scenario" --results "$folder/$SLURM_ARRAY_TASK_ID.jsonl" --resume --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT"
# When all are through: ddpsim results merge FOLDER/*.jsonl --out results.jsonl
