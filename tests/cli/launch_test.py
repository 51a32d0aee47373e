#!/usr/bin/env python3
"""Files that jobs are launched with, in place of a scenario: Megatron-LM's scripts, Accelerate's YAML, DeepSpeed's JSON."""
import json
import re

import ddpsim_cli as cli

# Four blocks of 256 values: with biases, LayerNorms and learned positions, as Megatron-LM's defaults are.
SCRIPT = """#!/bin/bash
GPUS_PER_NODE=8
LAYERS=4
WIDTH=$((64 * 4))
MODEL_ARGS=(
    --num-layers $LAYERS --hidden-size $WIDTH   # small
    --num-attention-heads 8 --seq-length 128 --max-position-embeddings 128
)
TRAINING="--micro-batch-size 2 --global-batch-size 64 --bf16 \\
  --attention-dropout 0.0 --hidden-dropout 0.0 --lr 1e-4"
torchrun --nproc_per_node $GPUS_PER_NODE --nnodes 2 pretrain_gpt.py "${MODEL_ARGS[@]}" $TRAINING \\
    --vocab-size 1000 --data-path $DATA_PATH MORE
"""
H = 256
BLOCK = 12 * H * H + 13 * H  # 3h^2 + 3h, h^2 + h, 2 x 4h^2 + 5h, two norms of 2h


class LaunchTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.link_data()

    def script(self, more="", text=SCRIPT):
        return self.write("train.sh", text.replace("MORE", more))

    def result(self, *arguments, command="simulate"):
        done = self.ok(command, *arguments, "--topology", "dgx-h100", "--json", "-")
        return json.loads(done.stdout), done.stderr

    def scenario(self, *arguments):
        self.ok("simulate", *arguments, "--topology", "dgx-h100", "--quiet", "--out", "made.yaml")
        return re.sub(r"#.*\n", "", self.read("made.yaml").decode())


class MegatronTest(LaunchTest):
    def megatron(self, more="", *sets, command="simulate"):
        self.script(more)
        return self.result("--megatron-args", "train.sh", *cli.set_arguments(sets), command=command)

    def parameters(self, more="", *sets):
        """Of one GPU, in 16 bits."""
        self.script(more)
        done = self.ok("memory", "--megatron-args", "train.sh", "--topology", "dgx-h100", "--quiet", "--json", "-", *cli.set_arguments(sets))
        return json.loads(done.stdout)["memory"]["parameters_bytes"] / 2

    def test_what_it_becomes(self):
        self.script()
        self.assertEqual(self.scenario("--megatron-args", "train.sh"), """cluster:
  topology: dgx-h100
  world_size: 16
workload:
  model:
    kind: transformer
    hidden: 256
    layers: 4
    heads: 8
    ffn: 1024
    bias: true
    tied: true
    vocab: 1024
    positions: 128
  sequence: 128
  micro_batch: 2
  dtype: bf16
  dropout: false
batch:
  global: 64
strategy: megatron
megatron:
  distributed_optimizer: false
  overlap_grad_reduce: false
""")

    def test_parameters(self):
        """1,000 words are padded to 1,024, the next multiple of 128; with two tensor-parallel ranks of 256."""
        usual = 4 * BLOCK + 2 * H + (1024 + 128) * H
        self.assertEqual(self.parameters(), usual)
        self.assertEqual(self.parameters("--untie-embeddings-and-output-weights"), usual + 1024 * H)
        self.assertEqual(self.parameters("--position-embedding-type rope"), usual - 128 * H)
        self.assertEqual(self.parameters("--make-vocab-size-divisible-by 5"), usual - 24 * H)
        # A gate: three matrices of 4 x 256 x 2/3 = 682, down to 640, and biases 2 x 640 + 256; RMSNorms: a vector less in nine norms.
        gated = usual + 4 * (3 * H * 640 + 2 * 640 - 8 * H * H - 4 * H) - 9 * H
        self.assertEqual(self.parameters("--swiglu --normalization RMSNorm"), gated)
        # The same gate in a feed-forward layer of 4h: three matrices of 1,024 and biases 2 x 1,024 + 256.
        self.assertEqual(self.parameters("--quick-geglu --normalization RMSNorm"), usual + 4 * (4 * H * H + 4 * H) - 9 * H)
        # Without biases: qkv 3h, output h, feed-forward 640 x 2 and h.
        self.assertEqual(self.parameters("--swiglu --normalization RMSNorm --disable-bias-linear"), gated - 4 * (5 * H + 2 * 640))
        # Two groups of queries: keys and values of 64 values in place of 256, with their biases.
        self.assertEqual(self.parameters("--group-query-attention --num-query-groups 2"), usual - 4 * 2 * (H + 1) * (H - 64))
        # Eight experts of 512 in every second block, a router each and two matrices with biases, in place of 1,024's.
        experts = 8 * (2 * H * 512 + 512 + H) + 8 * H
        self.assertEqual(self.parameters("--num-experts 8 --moe-ffn-hidden-size 512 --moe-layer-freq 2"), usual + 2 * (experts - 8 * H * H - 5 * H))

    def test_latent_attention(self):
        """Queries of 64 and keys and values of 32 values for eight heads of 16 + 8 and 16, a norm on either; a feed-forward layer of 640
        with a gate and two norms; the last norm, words and positions."""
        latent = "--multi-latent-attention --q-lora-rank 64 --kv-lora-rank 32 --qk-head-dim 16 --qk-pos-emb-head-dim 8 --v-head-dim 16 --qk-layernorm"
        attention = (H * 64 + 64 + 64 * 8 * 24) + (H * (32 + 8) + 32 + 32 * 8 * (16 + 16)) + 8 * 16 * H
        self.assertEqual(self.parameters(f"{latent} --swiglu --normalization RMSNorm --disable-bias-linear"),
                         4 * (attention + 3 * H * 640 + 2 * H) + H + (1024 + 128) * H)

    def test_norms_with_biases_beside_a_gate(self):
        """A model with a gate has norms without: nine of 256."""
        self.script("--swiglu")
        self.assertIn("extra_parameters: 2304", self.scenario("--megatron-args", "train.sh"))
        self.script("--swiglu --normalization RMSNorm")
        self.assertNotIn("extra_parameters", self.scenario("--megatron-args", "train.sh"))

    def test_the_same_step_as_of_keys(self):
        result, _ = self.megatron("--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather --tensor-model-parallel-size 2 "
                                  "--sequence-parallel --pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 1 "
                                  "--recompute-granularity full --recompute-method block --recompute-num-layers 1")
        self.write("s.yaml", """
workload:
  model: {kind: transformer, hidden: 256, layers: 4, heads: 8, ffn: 1024, vocab: 1024, positions: 128}
  micro_batch: 2
  sequence: 128
  dtype: bf16
  dropout: false
  recompute: {full: 1}
batch: {global: 64}
cluster: {topology: dgx-h100, world_size: 16}
strategy: megatron
parallelism: {tensor: 2, pipeline: 2, sequence: true}
pipeline: {virtual: 2, overlap_p2p: true}
""")
        expected = self.simulate(file="s.yaml")
        self.assertEqual(result["iteration_s"], expected["iteration_s"])
        self.assertEqual(result["losses"], expected["losses"])

    def test_written_it_is_the_same(self):
        """--out from another folder, and of a scenario beside the flags."""
        for command in ("simulate", "memory"):
            self.script("--use-distributed-optimizer")
            (self.folder / "deep/er").mkdir(parents=True, exist_ok=True)
            self.ok(command, "--megatron-args", "train.sh", "--topology", "topologies/dgx-h100.yaml", "--quiet", "--json", "a.json",
                    "--out", "deep/er/made.yaml")
            self.ok(command, "deep/er/made.yaml", "--quiet", "--json", "b.json")
            a, b = self.read_json("a.json"), self.read_json("b.json")
            for one in (a, b):
                one.pop("notes", None)
            self.assertEqual(a, b)

    def test_of_each_kind_the_same(self):
        self.script()
        self.write("ds.json", json.dumps({"zero_optimization": {"stage": 3, "reduce_bucket_size": "auto"}, "bf16": {"enabled": True}}))
        self.write("acc.yaml", "distributed_type: FSDP\nnum_processes: 8\nmixed_precision: bf16\nfsdp_config: {fsdp_version: 2}\n")
        job = ["--set", "workload={model: gpt2, micro_batch: 2, sequence: 256}", "--set", "cluster.world_size=8"]
        for launch in (["--megatron-args", "train.sh"], ["--ds-config", "ds.json", *job], ["--accelerate", "acc.yaml", *job]):
            launch = [*launch, "--topology", "dgx-h100"]
            result = json.loads(self.ok("simulate", *launch, "--json", "-", "--out", "made.yaml").stdout)
            again = self.simulate(file="made.yaml")
            self.assertEqual({**result, "notes": 0}, {**again, "notes": 0}, launch)
            said = {note["code"] for note in result["notes"]} - {note["code"] for note in again["notes"]}
            self.assertTrue(all(code.startswith("launch-") for code in said), said)

    def test_every_command(self):
        self.script()
        launch = ["--megatron-args", "train.sh", "--topology", "dgx-h100"]
        points = json.loads(self.ok("sweep", *launch, "--set", "sweep.workload.micro_batch=[1, 2]", "--json", "-").stdout)["points"]
        self.assertEqual(len(points), 2)
        self.assertIn("keeps", self.ok("scale", *launch, "--gpus", "16,32").stdout)
        explained = self.ok("simulate", *launch, "--explain").stdout
        self.assertNotIn("ddpsim simulate train.sh", explained)
        done = self.ok("plan", *launch)
        self.assertRegex(done.stdout, r"\nas train.sh has it: [\d.]+ ms, [\d.]+ times the best above\n$")

    def test_a_plan_of_what_the_script_says(self):
        """Its model, batch and GPUs; how they are spread is looked for."""
        self.script("--tensor-model-parallel-size 8")
        self.ok("plan", "--megatron-args", "train.sh", "--topology", "dgx-h100", "--quiet", "--out", "best.yaml")
        best = self.read("best.yaml").decode()
        for line in ("global: 64", "world_size: 16", "sequence: 128", "hidden: 256"):
            self.assertIn(line, best)
        self.assertNotIn("tensor: 8", best)
        planned = json.loads(self.ok("plan", "--megatron-args", "train.sh", "--topology", "dgx-h100", "--json", "-").stdout)["as_launched"]
        self.assertEqual(planned["file"], "train.sh")
        self.assertEqual(planned["iteration_s"], self.result("--megatron-args", "train.sh")[0]["iteration_s"])
        self.ok("simulate", "best.yaml")
        self.assertRegex(self.ok("plan", "--megatron-args", "train.sh", "--topology", "dgx-h100", "--gpus", "4").stdout,
                         r"\nas train.sh has it there is no step: .*4 GPUs")

    def test_a_plan_keeps_what_is_typed_of_experts(self):
        """It looks for their axis, and for nothing else of them."""
        self.script("--num-experts 8 --moe-router-topk 2 --expert-tensor-parallel-size 2 --tensor-model-parallel-size 2")
        plan = ["plan", "--megatron-args", "train.sh", "--topology", "dgx-h100", "--quiet"]
        self.ok(*plan, "--set", "expert.dispatcher=deepep", "--out", "best.yaml")
        self.assertIn("dispatcher: deepep", self.read("best.yaml").decode())
        self.assertIn("mine", self.fails(2, *plan, "--set", "expert.dispatcher=mine").stderr)

    def test_the_command_line_has_the_last_word(self):
        result, said = self.megatron("", "parallelism.tensor=2", "workload.micro_batch=1")
        self.assertIn("train.sh: gives way to the command line's parallelism.tensor 2", self.megatron("--tensor-model-parallel-size 4", "parallelism.tensor=2")[1])
        self.assertIn("workload.micro_batch 1 (not 2, of train.sh:9:30)", said)
        _, said = self.megatron("", "workload.model=gpt2")
        self.assertIn("train.sh: its model gives way to the command line's, gpt2", said)

    def test_axes_of_what_it_replaces(self):
        """No axis is left over a section that the script says anew, nor over what is below one of its keys; those of the command line stay."""
        self.script()
        self.write("s.yaml", "workload: {model: gpt2, micro_batch: 1, sequence: 64}\ncluster: {topology: dgx-h100, world_size: 16}\nparallelism: {pipeline: 2}\n"
                             "pipeline: {schedule: 1f1b}\nsweep: {pipeline.schedule: [1f1b, gpipe], workload.model: [gpt2], ddp.accumulation_steps: [1, 2]}\n")
        done = self.ok("sweep", "s.yaml", "--megatron-args", "train.sh", "--set", "sweep.workload.model.hidden=[256, 512]", "--json", "-")
        self.assertEqual(len(json.loads(done.stdout)["points"]), 2)
        self.assertIn("sweep over pipeline.schedule", done.stderr)
        self.assertIn("gives way to the command line's sweep over workload.model.hidden (not 256, of train.sh:4:", done.stderr)

    def test_what_it_says_of_the_rest(self):
        _, said = self.megatron("--moe-router-dtype fp32 $EXTRA --tensorboard-dir logs")
        self.assertIn("note: train.sh: changes nothing here: --lr, --data-path, --tensorboard-dir\n", said)
        self.assertIn("note: train.sh: simulated as if it were not there: --moe-router-dtype\n", said)
        _, said = self.megatron("--untie-embeddings-and-output-weights $EXTRA")
        self.assertIn("$EXTRA is not set here, and left out", said)

    def test_each_flag_is_read_or_named(self):
        experts = "--num-experts 8 --moe-ffn-hidden-size 512"
        for flags, said in [(f"{experts} --moe-expert-capacity-factor 1.25", "simulated as if it were not there: --moe-expert-capacity-factor without expert parallelism\n"),
                            (f"{experts} --moe-shared-expert-overlap --moe-token-dispatcher-type flex --moe-enable-deepep",
                             "--data-path, --moe-enable-deepep, --moe-shared-expert-overlap, --moe-token-dispatcher-type\n"),
                            ("--cp-comm-type a2a p2p", "--data-path, --cp-comm-type\n"), ("--num-query-groups 2", "--data-path, --num-query-groups\n")]:
            self.assertIn(said, self.megatron(flags)[1], flags)
        split = f"{experts} --expert-model-parallel-size 2"
        self.script(f"{split} --moe-token-dispatcher-type alltoall --moe-expert-capacity-factor 1.25")
        self.assertIn("capacity: 1.25", self.scenario("--megatron-args", "train.sh"))
        self.script(f"{split} --moe-token-dispatcher-type flex --moe-enable-deepep --moe-expert-capacity-factor -1")
        made = self.scenario("--megatron-args", "train.sh")
        self.assertIn("dispatcher: deepep", made)
        self.assertNotIn("capacity:", made)
        self.script("--context-parallel-size 2 --cp-comm-type all_gather all_gather")
        self.assertIn("kind: all_gather", self.scenario("--megatron-args", "train.sh"))

    def test_what_fsdp_shards(self):
        """Megatron-FSDP shards all since core 0.18, and nothing unless told under its first name."""
        for flags, lines, said in [("--use-megatron-fsdp", ["strategy: fsdp", "reshard_after_forward: true"], "optim_grads_params, of core 0.18; up to 0.17 it was no_shard"),
                                   ("--use-custom-fsdp", ["strategy: megatron", "distributed_optimizer: false"], "no_shard, of core 0.13"),
                                   ("--use-custom-fsdp --data-parallel-sharding-strategy optim_grads", ["strategy: fsdp", "reshard_after_forward: false"], ""),
                                   ("--use-megatron-fsdp --data-parallel-sharding-strategy optim", ["distributed_optimizer: true"], ""),
                                   ("--data-parallel-sharding-strategy optim", ["distributed_optimizer: false"], "--data-parallel-sharding-strategy\n")]:
            with self.subTest(flags):
                self.assertIn(said, self.megatron(flags)[1])
                made = self.scenario("--megatron-args", "train.sh")
                for line in lines:
                    self.assertIn(line, made)

    def test_a_file_of_flags(self):
        self.script(text="--num-layers 2 --hidden-size=64\n--num-attention-heads 4 --seq-length 32\n--max-position-embeddings 32 --vocab-size 128\n--micro-batch-size 1\n")
        result, _ = self.result("--megatron-args", "train.sh", "--set", "cluster.world_size=4")
        self.assertEqual(result["world_size"], 4)

    def test_ranks_of_slurm(self):
        flags = "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 32 --max-position-embeddings 32 --vocab-size 128 --micro-batch-size 1"
        for head in ("#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=8\nsrun", "#SBATCH -N 2\n#SBATCH --gres=gpu:h100:8\nsrun",
                     "#SBATCH --nodes 2\nsrun torchrun --nnodes $SLURM_NNODES --nproc-per-node=8"):
            self.script(text=f"{head} python pretrain_gpt.py {flags}\n")
            self.assertEqual(self.result("--megatron-args", "train.sh")[0]["world_size"], 16, head)

    def test_ranks_that_only_a_running_shell_knows(self):
        """Of torchrun GPUs of a node stand in for what the script does not set, Slurm's tasks do not; nodes are one where nobody says them."""
        flags = "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 32 --max-position-embeddings 32 --vocab-size 128 --micro-batch-size 1"
        slurm = "#SBATCH --nodes=4 --ntasks-per-node=1"
        for head, ranks in [("torchrun --nproc_per_node 8 --nnodes $NNODES", None), ("torchrun --nproc_per_node $GPUS --nnodes 2", None),
                            ("torchrun --nproc_per_node 8", 8), ("#SBATCH -N4\nsrun torchrun --nproc_per_node 8 --nnodes $NNODES", 32),
                            (f"{slurm} --gpus-per-node=8\nsrun torchrun --nproc_per_node $GPUS --nnodes 4", 32),
                            (f"{slurm}\nsrun torchrun --nproc_per_node $GPUS --nnodes 4", None),
                            ("#SBATCH --ntasks=32 --gpus-per-node=8\nsrun python", 32), ("srun -n16 python", 16), ("mpirun -np 24 python", 24),
                            ("#SBATCH --nodes=2\nsrun --ntasks $TASKS --gpus-per-node=8 python", None),
                            ("#SBATCH --gpus-per-node=8\nsrun -N $NODES python", None), ("conda run -n env torchrun --nproc_per_node 8", 8)]:
            with self.subTest(head):
                self.script(text=f"{head} pretrain_gpt.py {flags}\n")
                arguments = ["--megatron-args", "train.sh", "--topology", "dgx-h100", "--json", "-"]
                if ranks:
                    self.assertEqual(json.loads(self.ok("simulate", *arguments).stdout)["world_size"], ranks)
                else:
                    self.assertIn("--gpus is required", self.run_ddpsim("simulate", *arguments).stderr)


class AccelerateTest(LaunchTest):
    JOB = ["--set", "workload={model: gpt2, micro_batch: 2, sequence: 256}"]

    def accelerate(self, text, *more):
        self.write("acc.yaml", text)
        return self.scenario("--accelerate", "acc.yaml", *self.JOB, *more)

    def test_kinds(self):
        head = "mixed_precision: bf16\nnum_processes: 8\nnum_machines: 1\n"
        one, two = "fsdp_version: 1", "fsdp_version: 2"
        for kind, expected in [("distributed_type: MULTI_GPU", ["strategy: ddp"]),
                               ("distributed_type: FSDP", ["strategy: fsdp1", "reduce_dtype: bf16"]),
                               (f"distributed_type: FSDP\nfsdp_config: {{{one}, fsdp_sharding_strategy: SHARD_GRAD_OP}}",
                                ["strategy: fsdp1", "reshard_after_forward: false"]),
                               ("distributed_type: FSDP\nfsdp_config: {fsdp_sharding_strategy: 4}", ["strategy: hsdp1"]),
                               ("distributed_type: FSDP\nfsdp_config: {fsdp_sharding_strategy: NO_SHARD}", ["strategy: ddp"]),
                               (f"distributed_type: FSDP\nfsdp_config: {{{two}, fsdp_reshard_after_forward: no, fsdp_offload_params: true}}",
                                ["strategy: fsdp", "reshard_after_forward: false", "cpu_offload: true"]),
                               (f"distributed_type: FSDP\nfsdp_config: {{{two}, fsdp_activation_checkpointing: true}}", ["recompute: full"]),
                               (f"distributed_type: FSDP\nfsdp_config: {{{two}}}\nparallelism_config: {{parallelism_config_dp_replicate_size: 2, "
                                "parallelism_config_dp_shard_size: 4}", ["strategy: hsdp", "shard_group: 4"]),
                               ("distributed_type: DEEPSPEED\ndeepspeed_config: {zero_stage: 3, offload_optimizer_device: cpu}",
                                ["strategy: zero3", "param_dtype: bf16", "offload_optimizer: true"]),
                               ("distributed_type: MEGATRON_LM\nmegatron_lm_config: {megatron_lm_tp_degree: 2, megatron_lm_sequence_parallelism: true, "
                                "megatron_lm_use_distributed_optimizer: true, megatron_lm_num_micro_batches: 3}",
                                ["strategy: megatron", "tensor: 2", "sequence: true", "distributed_optimizer: true", "accumulation_steps: 3"])]:
            with self.subTest(kind):
                made = self.accelerate(head + kind + "\n")
                for line in [*expected, "world_size: 8", "dtype: bf16"]:
                    self.assertIn(line, made)

    def test_types_where_no_mixed_precision_is_said(self):
        """Files of old say fp16; none is float32, unless the command line has a type."""
        head, typed = "num_processes: 8\n", ("--set", "workload.dtype=bf16")
        for text, more, line in [("distributed_type: MULTI_GPU\nfp16: true\n", (), "dtype: fp16"), ("distributed_type: MULTI_GPU\nfp16: false\n", (), None),
                                 ("distributed_type: MULTI_GPU\n", (), None), ("distributed_type: MULTI_GPU\n", typed, "dtype: bf16"),
                                 ("distributed_type: MULTI_GPU\nfp16: true\nmixed_precision: null\n", (), None),
                                 ("distributed_type: DEEPSPEED\n", (), "param_dtype: fp32"), ("distributed_type: FSDP\nfp16: yes\n", (), "reduce_dtype: fp16")]:
            with self.subTest(text):
                made = self.accelerate(head + text, *more)
                self.assertIn(line, made) if line else self.assertNotRegex(made, "dtype: (bf|fp)16")
        self.write("s.yaml", "workload: {model: gpt2, micro_batch: 2, sequence: 256, dtype: bf16}\n")
        self.write("acc.yaml", "distributed_type: MULTI_GPU\nnum_processes: 8\n")
        self.assertIn("stands instead of the scenario's workload.dtype bf16", self.result("s.yaml", "--accelerate", "acc.yaml")[1])

    def test_a_configuration_of_deepspeed(self):
        """Beside the file or the current folder; its "auto" is filled in of gpt2's 768 values."""
        config = {"zero_optimization": {"stage": 2, "reduce_bucket_size": "auto"}, "bf16": {"enabled": "auto"}}
        text = "distributed_type: DEEPSPEED\nnum_processes: 4\nmixed_precision: bf16\ndeepspeed_config: {deepspeed_config_file: ds.json, zero3_init_flag: false}\n"
        for place in ("ds.json", "sub/ds.json"):
            self.write(place, json.dumps(config))
            self.write("sub/acc.yaml", text)
            made = self.scenario("--accelerate", "sub/acc.yaml", *self.JOB)
            self.assertIn("strategy: zero2", made)
            self.assertIn("reduce_bucket_size: 589824", made)
            (self.folder / place).unlink()
        self.write("ds.json", json.dumps({"fp16": {"enabled": True}, "train_batch_size": "auto"}))
        said = self.result("--accelerate", "sub/acc.yaml", *self.JOB)[1]
        self.assertIn("note: ds.json:1:22: stands instead of workload.dtype bf16, of sub/acc.yaml:3:18\n", said)
        self.assertNotIn("scenario", said)

    def test_one_command(self):
        self.write("acc.yaml", "distributed_type: FSDP\nnum_processes: 8\nmixed_precision: bf16\n")
        done = self.ok("plan", "gpt2", "--accelerate", "acc.yaml", "--topology", "dgx-h100", "--global-batch", "32")
        self.assertIn("as acc.yaml, with a micro-batch of 1, has it: ", done.stdout)
        result = self.result("--accelerate", "acc.yaml", *self.JOB)[0]
        self.write("s.yaml", "workload: {model: gpt2, micro_batch: 2, sequence: 256, dtype: bf16}\ncluster: {topology: dgx-h100, world_size: 8}\n"
                             "strategy: fsdp1\nfsdp: {reduce_dtype: bf16}\n")
        self.assertEqual(result["iteration_s"], self.simulate(file="s.yaml")["iteration_s"])

    def test_what_it_says_of_the_rest(self):
        self.write("acc.yaml", "distributed_type: MULTI_GPU\nnum_processes: 8\nmain_process_port: 29500\nnum_machines: 2\ndynamo_config: {dynamo_backend: INDUCTOR}\n")
        _, said = self.result("--accelerate", "acc.yaml", *self.JOB)
        self.assertIn("note: acc.yaml: changes nothing here: main_process_port, num_machines (the topology says how many GPUs a node has)\n", said)
        self.assertIn("simulated as if it were not there: dynamo_backend: INDUCTOR", said)
        self.write("acc.yaml", "distributed_type: MULTI_GPU\nnum_machines: 2\n")
        self.assertIn("changes nothing here: num_machines (", self.result("--accelerate", "acc.yaml", *self.JOB, "--gpus", "8")[1])


class DeepSpeedTest(LaunchTest):
    JOB = ["--set", "workload={model: gpt2, micro_batch: 2, sequence: 256, dtype: bf16}", "--set", "cluster.world_size=8"]

    def made(self, config, *more):
        self.write("ds.json", json.dumps(config))
        return self.scenario("--ds-config", "ds.json", *self.JOB, *more)

    def test_auto_is_what_the_trainer_fills_in(self):
        """Of gpt2's 768 values: 768^2, nine tenths of it, and ten times 768."""
        auto = {"stage": 3, "reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto"}
        made = self.made({"zero_optimization": auto, "bf16": {"enabled": "auto"}, "train_batch_size": "auto"})
        for line in ("reduce_bucket_size: 589824", "prefetch_bucket_size: 530841", "param_persistence_threshold: 7680"):
            self.assertIn(line, made)

    def test_tensor_parallel(self):
        """Of eight GPUs in pairs four have a copy: 16 samples are two micro-batches of two."""
        made = self.made({"zero_optimization": {"stage": 2}, "bf16": {"enabled": True}, "tensor_parallel": {"autotp_size": 2}, "train_batch_size": 16,
                          "train_micro_batch_size_per_gpu": 2})
        self.assertIn("tensor: 2", made)
        self.assertIn("accumulation_steps: 2", made)
        self.assertNotIn("tensor: 2", self.made({"zero_optimization": {"stage": 2}, "tensor_parallel": {"autotp_size": 0}}))

    def test_it_replaces_what_a_scenario_says(self):
        """Adam and no offloading are said, too, where the scenario says something else."""
        self.write("s.yaml", "workload: {model: gpt2, micro_batch: 2, sequence: 256, dtype: bf16}\ncluster: {topology: dgx-h100, world_size: 8}\n"
                             "strategy: zero2\noptimizer: {kind: muon}\nzero: {offload_optimizer: true}\n")
        for section, line in [({"optimizer": {"type": "Adam", "params": {"lr": 1e-4}}}, "optimizer.kind muon"),
                              ({"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "none"}}}, "zero.offload_optimizer true"),
                              ({"zero_optimization": {"stage": 2, "offload_optimizer": {"pin_memory": True}}}, "zero.offload_optimizer true")]:
            self.write("ds.json", json.dumps({"zero_optimization": {"stage": 2}, "bf16": {"enabled": True}, **section}))
            done = self.ok("simulate", "s.yaml", "--ds-config", "ds.json")
            self.assertRegex(done.stderr, f"stands instead of the scenario's .*{line}")

    def test_numbers_that_are_zero(self):
        for zero in ("0", "0.0", "0e0"):
            self.write("ds.json", '{"gradient_clipping": %s, "optimizer": {"type": "SGD", "params": {"momentum": %s}}}' % (zero, zero))
            self.assertNotIn("gradient_clipping\n", re.findall("simulated as if it were not there.*\n", self.result("--ds-config", "ds.json", *self.JOB)[1]))
            self.assertIn("kind: sgd", self.scenario("--ds-config", "ds.json", *self.JOB))
        self.write("ds.json", '{"gradient_clipping": 1.0, "optimizer": {"type": "SGD", "params": {"momentum": 0.9}}}')
        self.assertIn("simulated as if it were not there: gradient_clipping\n", self.result("--ds-config", "ds.json", *self.JOB)[1])
        self.assertIn("kind: momentum", self.scenario("--ds-config", "ds.json", *self.JOB))

    def test_nothing_is_kept_where_zero_may_be(self):
        """Stage 3 that keeps nothing gathers what it released again for the backward pass, and gpt2's token embedding of 38,597,376
        for the embedding and for the head; kept, each of its 124,439,808 parameters is gathered once."""
        def gathered(**keys):
            self.write("ds.json", json.dumps({"zero_optimization": {"stage": 3, "stage3_param_persistence_threshold": 0, **keys}, "bf16": {"enabled": True}}))
            result, _ = self.result("--ds-config", "ds.json", *self.JOB)
            return next(one["bytes"] for one in result["communication"] if one["operation"] == "all_gather")
        keeps = gathered()
        self.assertAlmostEqual(gathered(stage3_max_live_parameters=0, stage3_max_reuse_distance=0) / keeps, (2 * (124439808 - 38597376) + 4 * 38597376) / 124439808, places=3)
        self.write("ds.json", json.dumps({"zero_optimization": {"stage": 2, "reduce_bucket_size": 0}, "bf16": {"enabled": True}}))
        self.assertEqual(self.result("--ds-config", "ds.json", *self.JOB)[0]["n_buckets"], 148)  # gpt2's gradients, each alone

    def test_stage_0(self):
        """Flat: all of gpt2's 124,439,808 gradients in one all-reduce of 16 bits after the last micro-batch, and every rank holds all."""
        for config in ({"zero_optimization": {"stage": 0, "reduce_bucket_size": 5}}, {}):
            self.write("ds.json", json.dumps({**config, "bf16": {"enabled": True}, "gradient_accumulation_steps": 4}))
            result, said = self.result("--ds-config", "ds.json", *self.JOB)
            self.assertEqual(result["strategy"], "zero0")
            self.assertEqual([(one["operation"], one["count"], one["bytes"]) for one in result["communication"]], [("all_reduce", 1, 2 * 124439808)])
            self.assertGreaterEqual(result["exposed_communication_s"], 0.99 * result["communication_s"])
            self.assertEqual("reduce_bucket_size (stage 0)" in said, bool(config))
        held = self.result("--ds-config", "ds.json", *self.JOB, command="memory")[0]["memory"]
        self.assertEqual(held["parameters_bytes"], 2 * 124439808)
        self.assertEqual(held["optimizer_bytes"], 12 * 124439808)  # a float32 copy and two moments
        self.ok("sweep", "--ds-config", "ds.json", *self.JOB, "--topology", "dgx-h100", "--set", "sweep.zero.reduce_bucket_size=[1, 30e6, 5e8]", "--csv", "r.csv")
        # As the elements exceed the limit: the token embedding's 38,597,376, then of 85,842,432 two pieces of 30e6 to 32.4e6 and the rest.
        self.assertEqual([int(row["n_buckets"]) for row in self.read_csv("r.csv")], [148, 4, 1])

    def test_the_command_line_has_the_last_word(self):
        self.write("ds.json", json.dumps({"zero_optimization": {"stage": 2, "reduce_bucket_size": 5e8}, "bf16": {"enabled": True}}))
        launch = ["--ds-config", "ds.json", *self.JOB, "--topology", "dgx-h100"]
        done = self.ok("simulate", *launch, "--set", "zero.reduce_bucket_size=2e8")
        self.assertIn("note: ds.json: gives way to the command line's zero.reduce_bucket_size 2e8 (not 500000000.0, of ds.json:1:58)\n", done.stderr)
        done = self.ok("sweep", *launch, "--set", "sweep.zero.reduce_bucket_size=[1e7, 1e8]", "--csv", "r.csv")
        self.assertIn("gives way to the command line's sweep over zero.reduce_bucket_size", done.stderr)
        self.assertEqual([int(row["n_buckets"]) for row in self.read_csv("r.csv")][1], 2)


if __name__ == "__main__":
    cli.main()
