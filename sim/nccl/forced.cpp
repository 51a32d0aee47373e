#include "sim/nccl/forced.hpp"

#include <fmt/core.h>

#include "sim/nccl/constants.hpp"
#include "sim/nccl/tuner.hpp"

namespace ddpsim::nccl {
namespace {

constexpr const char* kRings = "force ring, which does all of them";

// An operation that the algorithm is not made for.
std::optional<Refusal> wrong_operation(Algorithm algorithm, Operation operation) {
  if (algorithm == Algorithm::ring) return std::nullopt;
  bool all_reduces = traits_of(operation).least == BufferShare::whole;
  bool only_all_reduces = algorithm == Algorithm::tree || algorithm == Algorithm::nvls_tree ||
                          algorithm == Algorithm::collnet_chain;
  if (all_reduces ? algorithm == Algorithm::pat : !is_in_parts(operation) || only_all_reduces)
    return Refusal{fmt::format("NCCL has no {} for {}s", name(algorithm), traits_of(operation).words), kRings,
                   true};
  return std::nullopt;
}

Refusal wrong_nvls(const Communicator& c, Algorithm algorithm, Operation operation) {
  if (!c.nvls)
    return {fmt::format("{} needs NVLink switches that reduce, and these GPUs have none", name(algorithm)),
            "they come with Hopper (multicast: true); NCCL uses them from three GPUs of a node on"};
  if (algorithm == Algorithm::nvls_tree)
    return {"nvls_tree joins the switches of several nodes, and here is one", "force nvls"};
  if (c.nodes == 1)
    return {fmt::format("NCCL {} has no nvls for {}s of {} GPUs", name(c.version), traits_of(operation).words,
                        c.ranks),
            kRings};
  return {fmt::format("nvls for {}s on {} nodes needs a network that reduces too", traits_of(operation).words,
                      c.nodes),
          traits_of(operation).least == BufferShare::whole
              ? "force nvls_tree, or add --collnet where the network has SHARP"
              : "force ring, or add --collnet where the network has SHARP"};
}

Refusal wrong_collnet(const Communicator& c, const Allowed& allowed, Algorithm algorithm) {
  if (!allowed.collnet)
    return {fmt::format("{} needs a network that reduces", name(algorithm)),
            "add --collnet where the network has SHARP"};
  return {fmt::format("{} is not possible among these GPUs", name(algorithm)),
          c.nodes == 1 ? "it is for several nodes" : "it needs NVLink, and 8 GPUs a node at most"};
}

Refusal wrong_machine(const Communicator& c, const Allowed& allowed, Algorithm algorithm,
                      Operation operation) {
  switch (algorithm) {
    case Algorithm::nvls:
    case Algorithm::nvls_tree:
      return wrong_nvls(c, algorithm, operation);
    case Algorithm::collnet_direct:
    case Algorithm::collnet_chain:
      return wrong_collnet(c, allowed, algorithm);
    case Algorithm::pat:
      if (constants(c.version).pat_share <= 0)
        return {fmt::format("NCCL {} has no pat", name(c.version)), "2.23 and later have it"};
      return {"pat is for one GPU a node", kRings};
    default:
      return {fmt::format("{} is not possible among these GPUs", name(algorithm)), kRings};
  }
}

}  // namespace

std::optional<Refusal> refusal_of(const Communicator& communicator, const Allowed& allowed,
                                  Operation operation) {
  if (!Tuner(communicator, allowed, {operation}).candidates().empty()) return std::nullopt;
  auto algorithm = allowed.algorithms.empty() ? Algorithm::ring : allowed.algorithms.front();
  if (auto refusal = wrong_operation(algorithm, operation)) return refusal;
  auto any_protocol = allowed;
  any_protocol.protocols.clear();
  bool is_protocol = !Tuner(communicator, any_protocol, {operation}).candidates().empty();
  if (is_protocol && !allowed.protocols.empty())
    return Refusal{
        fmt::format("NCCL has no {} with the protocol {}", name(algorithm), name(allowed.protocols.front())),
        "force the protocol simple, which every algorithm has"};
  return wrong_machine(communicator, allowed, algorithm, operation);
}

}  // namespace ddpsim::nccl
