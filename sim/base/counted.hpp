#pragma once
#include <concepts>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace ddpsim {

// "1 GPU", "2 GPUs", "2 batches"
std::string counted(std::integral auto count, std::string_view word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : word.ends_with("ch") ? "es" : "s");
}

}  // namespace ddpsim
