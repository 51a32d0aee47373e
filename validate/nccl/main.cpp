#include "validate/harness/rank_program.hpp"
#include "validate/nccl/nccl_backend.hpp"

int main(int argc, char** argv) {
  using namespace ddpsim::validate;
  return rank_main(argc, argv, [](const RankPlace& place, const Job& job) {
    return RankParts{make_nccl_backend(place, job)};
  });
}
