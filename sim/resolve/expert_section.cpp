// The key `expert`, `parallelism.expert`, and how many tokens experts get.
#include <fmt/core.h>

#include "sim/resolve/parallel_section.hpp"
#include "sim/variability/expert_load.hpp"

namespace ddpsim {
namespace {

void check_degree(const ParallelSection& section, const Parallelism& degrees, const Transformer& model) {
  int ranks = degrees.expert.ranks;
  const auto& place = section.place();
  if (!model.has_experts())
    throw InputError(section.place_of("expert"), fmt::format("{} has no experts", model.name),
                     "use a mixture of experts: mixtral-8x7b, or kind: transformer with experts and top_k");
  int tensor = degrees.expert.tensor;
  const auto& of_tensor = section.place_of("expert");
  if (tensor > 1 && (ranks == 1 || degrees.tensor % tensor != 0))
    throw InputError(of_tensor,
                     ranks == 1 ? std::string("experts that nobody has a share of are cut like all else")
                                : fmt::format("{} ranks of a tensor-parallel group do not share experts in "
                                              "groups of {}",
                                              degrees.tensor, tensor),
                     ranks == 1 ? "remove expert.tensor, or write parallelism: {expert: 8}"
                                : "use a divisor of parallelism.tensor");
  if (model.experts.ffn % tensor != 0)
    throw InputError(
        of_tensor,
        fmt::format("{} columns of an expert are not split over {} GPUs", model.experts.ffn, tensor),
        "use a degree that divides them");
  if (ranks == 1 && !is_of_nccl(degrees.expert.dispatcher))
    throw InputError(section.given->at("expert.dispatcher"),
                     "tokens of experts that nobody has a share of are not dispatched",
                     "remove it, or write parallelism: {expert: 8}");
  if (ranks == 1) return;
  if (model.experts.count % ranks != 0)
    throw InputError(place, fmt::format("{} experts are not split over {} ranks", model.experts.count, ranks),
                     "use a degree that divides them");
  if (int sharing = degrees.sharing_experts(); degrees.of_a_stage() % sharing != 0)
    throw InputError(
        place,
        fmt::format("groups of {} ranks that share experts do not divide the {} ranks {}", sharing,
                    degrees.of_a_stage(), degrees.pipeline > 1 ? "of a stage" : "of the job"),
        "use a degree that divides data x context x tensor");
  if (degrees.tensor > 1 && !degrees.sequence)
    throw InputError(place,
                     "ranks of a tensor-parallel group would send the same tokens to experts, and Megatron "
                     "refuses to",
                     "add parallelism: {sequence: true}");
}

}  // namespace

Parallelism with_experts(const ParallelSection& section, const Parallelism& degrees, const ModelStep& step,
                         int micro_batches, std::vector<Note>& notes) {
  auto result = degrees;
  auto& shape = result.expert;
  shape = section.expert.shape;
  if (shape.ranks > 1 || section.given->job.expert) check_degree(section, result, step.model);
  const auto& experts = step.model.experts;
  if (shape.overlaps_shared && experts.shared == 0)
    throw InputError(section.given->at("expert.shared_overlap"),
                     fmt::format("{} has no shared experts", step.model.name), "remove it");
  // Of one rank's experts none waits for another's.
  if (!section.expert.imbalance || (shape.ranks == 1 && shape.capacity == 0)) return result;
  auto whole = step.step.shape;
  whole.tensor = degrees.tensor;
  whole.context = degrees.context;
  whole.expert = shape;
  auto load = draw_expert_load({.experts = static_cast<int>(experts.count),
                                .top_k = static_cast<int>(experts.top_k),
                                .ranks = shape.ranks,
                                .tokens = whole.routed() * shape.ranks,
                                .layers = static_cast<int>(step.model.blocks_with_experts()),
                                .micro_batches = micro_batches,
                                .concentration = *section.expert.imbalance,
                                .capacity = shape.capacity,
                                .seed = section.expert.seed});
  if (shape.capacity == 0) shape.load = load.of_slowest;
  auto drawn = fmt::format("tokens of experts are drawn (imbalance {}, seed {})", *section.expert.imbalance,
                           section.expert.seed);
  notes.push_back(
      {"expert-load",
       shape.capacity > 0
           ? fmt::format("{}: {:.1f} % of them find their expert full and are dropped", drawn,
                         100 * load.dropped)
           : fmt::format("{}: of the {} ranks that share them the one with most has {:.2f} times the mean, "
                         "averaged over layers and micro-batches, and {:.2f} times at most",
                         drawn, shape.ranks, load.of_slowest, load.most)});
  return result;
}

}  // namespace ddpsim
