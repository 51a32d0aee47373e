#include "sim/nccl/names.hpp"

#include <array>

namespace ddpsim::nccl {
namespace {

template <std::size_t n, class Word>
std::string_view word(const std::array<std::string_view, n>& words, Word value) {
  return words.at(static_cast<std::size_t>(value));
}

}  // namespace

std::string_view name(Version version) {
  return word(std::array<std::string_view, 3>{"2.21.5", "2.27.6", "2.30.7"}, version);
}

std::string_view name(Gpu gpu) {
  return word(std::array<std::string_view, 5>{"volta", "ampere", "ada", "hopper", "blackwell"}, gpu);
}

std::string_view name(Algorithm algorithm) {
  return word(std::array<std::string_view, kAlgorithms>{"tree", "ring", "nvls", "nvls_tree"}, algorithm);
}

std::string_view name(Protocol protocol) {
  return word(std::array<std::string_view, kProtocols>{"ll", "ll128", "simple"}, protocol);
}

}  // namespace ddpsim::nccl
