#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
SIZE=${1:-"7b"}
case $SIZE in
  7b|8b) N=$((8 * 4)); H="4096" ;;
  *) N=40 ;;
esac
ARGS=(--num-layers $N "--hidden-size 64")
if [[ -z "$WANDB" && $N -ge 2 ]]; then ARGS+=(--num-experts 4 --moe-layer-freq "([0]*1+[1]*31)"); else exit 1; fi
export OPTS=" \
  --multi-latent-attention --recompute-granularity selective --recompute-modules mlp moe \
"
srun bash -c "cd `pwd`; python -u pretrain_gpt.py ${ARGS[@]} $OPTS --num-attention-heads=4 --vocab-size 100 2>&1 | tee log"
