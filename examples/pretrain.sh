#!/bin/bash
# A model of eight billion parameters on 64 GPUs, as Megatron-LM's pretrain_gpt.py is launched: for --megatron-args.
GPUS_PER_NODE=8
NODES=8
TP=2
PP=2

MODEL_ARGS=(
  --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32
  --group-query-attention --num-query-groups 8
  --seq-length 8192 --position-embedding-type rope --swiglu --normalization RMSNorm
  --disable-bias-linear --untie-embeddings-and-output-weights --vocab-size 128256
  --attention-dropout 0.0 --hidden-dropout 0.0
)
PARALLEL_ARGS=(--tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP --sequence-parallel)
TRAINING_ARGS=(--micro-batch-size 1 --global-batch-size $((GPUS_PER_NODE * NODES * 4)) --bf16 --lr 3e-4 --train-iters 1000)

torchrun --nproc_per_node $GPUS_PER_NODE --nnodes $NODES pretrain_gpt.py \
  "${MODEL_ARGS[@]}" "${PARALLEL_ARGS[@]}" "${TRAINING_ARGS[@]}" \
  --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather \
  --data-path $DATA_PATH --save checkpoints
