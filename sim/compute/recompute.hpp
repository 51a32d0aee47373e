#pragma once
// What is computed again in the backward pass instead of being kept.
#include <array>

#include "sim/base/names.hpp"

namespace ddpsim {

// Nothing; modules of a block, where none are named the attention core (Korthikanti et al., arXiv 2205.05198,
// section 5); every other linear layer and all element-wise work (torchtitan's per-operator checkpoints);
// every block from its input.
enum class Recompute { none, selective, op, full };
inline constexpr Names<Recompute, 4> kRecomputeNames{{{"none", Recompute::none},
                                                      {"selective", Recompute::selective},
                                                      {"op", Recompute::op},
                                                      {"full", Recompute::full}}};

// Megatron-Core's recompute_modules: the attention core; both norms; of latent attention what makes queries,
// keys and values of their latents; a feed-forward layer without experts; one with them, its exchange
// included; what activates experts; shared experts.
enum class RecomputedModule { core_attn, layernorm, mla_up_proj, mlp, moe, moe_act, shared_experts };
inline constexpr Names<RecomputedModule, 7> kRecomputedModuleNames{
    {{"core_attn", RecomputedModule::core_attn},
     {"layernorm", RecomputedModule::layernorm},
     {"mla_up_proj", RecomputedModule::mla_up_proj},
     {"mlp", RecomputedModule::mlp},
     {"moe", RecomputedModule::moe},
     {"moe_act", RecomputedModule::moe_act},
     {"shared_experts", RecomputedModule::shared_experts}}};

class RecomputedModules {
 public:
  [[nodiscard]] constexpr bool has(RecomputedModule one) const { return has_[static_cast<std::size_t>(one)]; }
  constexpr void set(RecomputedModule one, bool is_in = true) { has_[static_cast<std::size_t>(one)] = is_in; }
  auto operator<=>(const RecomputedModules&) const = default;
  // Which a block may have at all.
  static constexpr bool is_of_experts(RecomputedModule one) {
    return one == RecomputedModule::moe || one == RecomputedModule::moe_act ||
           one == RecomputedModule::shared_experts;
  }

 private:
  std::array<bool, 7> has_{true};  // core_attn
};

}  // namespace ddpsim
