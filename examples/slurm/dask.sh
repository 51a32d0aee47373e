#!/bin/bash
# A study on a Dask cluster of this allocation: sbatch examples/slurm/dask.sh SCRIPT, where SCRIPT is like examples/python/dask_study.py. Task 0 is the
# scheduler, task 1 the script, the others are workers; a worker that is lost costs the batches it was at, which others run again.
#SBATCH --job-name=ddpsim-dask
#SBATCH --ntasks=34
#SBATCH --cpus-per-task=1
#SBATCH --mem-per-cpu=1G
#SBATCH --time=01:00:00
set -euo pipefail
export SCHEDULER_FILE=$PWD/scheduler-$SLURM_JOB_ID.json SCRIPT=$1
srun --mpi=none --kill-on-bad-exit=0 bash -c '
  case $SLURM_PROCID in
    0) exec dask scheduler --scheduler-file "$SCHEDULER_FILE" ;;
    1) python3 "$SCRIPT" "$SCHEDULER_FILE"; scancel "$SLURM_JOB_ID" ;;
    *) exec dask worker --scheduler-file "$SCHEDULER_FILE" --nthreads 1 --no-nanny ;;
  esac'
