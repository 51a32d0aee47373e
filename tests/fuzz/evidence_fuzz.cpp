// Evidence, by itself and in what calibrations write, and what measured steps leave of it.
#include <cmath>

#include "sim/base/check.hpp"
#include "sim/evidence/conditioning.hpp"
#include "sim/text/evidence_file.hpp"
#include "sim/text/physics_calibration.hpp"
#include "sim/text/software_file.hpp"

#include "tests/fuzz/fuzzed_text.hpp"

namespace {

using namespace ddpsim;

void check_draws(Evidence evidence) {
  bool is_near = weigh(evidence);
  for (const auto& one : evidence.measured)
    for (auto time : draws_of(one.response, evidence, kUsualDraws))
      DDPSIM_CHECK(!std::isnan(time.value()), "a draw is a time");
  DDPSIM_CHECK(!is_near || evidence.measured.empty() || evidence.picked.size() == kUsualDraws,
               "as many draws are left");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace ddpsim::fuzzing;
  const FuzzedFile file(view_of(bytes, size));
  static const Evidence known = read_evidence(DDPSIM_SOURCE_DIR "/evidence/default.yaml");
  expect_answer([&] { check_draws(read_evidence(file.path(), known)); });
  expect_answer([&] { check_draws(read_software_evidence(file.path(), known)); });
  expect_answer([&] { check_draws(read_physics_evidence(file.path(), known)); });
  return 0;
}
