// ddpsim-validate-gloo: one rank of a real run with Gloo. `ddpsim validate` starts it.
#include "validate/gloo/gloo_backend.hpp"
#include "validate/gloo/gloo_trainer.hpp"

int main(int argc, char** argv) {
  using namespace ddpsim::validate;
  return rank_main(argc, argv, [](const RankPlace& place, const Job& job) {
    auto group = join_gloo_group(place, job);
    RankParts rank{make_gloo_backend(group)};
    if (job.model) rank.trainer = make_gloo_trainer(group, *rank.backend, job);
    return rank;
  });
}
