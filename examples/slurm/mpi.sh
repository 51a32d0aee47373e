#!/bin/bash
# A study over MPI: sbatch examples/slurm/mpi.sh SCRIPT, where SCRIPT is like examples/python/mpi_study.py.
#SBATCH --job-name=ddpsim-mpi
#SBATCH --ntasks=33
#SBATCH --cpus-per-task=1
#SBATCH --mem-per-cpu=1G
#SBATCH --time=01:00:00
srun python3 -m mpi4py.futures "$1"
