// The section `collective`: how all-reduces are carried out.
#include "sim/base/limits.hpp"
#include "sim/job/rows/rows.hpp"
#include "sim/job/types.hpp"

namespace ddpsim::job {
namespace {

using namespace keys;

const When kGloo{[](const Job& job) { return traits_of(job.collective.backend).has_several_in_flight; },
                 "backend: gloo"};

Type<Nccl> nccl_rows() {
  using Algorithms = std::vector<nccl::Algorithm>;
  using Protocols = std::vector<nccl::Protocol>;
  auto algorithm = word<Algorithms>({{"auto", {}},
                                     {"ring", {nccl::Algorithm::ring}},
                                     {"tree", {nccl::Algorithm::tree}},
                                     {"nvls", {nccl::Algorithm::nvls, nccl::Algorithm::nvls_tree}}});
  auto protocol = word<Protocols>({{"auto", {}},
                                   {"ll", {nccl::Protocol::ll}},
                                   {"ll128", {nccl::Protocol::ll128}},
                                   {"simple", {nccl::Protocol::simple}}});
  return nested(
      Rows<Nccl>("nccl")
          .key<&Nccl::algorithms>("algorithm", algorithm, "As NCCL_ALGO")
          .tries({"ring", "tree", "nvls"})
          .key<&Nccl::protocols>("protocol", protocol, "As NCCL_PROTO")
          .key<&Nccl::version>("version", maybe(nccl_version()), "Release: 2.27")
          .usually("the topology's")
          .key<&Nccl::collnet>("collnet", maybe(boolean()), "Reduction in the network (SHARP)")
          .usually("false")
          .key<&Nccl::symmetric>("symmetric", maybe(boolean()), "Symmetric kernels")
          .usually("false")
          .key<&Nccl::calibration>("calibration", maybe(text()), "Calibration: a name, a file, or none")
          .usually("the topology's"));
}

Type<Gloo> gloo_rows() {
  return nested(Rows<Gloo>("gloo")
                    .key<&Gloo::process>("process_bandwidth", maybe(bandwidth()), "A process copies at")
                    .usually("1.29GB/s")
                    .key<&Gloo::cached>("cached_bandwidth", maybe(bandwidth()), "The same within the cache")
                    .usually("3.68GB/s")
                    .key<&Gloo::cache>("cache", maybe(size()), "Size of the cache")
                    .usually("32MiB")
                    .key<&Gloo::machine>("machine_bandwidth", maybe(bandwidth()), "All processes together")
                    .usually("no limit")
                    .key<&Gloo::reduction>("reduction_bandwidth", maybe(bandwidth()), "A process adds at")
                    .usually("12GB/s")
                    .key<&Gloo::copy>("copy_bandwidth", maybe(bandwidth()), "Between GPU and host")
                    .usually("the topology's PCIe")
                    .key<&Gloo::step_latency>("step_latency", maybe(time()), "Per step of the ring")
                    .usually("100us"));
}

// Some algorithms have one channel by nature, and for some nobody knows how many would do.
void check_channels(const Collective& collective, Algorithm algorithm, const Cursor& at) {
  if (!collective.channels) return;
  bool only_one = algorithm == Algorithm::halving_doubling || algorithm == Algorithm::nvls ||
                  algorithm == Algorithm::nvls_tree;
  if (only_one && *collective.channels != 1)
    refuse(at, "channels", fmt::format("'{}' has no channels", algorithm_name(algorithm)),
           "write channels: 1, or remove it");
  if (algorithm != Algorithm::ring && !*collective.channels)
    refuse(at, "channels",
           fmt::format("nothing says how many channels '{}' should have", algorithm_name(algorithm)),
           "say how many, or use algorithm: ring");
}

void check_backend(const Collective& collective, const Cursor& at) {
  const auto& backend = traits_of(collective.backend);
  if (collective.workers && !backend.has_several_in_flight)
    refuse(at, "workers", fmt::format("{}'s collectives run one after the other", backend.words),
           "remove 'workers', or write backend: gloo");
  if (collective.nccl && backend.backend != Backend::nccl)
    refuse(at, "nccl", fmt::format("{} does not do what NCCL would do", backend.words),
           "remove 'nccl', or write backend: nccl");
  if (collective.gloo && backend.backend != Backend::gloo)
    refuse(at, "gloo", fmt::format("{} does not do what Gloo would do", backend.words),
           "remove 'gloo', or write backend: gloo");
}

void check_measured(const Collective& collective, const Cursor& at) {
  if (!collective.measured) refuse(at, "", "algorithm 'measured' needs a table", "add 'measured: FILE'");
  if (collective.nccl)
    refuse(at, "nccl", "measured times ask nothing of NCCL's model",
           "remove 'nccl', or write algorithm: auto");
  if (collective.gloo)
    refuse(at, "gloo", "measured times ask nothing of Gloo's model",
           "remove 'gloo', or write algorithm: auto");
}

void check_collective(const Collective& collective, const Cursor& at) {
  check_backend(collective, at);
  bool is_auto = std::holds_alternative<Automatic>(collective.algorithm);
  const auto* plain = std::get_if<Algorithm>(&collective.algorithm);
  bool has_rings = is_auto || (plain && *plain == Algorithm::ring);
  if (!collective.rings.empty() && (!has_rings || collective.channels || collective.ring_order))
    refuse(at, "rings", "rings are given to algorithm: ring, instead of 'channels' and 'ring_order'",
           "write algorithm: ring, and remove the others");
  if (std::holds_alternative<Measured>(collective.algorithm)) {
    check_measured(collective, at);
    return;
  }
  bool reduces_in_switches = plain && (*plain == Algorithm::nvls || *plain == Algorithm::nvls_tree);
  if (collective.backend != Backend::nccl && reduces_in_switches)
    refuse(at, "algorithm", fmt::format("{} has no switches that reduce", backend_words(collective.backend)),
           "use algorithm: ring, or backend: nccl");
  // Beside an explicit algorithm the table waits for its turn on a sweep's axis; without one it was
  // forgotten.
  if (collective.measured && is_auto)
    refuse(at, "measured", "a table of measured times is only used with algorithm: measured",
           "write algorithm: measured");
  check_channels(collective, plain ? *plain : Algorithm::ring, at);
}

}  // namespace

Type<Collective> collective_rows() {
  using Choice = decltype(Collective::algorithm);
  config::Words<Choice> algorithms{{"auto", Automatic{}}};
  for (auto [name, one] : kAlgorithmNames) algorithms.emplace_back(name, one);
  algorithms.emplace_back("measured", Measured{});
  auto scale =
      nested(Rows<LinkScale>("scale")
                 .key<&LinkScale::latency>("latency", number(0, 1e3), "Times what one of no bytes takes")
                 .key<&LinkScale::bandwidth>("bandwidth", number(1e-3, 1e3),
                                             "Times the rate of what grows with size"));
  return nested(
      Rows<Collective>("collective")
          .key<&Collective::backend>("backend", word(kBackendNames), "Library")
          .key<&Collective::workers>("workers", maybe(whole(1, 64)), "Collectives in flight at once (Gloo)")
          .usually("2")
          .when(kGloo)
          .key<&Collective::algorithm>("algorithm", word<Choice>(algorithms),
                                       "auto: the library's own choice")
          .key<&Collective::channels>("channels",
                                      maybe(word_or("auto", whole(1, 64), "write auto, or 1 to 64")),
                                      "Rings or trees at once")
          .usually("1; `algorithm: auto`: as many as add bandwidth")
          .key<&Collective::ring_order>(
              "ring_order",
              maybe(word<RingOrder>({{"search", RingOrder::search}, {"ranks", RingOrder::ranks}})),
              "Order of the ranks in a ring")
          .usually("search")
          .key<&Collective::rings>("rings",
                                   list(list(whole(0, kLargestWorldSize - 1)),
                                        {1, "no rings", "give one list of ranks a ring, or remove 'rings'"}),
                                   "Rings as lists of ranks")
          .key<&Collective::measured>("measured", maybe(text()), "Table of measured times (CSV)")
          .usually("required with `algorithm: measured`")
          .key<&Collective::nccl>("nccl", maybe(nccl_rows()), "What NCCL may choose")
          .key<&Collective::gloo>("gloo", maybe(gloo_rows()), "What a machine gives Gloo")
          .key<&Collective::scale>("scale", scale, "What if collectives were slower or faster")
          .check(check_collective));
}

}  // namespace ddpsim::job
