#!/bin/bash
# A study on a Dask cluster of this allocation: sbatch examples/slurm/dask.sh SCRIPT, where SCRIPT is like examples/python/dask_study.py. Task 0 is the
# scheduler, task 1 the script, the others are workers; a worker that is lost costs the batches it was at, which others run again.
#
# Whoever can reach a Dask scheduler or worker can run code as you. Here they listen at the address that the node's name has inside the cluster
# (INTERFACE=ib0 names another one), without a dashboard, and talk to nobody without the job's own key, which only you can read.
#SBATCH --job-name=ddpsim-dask
#SBATCH --ntasks=34
#SBATCH --cpus-per-task=1
#SBATCH --mem-per-cpu=1G
#SBATCH --time=01:00:00
set -euo pipefail
umask 077
export FOLDER=$PWD/dask-$SLURM_JOB_ID SCRIPT=$1
mkdir "$FOLDER"
trap 'rm -rf "$FOLDER"' EXIT
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=ddpsim -keyout "$FOLDER/key.pem" -out "$FOLDER/cert.pem" 2> /dev/null
export DASK_DISTRIBUTED__COMM__DEFAULT_SCHEME=tls DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION=true DASK_DISTRIBUTED__COMM__TLS__CA_FILE=$FOLDER/cert.pem
for role in SCHEDULER WORKER CLIENT; do
  export "DASK_DISTRIBUTED__COMM__TLS__${role}__CERT=$FOLDER/cert.pem" "DASK_DISTRIBUTED__COMM__TLS__${role}__KEY=$FOLDER/key.pem"
done
srun --mpi=none --kill-on-bad-exit=0 bash -c '
  where=(--host "$SLURMD_NODENAME")
  [ -z "${INTERFACE:-}" ] || where=(--interface "$INTERFACE")
  file=$FOLDER/scheduler.json
  case $SLURM_PROCID in
    0) exec dask scheduler --protocol tls "${where[@]}" --no-dashboard --dashboard-address 127.0.0.1:0 --scheduler-file "$file" ;;
    1) python3 "$SCRIPT" "$file"; scancel "$SLURM_JOB_ID" ;;
    *) exec dask worker --protocol tls "${where[@]}" --no-dashboard --dashboard-address 127.0.0.1:0 --scheduler-file "$file" --nthreads 1 --no-nanny ;;
  esac'
