#include <exception>
#include <thread>

#include "validate/harness/job_json.hpp"
#include "validate/harness/rank_program.hpp"
#include "validate/harness/runner.hpp"
#include <fmt/core.h>

#include "sim/base/output_file.hpp"
#include "sim/base/program_exit.hpp"
#include "sim/base/source.hpp"

namespace ddpsim::validate {
namespace {

void run_rank(const RankPlace& place, const Job& job, const std::string& result_path,
              const MakeRank& make_rank) {
  StatusReporter status(place.rank);
  status.doing("joining the others");
  auto rank = make_rank(place, job);
  auto result = run_job(*rank.backend, rank.trainer.get(), job, status);
  if (place.rank == 0) write_whole_file(result_path, write_run_result(result));
}

// Each rank of this process in a thread of its own. The first that fails ends the process: the others would
// wait for it.
void run_ranks_here(const RankPlace& place, const Job& job, const std::string& result_path,
                    const MakeRank& make_rank) {
  std::vector<std::thread> ranks;
  for (int i = 0; i < place.ranks_here; ++i)
    ranks.emplace_back([&, i] {
      RankPlace mine = place;
      mine.rank += i;
      mine.local_rank += i;
      try {
        run_rank(mine, job, result_path, make_rank);
      } catch (...) {
        std::_Exit(fail_with_current_exception());
      }
    });
  for (auto& rank : ranks) rank.join();
}

}  // namespace

int rank_main(int argc, char** argv, const MakeRank& make_rank) {
  start_program();
  try {
    if (argc != 3)
      throw InputError(fmt::format("usage: {} JOB RESULT", argv[0]), "'ddpsim validate' starts this program");
    auto job = read_job(argv[1]);
    auto place = rank_place_from_environment();
    if (place.ranks_here == 1)
      run_rank(place, job, argv[2], make_rank);
    else
      run_ranks_here(place, job, argv[2], make_rank);
    return kOk;
  } catch (...) {
    return fail_with_current_exception();
  }
}

}  // namespace ddpsim::validate
