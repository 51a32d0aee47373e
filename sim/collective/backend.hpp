#pragma once
#include <string_view>

namespace ddpsim {

// Who carries collectives out.
enum class Backend { nccl, gloo };

inline std::string_view backend_name(Backend backend) {
  return backend == Backend::gloo ? "gloo" : "nccl";
}

}  // namespace ddpsim
