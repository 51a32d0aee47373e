// The sections `engine` and `validation`: how it is simulated, and compared with reality.
#include "sim/base/limits.hpp"
#include "sim/job/rows/rows.hpp"

namespace ddpsim::job {

using namespace keys;

Type<Engine> engine_rows() {
  using Choice = std::optional<Fidelity>;
  return nested(Rows<Engine>("engine")
                    .key<&Engine::fidelity>(
                        "fidelity",
                        word<Choice>(config::words_of<Choice>(kFidelityNames, {{"auto", std::nullopt}})),
                        "How collectives are carried out")
                    .key<&Engine::network>("network", word(kSharedNetworkNames), "Who shares links out"));
}

Type<Validation> validation_rows() {
  using V = Validation;
  using Network = std::optional<Testbed>;
  auto section = nested(Rows<Testbed>("validation.testbed")
                            .key<&Testbed::rate>("rate", bandwidth(), "Bandwidth of a link")
                            .required()
                            .key<&Testbed::delay>("delay", maybe(time()), "Its delay")
                            .usually("none"));
  auto testbed = one_of<Network>(
      "'validation.testbed' is a map of keys", "write none, or 'key: value' lines below 'validation.testbed'",
      {is_word<Network>("none", std::nullopt), is_like<Network, Testbed>(
                                                   section, [](Network& to, Testbed from) { to = from; },
                                                   [](const Network& from) { return from; }, "rate")});
  auto thresholds =
      nested(Rows<Thresholds>("validation.thresholds")
                 .key<&Thresholds::iteration_error>("iteration_error", maybe(percentage()),
                                                    "Error of an iteration: 5%")
                 .usually("none")
                 .key<&Thresholds::regret>("regret", maybe(percentage()), "Cost of the predicted choice: 2%")
                 .usually("none"));
  return nested(Rows<V>("validation")
                    .key<&V::backend>("backend", word(kRealBackendNames), "Library")
                    .key<&V::compute>(
                        "compute",
                        word<RealCompute>({{"replay", RealCompute::replay}, {"model", RealCompute::model}}),
                        "What ranks compute")
                    .key<&V::ranks>("ranks", maybe(whole(2, kLargestWorldSize)), "How many of a real run")
                    .usually("world_size")
                    .key<&V::testbed>("testbed", testbed, "Network namespaces")
                    .key<&V::measured>("measured", maybe(text()), "Measured iterations (CSV)")
                    .usually("a real run")
                    .key<&V::thresholds>("thresholds", thresholds, "What fails a validation"));
}

}  // namespace ddpsim::job
