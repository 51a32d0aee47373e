#include "sim/text/scenario_keys.hpp"

#include <string_view>

#include "sim/engine/scenario.hpp"
#include "sim/program/pipeline_schedule.hpp"

namespace ddpsim {
namespace {

using Kind = ScenarioKey::Kind;

template <class Enum, std::size_t n>
std::vector<std::string> names_of(const Names<Enum, n>& names, std::vector<std::string> others = {}) {
  for (const auto& [name, value] : names) others.emplace_back(name);
  return others;
}

class KeyList {
 public:
  void add(std::string path, std::vector<Kind> kinds, std::string description,
           std::vector<std::string> words = {}, bool is_required = false) {
    keys_.push_back(
        {std::move(path), std::move(kinds), std::move(description), std::move(words), is_required});
  }
  // Several keys of a section that are of one kind, as (key, description).
  void add_all(const std::string& section, Kind kind,
               const std::vector<std::pair<std::string_view, std::string_view>>& keys,
               const std::vector<std::string>& words = {}) {
    for (const auto& [key, description] : keys)
      add(section + "." + std::string(key), {kind}, std::string(description), words);
  }
  std::vector<ScenarioKey> take() { return std::move(keys_); }

 private:
  std::vector<ScenarioKey> keys_;
};

std::vector<std::string> training_dtypes() {
  return {"fp32", "bf16", "fp16"};
}

void add_workload(KeyList& keys) {
  keys.add("workload", {Kind::section}, "What is trained: a recorded trace, or a model", {}, true);
  keys.add_all("workload", Kind::text,
               {{"trace", "Layer trace: a name, or a CSV file"},
                {"framework", "Software whose share of the GPU's peak is reached: a name, or a file"},
                {"compute", "Calibrated compute times: a file"}});
  keys.add("workload.model", {Kind::text, Kind::any_map},
           "Transformer: a name, a file, a config.json of Hugging Face, or its sizes");
  keys.add_all("workload", Kind::integer,
               {{"micro_batch", "Samples that a GPU computes at once"}, {"sequence", "Tokens per sample"}});
  keys.add("workload.dtype", {Kind::word}, "What is computed in",
           names_of(kWorkloadPrecisionNames, {"float32", "float16", "bfloat16"}));
  keys.add("workload.gradients", {Kind::word}, "Type of the gradients",
           {"fp32", "bf16", "fp16", "float32", "bfloat16", "float16"});
  keys.add("workload.recompute", {Kind::word}, "What backward computes again to save memory",
           names_of(kRecomputeNames));
  keys.add("workload.attention", {Kind::section}, "The attention kernel");
  keys.add("workload.attention.kernel", {Kind::word}, "Which kernel", {"flash", "unfused"});
  keys.add("workload.attention.causal", {Kind::boolean}, "Whether tokens see only those before them");
  keys.add("workload.scale_bytes", {Kind::number}, "Gradients with so many times the elements");
  keys.add("workload.unused_parameters", {Kind::list}, "Parameters that get no gradient");
  keys.add("workload.unused_parameters[]", {Kind::text}, "Name of a parameter");
  keys.add("workload.rescale", {Kind::section}, "Estimates the trace's times for another GPU");
  keys.add("workload.rescale.factor", {Kind::number}, "Times are multiplied by it");
  keys.add_all(
      "workload.rescale", Kind::text,
      {{"from", "GPU of the trace"}, {"to", "GPU to estimate for"}, {"dtype", "What is computed in"}});
  keys.add("workload.stragglers", {Kind::list}, "Ranks or nodes that compute slower");
  keys.add("workload.stragglers[]", {Kind::section}, "A straggler");
  keys.add_all("workload.stragglers[]", Kind::integer, {{"rank", "Its rank"}, {"node", "Its node"}});
  keys.add("workload.stragglers[].slowdown", {Kind::number}, "How many times as long it computes", {}, true);
}

void add_cluster(KeyList& keys) {
  keys.add("cluster", {Kind::section}, "GPUs and what joins them", {}, true);
  keys.add_all("cluster", Kind::text,
               {{"topology", "Nodes and network: a name ('ddpsim list topologies') or a file"},
                {"gpu", "GPU: a name ('ddpsim list gpus'), a file, or none"}});
  keys.add("cluster.world_size", {Kind::integer}, "GPUs", {}, true);
  keys.add("cluster.price", {Kind::number}, "What a GPU costs per hour");
  keys.add("cluster.placement", {Kind::word, Kind::section}, "Which GPU each rank runs on",
           {"packed", "round_robin"});
  keys.add("cluster.placement.random", {Kind::integer}, "Seed of a permutation of the GPUs");
  keys.add("cluster.placement.random_nodes", {Kind::integer}, "Seed of the nodes drawn from cluster.nodes");
  keys.add("cluster.hashing", {Kind::word, Kind::section}, "Flows go over single cables of uplinks",
           {"none"});
  keys.add("cluster.hashing.seed", {Kind::integer}, "Of the hash that chooses each flow's cable", {}, true);
  keys.add("cluster.domain_gpus", {Kind::integer}, "GPUs that the job takes of each NVLink domain");
  keys.add("cluster.nodes", {Kind::integer}, "Nodes that the cluster has, spare ones among them");
  keys.add("cluster.groups", {Kind::section, Kind::list}, "Who reduces with whom");
  keys.add("cluster.groups.tensor_parallel", {Kind::integer}, "Ranks per model", {}, true);
  keys.add("cluster.groups[]", {Kind::section}, "A group");
  keys.add("cluster.groups[].ranks", {Kind::list, Kind::section}, "Its ranks", {}, true);
  keys.add("cluster.groups[].ranks[]", {Kind::integer}, "A rank");
  keys.add("cluster.groups[].ranks.from", {Kind::integer}, "First rank");
  keys.add("cluster.groups[].ranks.to", {Kind::integer}, "Last rank", {}, true);
  keys.add("cluster.groups[].ranks.step", {Kind::integer}, "Every how many");
  keys.add("cluster.groups[].offset", {Kind::quantity}, "How much later it starts");
  keys.add("cluster.overrides", {Kind::list}, "Links and nodes that are not as the topology says");
  keys.add("cluster.overrides[]", {Kind::section}, "A link or a node");
  keys.add("cluster.overrides[].link", {Kind::text}, "Its name ('ddpsim topology show')");
  keys.add("cluster.overrides[].node", {Kind::integer}, "All NICs of this node");
  keys.add_all("cluster.overrides[]", Kind::quantity,
               {{"bandwidth", "Its bandwidth"}, {"latency", "Its latency"}});
  keys.add("cluster.overrides[].broken", {Kind::boolean}, "Nothing crosses it, or no job runs on it");
  keys.add("cluster.background", {Kind::list}, "Other traffic");
  keys.add("cluster.background[]", {Kind::section}, "A flow");
  keys.add("cluster.background[].links", {Kind::list}, "Links that it crosses", {}, true);
  keys.add("cluster.background[].links[]", {Kind::text}, "Name of a link");
  keys.add_all("cluster.background[]", Kind::quantity,
               {{"start", "When it starts, from the start of backward"},
                {"size", "Its bytes"},
                {"end", "When it ends"}});
}

void add_collective(KeyList& keys) {
  keys.add("collective", {Kind::section}, "How gradients are reduced");
  keys.add("collective.backend", {Kind::word}, "Library", names_of(kBackendNames));
  keys.add("collective.workers", {Kind::integer}, "Collectives in flight at once (Gloo)");
  keys.add("collective.algorithm", {Kind::word}, "auto: the library's own choice",
           names_of(kAlgorithmNames, {"auto", "measured"}));
  keys.add("collective.channels", {Kind::integer, Kind::word}, "Rings or trees at once", {"auto"});
  keys.add("collective.ring_order", {Kind::word}, "Order of the ranks in a ring", {"search", "ranks"});
  keys.add("collective.rings", {Kind::list}, "Rings as lists of ranks");
  keys.add("collective.rings[]", {Kind::list}, "A ring");
  keys.add("collective.rings[][]", {Kind::integer}, "A rank");
  keys.add("collective.scale", {Kind::section}, "What if collectives were slower or faster");
  keys.add_all("collective.scale", Kind::number,
               {{"latency", "Times what one of no bytes takes"},
                {"bandwidth", "Times the rate of what grows with size"}});
  keys.add("collective.measured", {Kind::text}, "Table of measured times (CSV)");
  keys.add("collective.nccl", {Kind::section}, "What NCCL may choose");
  keys.add("collective.nccl.algorithm", {Kind::word}, "As NCCL_ALGO", {"auto", "ring", "tree", "nvls"});
  keys.add("collective.nccl.protocol", {Kind::word}, "As NCCL_PROTO", {"auto", "ll", "ll128", "simple"});
  keys.add("collective.nccl.version", {Kind::version}, "Release: 2.27");
  keys.add_all("collective.nccl", Kind::boolean,
               {{"collnet", "Reduction in the network (SHARP)"}, {"symmetric", "Symmetric kernels"}});
  keys.add("collective.nccl.calibration", {Kind::text}, "Calibration: a name, a file, or none");
  keys.add("collective.gloo", {Kind::section}, "What a machine gives Gloo");
  keys.add_all("collective.gloo", Kind::quantity,
               {{"process_bandwidth", "A process copies at"},
                {"cached_bandwidth", "The same within the cache"},
                {"cache", "Size of the cache"},
                {"machine_bandwidth", "All processes together"},
                {"reduction_bandwidth", "A process adds at"},
                {"copy_bandwidth", "Between GPU and host"},
                {"step_latency", "Per step of the ring"}});
}

void add_ddp(KeyList& keys) {
  keys.add("ddp", {Kind::section}, "DistributedDataParallel, as PyTorch's arguments");
  keys.add("ddp.rule", {Kind::word}, "How buckets are filled", {"torch", "close_before_exceeding"});
  keys.add_all(
      "ddp", Kind::quantity,
      {{"bucket_cap", "Size of a bucket: bucket_cap_mb"}, {"first_bucket_cap", "Of the first bucket"}});
  keys.add("ddp.bucket_caps", {Kind::list}, "A cap for each bucket");
  keys.add("ddp.bucket_caps[]", {Kind::quantity}, "Size of a bucket");
  keys.add("ddp.accumulation_steps", {Kind::integer}, "Micro-batches per step");
  keys.add_all("ddp", Kind::boolean,
               {{"gradient_as_bucket_view", "Gradients live in the buckets"},
                {"find_unused_parameters", "As PyTorch"},
                {"static_graph", "As PyTorch"},
                {"set_last_bucket_cap", "The last bucket has a cap too"},
                {"compiled", "Cut as torch.compile's DDPOptimizer does"}});
  keys.add("ddp.iteration", {Kind::word}, "Buckets of which iteration", {"first", "second", "steady"});
  keys.add("ddp.comm_hook", {Kind::word, Kind::section}, "How gradients are compressed",
           {"none", "fp16", "bf16", "powersgd"});
  keys.add("ddp.comm_hook.powersgd", {Kind::section}, "PowerSGD", {}, true);
  keys.add_all("ddp.comm_hook.powersgd", Kind::integer,
               {{"rank", "matrix_approximation_rank"}, {"start_iteration", "start_powerSGD_iter"}});
  keys.add("ddp.comm_hook.powersgd.min_compression_rate", {Kind::number}, "As PyTorch");
  keys.add_all("ddp.comm_hook.powersgd", Kind::boolean,
               {{"use_error_feedback", "As PyTorch"}, {"warm_start", "As PyTorch"}});
  keys.add("ddp.process_groups", {Kind::integer}, "Process groups that take turns");
  keys.add("ddp.broadcast_buffers", {Kind::boolean, Kind::quantity, Kind::list},
           "Sizes of the buffers, or false");
  keys.add("ddp.broadcast_buffers[]", {Kind::quantity}, "Size of a buffer");
  keys.add("ddp.torch", {Kind::version}, "Release of PyTorch: \"2.6\"");
}

void add_sharding(KeyList& keys) {
  keys.add("fsdp", {Kind::section}, "FSDP and HSDP");
  keys.add("fsdp.unit", {Kind::word, Kind::section}, "What is gathered at once", {"layer"});
  keys.add("fsdp.unit.layers", {Kind::integer}, "So many layers");
  keys.add("fsdp.unit.bytes", {Kind::quantity}, "As many as hold so many bytes");
  keys.add("fsdp.units", {Kind::list}, "Modules by name");
  keys.add("fsdp.units[]", {Kind::text}, "A pattern: layers.*");
  keys.add_all("fsdp", Kind::boolean,
               {{"cpu_offload", "Parameters and optimizer on the host"},
                {"reshard_after_forward", "As PyTorch"},
                {"reshard_last", "The last unit is resharded too"},
                {"reduce_every_micro_batch", "Else once a step"}});
  keys.add_all("fsdp", Kind::word, {{"param_dtype", "What is gathered"}, {"reduce_dtype", "What is reduced"}},
               training_dtypes());
  keys.add("fsdp.communicators", {Kind::integer}, "1, or 2: reductions beside gathers");
  keys.add("fsdp.shard_group", {Kind::integer, Kind::word}, "HSDP: ranks that share a copy", {"node"});
  keys.add("zero", {Kind::section}, "DeepSpeed's ZeRO");
  keys.add_all("zero", Kind::number,
               {{"reduce_bucket_size", "Elements"},
                {"allgather_bucket_size", "Elements"},
                {"prefetch_bucket_size", "Elements"},
                {"max_live_parameters", "Elements"},
                {"max_reuse_distance", "Elements"},
                {"param_persistence_threshold", "Elements"}});
  keys.add_all("zero", Kind::boolean,
               {{"overlap_comm", "As DeepSpeed"},
                {"contiguous_gradients", "As DeepSpeed"},
                {"offload_optimizer", "The optimizer on the host"},
                {"offload_param", "Parameters on the host"}});
  keys.add_all("zero", Kind::word,
               {{"param_dtype", "What is gathered"},
                {"reduce_dtype", "What is reduced"},
                {"grad_accum_dtype", "What is added up"}},
               training_dtypes());
  keys.add("megatron", {Kind::section}, "Megatron's distributed optimizer");
  keys.add("megatron.bucket_size", {Kind::number, Kind::word}, "Elements", {"auto"});
  keys.add_all("megatron", Kind::boolean,
               {{"overlap_grad_reduce", "As Megatron"},
                {"overlap_param_gather", "As Megatron"},
                {"grad_reduce_in_fp32", "As Megatron"}});
  keys.add("megatron.param_dtype", {Kind::word}, "What is gathered", training_dtypes());
}

void add_servers(KeyList& keys) {
  keys.add("data_parallel", {Kind::section}, "torch.nn.DataParallel");
  keys.add_all("data_parallel", Kind::quantity,
               {{"inputs", "Bytes of a replica's inputs"},
                {"outputs", "Bytes of its outputs"},
                {"loss", "Time of the loss"},
                {"host_forward", "Time of the host before each forward pass"}});
  keys.add("parameter_server", {Kind::section}, "Parameter servers");
  keys.add("parameter_server.servers", {Kind::integer}, "How many");
  keys.add("parameter_server.placement", {Kind::word}, "Where they run", {"colocated", "dedicated"});
  keys.add("parameter_server.synchronous", {Kind::boolean}, "Whether workers wait for one another");
  keys.add("parameter_server.update_rate", {Kind::number}, "Parameters a second");
  keys.add("host", {Kind::section}, "The machine around the GPUs");
  keys.add("host.copy_bandwidth", {Kind::quantity}, "Between GPU and host");
  keys.add("host.adam_rate", {Kind::number}, "Parameters a second");
}

void add_parallelism(KeyList& keys) {
  keys.add("parallelism", {Kind::section}, "GPUs that share a copy of the model");
  keys.add_all("parallelism", Kind::integer,
               {{"tensor", "Tensor-parallel GPUs"},
                {"pipeline", "Stages"},
                {"context", "GPUs that share a sequence"},
                {"expert", "GPUs that share experts"}});
  keys.add("parallelism.data", {Kind::integer, Kind::word}, "Copies of the model", {"auto"});
  keys.add("parallelism.sequence", {Kind::boolean}, "Sequence parallelism");
  keys.add("pipeline", {Kind::section}, "The pipeline");
  keys.add("pipeline.schedule", {Kind::word}, "Order of the micro-batches", names_of(kPipelineScheduleNames));
  keys.add_all("pipeline", Kind::integer,
               {{"virtual", "Stages per GPU"}, {"group", "Micro-batches per turn"}});
  keys.add("pipeline.overlap_p2p", {Kind::word}, "Messages beside compute", {"auto", "true", "false"});
  keys.add("pipeline.layers", {Kind::list}, "Layers of each stage");
  keys.add("pipeline.layers[]", {Kind::integer}, "Layers");
  keys.add("tensor", {Kind::section}, "Tensor parallelism");
  keys.add("tensor.overlap", {Kind::word}, "What hides its collectives", {"none", "async", "te", "async_tp"});
  keys.add("tensor.hidden", {Kind::number}, "Share of them that is hidden");
  keys.add("context", {Kind::section}, "Context parallelism");
  keys.add("context.kind", {Kind::word}, "How GPUs share a sequence", names_of(kContextKindNames));
  keys.add("expert", {Kind::section}, "Expert parallelism");
  keys.add("expert.dispatcher", {Kind::word}, "How tokens come to experts", names_of(kDispatcherNames));
  keys.add_all("expert", Kind::number,
               {{"capacity", "Tokens an expert takes over the mean; without it, all"},
                {"imbalance", "Concentration of the Dirichlet distribution that experts' loads are of"}});
  keys.add("expert.seed", {Kind::integer}, "Of the loads that are drawn");
  keys.add("expert.shared_overlap", {Kind::boolean}, "Whether shared experts compute under exchanges");
  keys.add("batch", {Kind::section}, "Samples per step");
  keys.add("batch.global", {Kind::integer}, "Of all GPUs", {}, true);
}

void add_physics(KeyList& keys) {
  keys.add("physics", {Kind::word, Kind::section}, "What real machines do besides; none: the textbook",
           {"none"});
  keys.add("physics.interference", {Kind::number, Kind::section},
           "Slowdown of compute and collectives that run beside one another");
  keys.add("physics.interference.compute", {Kind::number}, "Of compute", {}, true);
  keys.add("physics.interference.collective", {Kind::number}, "Of collectives", {}, true);
  keys.add("physics.calibration", {Kind::text}, "Calibrated interference: a file");
  keys.add_all("physics", Kind::quantity,
               {{"pass_bandwidth", "Memory bandwidth of a copy"},
                {"pass_launch", "Launch of a copy"},
                {"gradient", "Hook of a gradient"},
                {"launch", "Launch of a collective"},
                {"first_start", "Start of the first collective"}});
  keys.add("physics.passes", {Kind::word, Kind::section}, "Passes over a bucket's memory", {"none", "auto"});
  keys.add("physics.passes.in", {Kind::number}, "Before its all-reduce", {}, true);
  keys.add("physics.passes.out", {Kind::number}, "After it", {}, true);
  keys.add("spread", {Kind::word, Kind::section}, "How much GPUs differ", {"none"});
  keys.add_all("spread", Kind::number,
               {{"ranks", "Standard deviation of GPUs"}, {"nodes", "Standard deviation of nodes"}});
}

void add_variability(KeyList& keys) {
  keys.add("failures", {Kind::section}, "GPUs that fail, and checkpoints");
  for (auto [key, description] : {std::pair("mtbf", "Mean time between failures of a GPU"),
                                  std::pair("checkpoint", "What a checkpoint takes"),
                                  std::pair("restart", "From a failure until steps go on")})
    keys.add(std::string("failures.") + key, {Kind::quantity}, description, {}, true);
  keys.add("failures.interval", {Kind::quantity}, "Of steps between checkpoints");
  keys.add("variability", {Kind::section}, "Iterations that differ");
  keys.add_all("variability", Kind::integer, {{"seed", "Of the random numbers"}, {"iterations", "How many"}});
  keys.add("variability.report", {Kind::word}, "Which of them", {"median", "p95"});
  for (const auto& [key, what] : {std::pair("ranks", "Between ranks"), std::pair("nodes", "Between nodes"),
                                  std::pair("jitter", "From iteration to iteration"),
                                  std::pair("layers", "Between layers, from iteration to iteration")}) {
    std::string path = std::string("variability.") + key;
    auto words = path == "variability.jitter" ? std::vector<std::string>{"none", "trace"}
                                              : std::vector<std::string>{"none"};
    keys.add(path, {Kind::number, Kind::word, Kind::section}, what, words);
    keys.add(path + ".observed", {Kind::text}, "Table of observed times (CSV)", {}, true);
  }
  keys.add("variability.slow", {Kind::list}, "Ranks or nodes that are slow now and then");
  keys.add("variability.slow[]", {Kind::section}, "Such ones");
  keys.add("variability.slow[].of", {Kind::word}, "Of what", {"ranks", "nodes"}, true);
  keys.add("variability.slow[].probability", {Kind::number}, "How likely each is", {}, true);
  keys.add("variability.slow[].slowdown", {Kind::number}, "How many times as long it computes", {}, true);
  keys.add("variability.slow[].lasts", {Kind::word}, "How long", {"run", "iteration"});
  keys.add("variability.weather", {Kind::text, Kind::section},
           "What a shared fabric gives: a name, a file, none, or shares");
  for (const char* key : {"p5", "median", "p95"})
    keys.add(std::string("variability.weather.") + key, {Kind::number}, "Share of the bandwidth");
}

void add_rest(KeyList& keys) {
  keys.add("engine", {Kind::section}, "How it is simulated");
  keys.add("engine.fidelity", {Kind::word}, "How collectives are carried out",
           names_of(kFidelityNames, {"auto"}));
  keys.add("engine.network", {Kind::word}, "Who shares links out", names_of(kSharedNetworkNames));
  keys.add("validation", {Kind::section}, "Real runs ('ddpsim validate')");
  keys.add("validation.backend", {Kind::word}, "Library", names_of(kBackendNames));
  keys.add("validation.compute", {Kind::word}, "What ranks compute", {"replay", "model"});
  keys.add("validation.ranks", {Kind::integer}, "How many of a real run");
  keys.add("validation.measured", {Kind::text}, "Measured iterations (CSV)");
  keys.add("validation.testbed", {Kind::word, Kind::section}, "Network namespaces", {"none"});
  keys.add("validation.testbed.rate", {Kind::quantity}, "Bandwidth of a link", {}, true);
  keys.add("validation.testbed.delay", {Kind::quantity}, "Its delay");
  keys.add("validation.thresholds", {Kind::section}, "What fails a validation");
  keys.add_all(
      "validation.thresholds", Kind::quantity,
      {{"iteration_error", "Error of an iteration: 5%"}, {"regret", "Cost of the predicted choice: 2%"}});
  keys.add("sweep", {Kind::axes}, "Axes: keys with lists of values, or {from, to, points, spacing}");
}

}  // namespace

std::vector<ScenarioKey> scenario_keys() {
  KeyList keys;
  add_workload(keys);
  add_cluster(keys);
  keys.add("strategy", {Kind::word}, "How gradients are reduced, or parameters sharded",
           names_of(kStrategyNames));
  add_collective(keys);
  add_ddp(keys);
  add_sharding(keys);
  add_servers(keys);
  add_parallelism(keys);
  add_physics(keys);
  add_variability(keys);
  add_rest(keys);
  return keys.take();
}

}  // namespace ddpsim
