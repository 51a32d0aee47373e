#pragma once
#include <algorithm>
#include <array>
#include <string_view>

#include "sim/base/names.hpp"

namespace ddpsim {

// Who carries collectives out.
enum class Backend { nccl, gloo, mpi };

struct BackendTraits {
  Backend backend;
  std::string_view name, words;  // in files and options; in sentences
  bool has_several_in_flight;    // of a group, on threads of its own
  std::string_view runs_on;      // where `validate` starts it; "": nowhere
};
inline constexpr std::array kBackends{BackendTraits{Backend::nccl, "nccl", "NCCL", false, "GPU"},
                                      BackendTraits{Backend::gloo, "gloo", "Gloo", true, "CPU"},
                                      BackendTraits{Backend::mpi, "mpi", "MPI", false, ""}};
static_assert(has_each_in_order(kBackends, &BackendTraits::backend, Backend::mpi));

constexpr const BackendTraits& traits_of(Backend backend) {
  return kBackends.at(static_cast<std::size_t>(backend));
}
inline constexpr auto kBackendNames = [] {
  Names<Backend, kBackends.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = {kBackends[i].name, kBackends[i].backend};
  return names;
}();
// Of those that `validate` starts.
inline constexpr auto kRealBackendNames = [] {
  constexpr auto is_real = [](const BackendTraits& row) { return !row.runs_on.empty(); };
  Names<Backend, std::count_if(kBackends.begin(), kBackends.end(), is_real)> names;
  std::size_t next = 0;
  for (const auto& row : kBackends)
    if (is_real(row)) names[next++] = {row.name, row.backend};
  return names;
}();

constexpr std::string_view backend_name(Backend backend) {
  return traits_of(backend).name;
}
constexpr std::string_view backend_words(Backend backend) {
  return traits_of(backend).words;
}

}  // namespace ddpsim
