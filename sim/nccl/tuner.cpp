#include "sim/nccl/tuner.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/base/source.hpp"
#include "sim/nccl/constants.hpp"
#include "sim/nccl/tuner_formulas.hpp"

namespace ddpsim::nccl {
namespace {

template <class Word>
bool contains(const std::vector<Word>& words, Word word) {
  return words.empty() || std::find(words.begin(), words.end(), word) != words.end();
}

// device.h: ncclNvlsSupported. Gathers reduce nothing.
bool switch_reduces(Collective collective) {
  return !reduces(collective.operation) ||
         (collective.element != Element::int8 && collective.element != Element::float8);
}

// What NCCL lets its tuner choose from on this machine.
class Possible {
 public:
  Possible(const Communicator& communicator, const Allowed& allowed, Collective collective)
      : c_(communicator),
        allowed_(allowed),
        collective_(collective),
        k_(constants(communicator.version)),
        all_reduces_(traits_of(collective.operation).least == BufferShare::whole),
        gathers_(is_in_parts(collective.operation)),
        collnet_(allowed.collnet && c_.collnet_heads > 0 && c_.nodes > 1) {}

  [[nodiscard]] bool operator()(Algorithm algorithm, Protocol protocol) const {
    if (!contains(allowed_.algorithms, algorithm) || !is_enabled(protocol)) return false;
    if (algorithm == Algorithm::ring) return true;
    if (algorithm == Algorithm::tree) return all_reduces_ && (!only_rings() || protocol == Protocol::ll);
    return protocol == Protocol::simple && (all_reduces_ || gathers_) && fits_machine(algorithm);
  }

 private:
  [[nodiscard]] bool fits_machine(Algorithm algorithm) const {
    switch (algorithm) {
      case Algorithm::collnet_direct:
        return collnet_direct();
      case Algorithm::collnet_chain:
        return collnet_ && all_reduces_;
      case Algorithm::nvls:
        return nvls();
      case Algorithm::nvls_tree:
        return all_reduces_ && c_.nodes > 1 && switch_takes_part() && !only_rings();
      case Algorithm::pat:
        return gathers_ && k_.pat_share > 0 && c_.ranks == c_.nodes;
      default:
        return false;
    }
  }

  // What carries large messages between racks, unless algorithms are named: NVLSTree and trees are estimated
  // to take less, but three operators' tables there are rings', 2 racks of 64 GPUs (CoreWeave, OCI) and 20 of
  // 72 (CoreWeave). One of their jobs sets NCCL_NVLS_ENABLE=0. Small messages, which nobody measured, may
  // take trees.
  [[nodiscard]] bool only_rings() const { return c_.joins_racks && allowed_.algorithms.empty(); }
  [[nodiscard]] bool is_enabled(Protocol protocol) const {
    if (!allowed_.protocols.empty()) return contains(allowed_.protocols, protocol);
    bool ll128 = (c_.nvlink || c_.ranks == c_.nodes) && has_ll128(c_.version, c_.gpu);
    return protocol != Protocol::ll128 || ll128;
  }

  [[nodiscard]] bool switch_takes_part() const { return c_.nvlink && switch_reduces(collective_); }

  [[nodiscard]] bool nvls() const {
    if (!switch_takes_part()) return false;
    if (!gathers_) return c_.nodes == 1 || collnet_;
    if (c_.nodes == 1) return c_.ranks <= k_.nvls_heads;
    return k_.collnet_gather == Constants::CollnetGather::narrower && collnet_gathers();
  }

  // init.cc sets its buffers up for NCCL_MAX_DIRECT_ARITY + 1 GPUs a node at most.
  [[nodiscard]] bool collnet_direct() const {
    return collnet_ && c_.nvlink && c_.ranks <= 8 * c_.nodes && (all_reduces_ || collnet_gathers());
  }

  // Every GPU has a NIC of its own in the network that reduces.
  [[nodiscard]] bool collnet_gathers() const {
    return collnet_ && k_.collnet_gather != Constants::CollnetGather::none &&
           c_.collnet_heads * c_.nodes >= c_.ranks;
  }

  const Communicator& c_;
  const Allowed& allowed_;
  Collective collective_;
  const Constants& k_;
  bool all_reduces_, gathers_, collnet_;
};

// With channels as fast as they run.
Communicator as_run(Communicator communicator) {
  auto speed_up = [](Graph& graph) {
    graph.intra *= graph.gain;
    graph.inter *= graph.gain;
  };
  speed_up(communicator.ring);
  speed_up(communicator.tree);
  if (communicator.nvls) speed_up(*communicator.nvls);
  return communicator;
}

int channels_of(const Communicator& communicator, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::ring:
    case Algorithm::collnet_chain:
      return communicator.ring.channels;
    case Algorithm::tree:
    case Algorithm::pat:
      return communicator.tree.channels;
    case Algorithm::collnet_direct:
      return collnet_direct_channels(communicator);
    case Algorithm::nvls:
    case Algorithm::nvls_tree:
      return communicator.nvls->channels;
    case Algorithm::symmetric:
    case Algorithm::symmetric_multicast:
      break;
  }
  return 0;
}

}  // namespace

Tuner::Tuner(const Communicator& communicator, const Allowed& allowed, Collective collective)
    : communicator_(communicator), collective_(collective), known_(&constants(communicator.version)) {
  DDPSIM_CHECK(communicator.ranks > 1 && communicator.ranks >= communicator.nodes, "two ranks, one a node");
  DDPSIM_CHECK(!sends_directly(collective.operation), "an operation that NCCL tunes");
  TunerFormulas formulas(communicator_, collective.operation);
  auto running = as_run(communicator_);
  TunerFormulas as_it_runs(running, collective.operation);
  Possible possible(communicator_, allowed, collective);
  for (const auto& [algorithm_name, algorithm] : kAlgorithmNames)
    for (auto protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
      if (!possible(algorithm, protocol)) continue;
      double algbw = formulas.algbw(algorithm, protocol);
      if (algbw <= 0) continue;
      candidates_.push_back({algorithm, protocol, channels_of(communicator_, algorithm),
                             Seconds(formulas.latency(algorithm, protocol) * 1e-6),
                             BytesPerSecond(algbw * 1e9),
                             BytesPerSecond(as_it_runs.algbw(algorithm, protocol) * 1e9)});
    }
}

Seconds Tuner::time(const Candidate& candidate, Bytes bytes) const {
  return time_at(candidate.rate, candidate, bytes);
}

Seconds Tuner::time_at(BytesPerSecond algbw, const Candidate& candidate, Bytes bytes) const {
  const auto& c = communicator_;
  auto latency = candidate.latency;
  bool all_reduces = traits_of(collective_.operation).least == BufferShare::whole;
  bool corrected_nvls_tree = candidate.algorithm == Algorithm::nvls_tree && known_->corrects_nvls_tree &&
                             c.gpu >= Gpu::blackwell && (c.cpu == Cpu::intel || c.cpu == Cpu::amd);
  if (candidate.algorithm == Algorithm::tree || corrected_nvls_tree)
    algbw = algbw * tree_correction(*known_, candidate.protocol, bytes);
  // "Plateau effect of ring": connect.cc gives a communicator twice the channels of its graph.
  bool on_plateau = bytes.value() / (2.0 * c.ring.channels * c.ranks) >= 64;
  if (all_reduces && candidate.algorithm == Algorithm::ring && candidate.protocol == Protocol::simple &&
      c.nodes > 1 && on_plateau)
    latency = latency * (c.gpu == Gpu::volta ? 1.9 : 1.4);
  return latency + bytes / algbw;
}

const Candidate& Tuner::choose(Bytes bytes) const {
  DDPSIM_CHECK(!candidates_.empty(), "something is allowed");
  auto counted = [&](const Candidate& candidate) { return time_at(candidate.algbw, candidate, bytes); };
  return *std::min_element(candidates_.begin(), candidates_.end(),
                           [&](const auto& a, const auto& b) { return counted(a) < counted(b); });
}

const Candidate* Tuner::find(Algorithm algorithm, Protocol protocol) const {
  auto found = std::find_if(candidates_.begin(), candidates_.end(), [&](const Candidate& candidate) {
    return candidate.algorithm == algorithm && candidate.protocol == protocol;
  });
  return found == candidates_.end() ? nullptr : &*found;
}

Tuner require_candidates(Tuner tuner) {
  if (tuner.candidates().empty())
    throw InputError(
        "NCCL has no way to do that among these GPUs",
        "nvls needs NVLink switches that reduce (multicast: true), Hopper GPUs or newer, more than "
        "two of them a node, and the protocol simple");
  return tuner;
}

}  // namespace ddpsim::nccl
