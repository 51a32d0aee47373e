// The sections of axes along which GPUs share a copy of the model, and `batch`.
#include "sim/base/limits.hpp"
#include "sim/job/rows/rows.hpp"
#include "sim/variability/expert_load.hpp"

namespace ddpsim::job {
namespace {

using namespace keys;

Type<int> degree() {
  return whole(1, kLargestWorldSize);
}

Type<decltype(Pipeline::layers)> stage_layers() {
  using V = decltype(Pipeline::layers);
  auto count = whole<std::int64_t>(0, kMostBlocks);
  auto ends = nested(Rows<EndLayers>("pipeline.layers")
                         .key<&EndLayers::first>("first", maybe(count), "Layers of the first rank")
                         .usually("as many as the others")
                         .also({"decoder_first_pipeline_num_layers"})
                         .key<&EndLayers::last>("last", maybe(count), "Layers of the last rank")
                         .usually("as many as the others")
                         .also({"decoder_last_pipeline_num_layers"}));
  return one_of<V>("these are no layers", "write auto, [8, 8, 8, 6], or {first: 6, last: 6}",
                   {is_word<V>("auto", Automatic{}), is_a<V, EndLayers>(ends, "first"),
                    is_a<V, std::vector<std::int64_t>>(list(count))});
}

void check_pipeline(const Pipeline& pipeline, const Cursor& at) {
  if (pipeline.schedule == PipelineSchedule::dualpipe) {
    if (at.has("virtual"))
      refuse(at, "virtual", "DualPipe's ranks have two stages, one of each direction",
             "remove it, or use schedule: interleaved");
    if (pipeline.overlap_p2p == false)
      refuse(at, "overlap_p2p",
             "DualPipe posts its messages in batches that overlap: with calls that block it would hang",
             "remove it");
  }
  bool ends_count = pipeline.count_embedding || pipeline.count_loss;
  if (ends_count && !std::holds_alternative<Automatic>(pipeline.layers))
    refuse(at, pipeline.count_embedding ? "count_embedding" : "count_loss",
           "pipeline.layers says how many each stage has", "remove one of the two");
  auto usual = pipeline.chunks > 1 ? PipelineSchedule::interleaved : PipelineSchedule::one_f_one_b;
  if (pipeline.overlap_p2p.value_or(false) &&
      pipeline.schedule.value_or(usual) == PipelineSchedule::one_f_one_b)
    refuse(at, "overlap_p2p",
           "1F1B does not overlap its messages: two of them are on the way of every micro-batch, and "
           "Megatron refuses to",
           "remove it, or use schedule: interleaved with virtual: 2");
}

void check_expert(const Expert& expert, const Cursor& at) {
  if (at.has("seed") && !expert.imbalance)
    refuse(at, "seed", "nothing is drawn: experts get as many tokens each",
           "remove it, or add imbalance, a Dirichlet distribution's concentration");
  // transformer_config.py of Megatron-Core 0.16.1.
  if (expert.tensor > 1 && expert.dispatcher != Dispatcher::all_to_all)
    refuse(at, "tensor", "experts that ranks share take tokens by dispatcher: all_to_all", "write that");
  if (expert.dispatcher != Dispatcher::deepep)
    for (const char* key : {"dispatch_sms", "node_limit"})
      if (at.has(key))
        refuse(at, key, fmt::format("expert.{} is of DeepEP's normal kernels", key),
               "remove it, or use dispatcher: deepep");
  if (at.has("dtype") && is_of_nccl(expert.dispatcher))
    refuse(at, "dtype", "what NCCL's exchanges carry has the type that is computed in",
           "remove it, or use dispatcher: deepep");
  if (expert.dispatcher == Dispatcher::all_to_all) return;
  for (auto [is_so, key] :
       {std::pair(expert.capacity.has_value(), "capacity"), {expert.shared_overlap, "shared_overlap"}})
    if (is_so)
      refuse(at, key, fmt::format("expert.{} needs tokens that go to their experts only", key),
             "use dispatcher: all_to_all");
}

}  // namespace

Type<Parallelism> parallelism_rows() {
  using P = Parallelism;
  return nested(
      Rows<P>("parallelism")
          .key<&P::tensor>("tensor", degree(), "Tensor-parallel GPUs")
          .also({"tp", "tp_size", "tensor_parallel_size", "tensor_model_parallel_size",
                 "tensor_parallel_degree"})
          .key<&P::pipeline>("pipeline", degree(), "Stages")
          .also({"pp", "pp_size", "pipeline_parallel_size", "pipeline_model_parallel_size",
                 "pipeline_parallel_degree"})
          .key<&P::context>("context", degree(), "GPUs that share a sequence")
          .also({"cp", "context_parallel_size", "context_parallel_degree"})
          .key<&P::expert>("expert", degree(), "GPUs that share experts")
          .also({"ep", "expert_parallel_size", "expert_model_parallel_size", "expert_parallel_degree"})
          .key<&P::data>(
              "data", word_or("auto", degree(), "write auto, or how many copies of the model there are: 8"),
              "Copies of the model")
          .also({"dp", "data_parallel_size"})
          .key<&P::sequence>("sequence", boolean(), "Sequence parallelism")
          .also({"sequence_parallel"})
          .tries({"true", "false"})
          .check([](const P& parallelism, const Cursor& at) {
            double gpus = 1.0 * parallelism.tensor * parallelism.pipeline * parallelism.context *
                          parallelism.data.value_or(1);
            if (gpus > kLargestWorldSize)
              refuse(at, "", fmt::format("more than {} GPUs", kLargestWorldSize), "use smaller degrees");
            if (parallelism.sequence && parallelism.tensor == 1)
              refuse(at, "sequence",
                     "the sequence is split over the GPUs of a tensor-parallel group, and there is none",
                     "set tensor to 2 or more, or remove it");
          }));
}

Type<Pipeline> pipeline_rows() {
  using P = Pipeline;
  using Choice = std::optional<bool>;
  return nested(
      Rows<P>("pipeline")
          .key<&P::schedule>("schedule", maybe(word(kPipelineScheduleNames)), "Order of the micro-batches")
          .usually("1f1b, with `virtual` above 1 interleaved")
          .key<&P::chunks>("virtual", degree(), "Stages per GPU")
          .also({"vpp", "virtual_pipeline_model_parallel_size"})
          .key<&P::group>("group", degree(), "Micro-batches per turn")
          .usually("the stages")
          .also({"microbatch_group_size_per_virtual_pipeline_stage"})
          .key<&P::overlap_p2p>("overlap_p2p",
                                word<Choice>({{"auto", std::nullopt}, {"true", true}, {"false", false}}),
                                "Messages beside compute")
          .also({"overlap_p2p_comm", "overlap_p2p_communication"})
          .tries({"true", "false"})
          .key<&P::layers>("layers", stage_layers(),
                           "Layers of each stage, or of the first and the last rank")
          .key<&P::count_embedding>("count_embedding", boolean(),
                                    "The embedding counts as a layer of its stage")
          .also({"account_for_embedding_in_pipeline_split"})
          .key<&P::count_loss>("count_loss", boolean(), "The loss counts as a layer of its stage")
          .also({"account_for_loss_in_pipeline_split"})
          .check(check_pipeline));
}

Type<Tensor> tensor_rows() {
  auto overlap = word<TensorOverlap>({{"none", TensorOverlap::none},
                                      {"async", TensorOverlap::async},
                                      {"te", TensorOverlap::measured},
                                      {"async_tp", TensorOverlap::pipelined}});
  return nested(Rows<Tensor>("tensor")
                    .key<&Tensor::overlap>("overlap", maybe(overlap), "What hides its collectives")
                    .usually("the software's")
                    .also({"tp_comm_overlap"})
                    .key<&Tensor::hidden>("hidden", maybe(number(0, 1)), "Share of them that is hidden")
                    .usually("the software's")
                    .check([](const Tensor& tensor, const Cursor& at) {
                      if (tensor.hidden && tensor.overlap && *tensor.overlap != TensorOverlap::measured)
                        refuse(at, "hidden", "only overlap: te hides a measured share",
                               "remove it, or write overlap: te");
                    }));
}

Type<Context> context_rows() {
  return nested(Rows<Context>("context")
                    .key<&Context::kind>("kind", word(kContextKindNames), "How GPUs share a sequence")
                    .tries({"ring", "all_gather", "all_to_all"}));
}

Type<Expert> expert_rows() {
  return nested(
      Rows<Expert>("expert")
          .key<&Expert::tensor>("tensor", degree(), "GPUs that share each expert")
          .also({"expert_tensor_parallel_size", "etp"})
          .key<&Expert::dispatcher>("dispatcher", word(kDispatcherNames), "How tokens come to experts")
          .also({"moe_token_dispatcher_type"})
          .key<&Expert::dispatch_sms>("dispatch_sms", whole(1, 1024),
                                      "Multiprocessors that DeepEP's normal kernels take")
          .also({"moe_deepep_num_sms"})
          .key<&Expert::node_limit>("node_limit", maybe(degree()), "Nodes that a token reaches at most")
          .usually("all")
          .also({"moe_router_group_topk"})
          .key<&Expert::dtype>("dtype", word(kDispatchTypeNames), "Of what is dispatched")
          .key<&Expert::capacity>("capacity", maybe(number(0.01, 100)),
                                  "Tokens an expert takes over the mean; without it, all")
          .usually("none: all that come")
          .also({"moe_expert_capacity_factor", "capacity_factor"})
          .key<&Expert::imbalance>("imbalance", maybe(number(kLeastConcentration, 1e9)),
                                   "Concentration of the Dirichlet distribution that experts' loads are of")
          .usually("none: as many each")
          .key<&Expert::seed>("seed", seed(), "Of the loads that are drawn")
          .key<&Expert::shared_overlap>("shared_overlap", boolean(),
                                        "Whether shared experts compute under exchanges")
          .also({"moe_shared_expert_overlap"})
          .check(check_expert));
}

Type<Batch> batch_rows() {
  return nested(
      Rows<Batch>("batch")
          .key<&Batch::global>("global", maybe(whole<std::int64_t>(1, kLargestBatch)), "Of all GPUs")
          .required()
          .also({"global_batch", "global_batch_size"}));
}

}  // namespace ddpsim::job
