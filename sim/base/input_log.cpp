#include "sim/base/input_log.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include <sha2.h>

#include "sim/base/check.hpp"

namespace ddpsim {
namespace {

thread_local InputLog* log_of_thread = nullptr;

std::string sha256(std::string_view text) {
  std::array<char, SHA256_DIGEST_STRING_LENGTH> digits{};
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  DDPSIM_CHECK(SHA256Data(bytes, text.size(), digits.data()) != nullptr, "a hash of what is in memory");
  return digits.data();
}

}  // namespace

InputLog::InputLog() {
  DDPSIM_CHECK(log_of_thread == nullptr, "one log of inputs at a time");
  log_of_thread = this;
}

InputLog::~InputLog() {
  log_of_thread = nullptr;
}

void InputLog::add(const std::string& path, std::string_view text) {
  auto plain = std::filesystem::path(path).lexically_normal().string();
  bool is_known =
      std::any_of(files_.begin(), files_.end(), [&](const auto& one) { return one.path == plain; });
  if (!is_known) files_.push_back({plain, text.size(), sha256(text)});
}

void log_input(const std::string& path, std::string_view text) {
  if (log_of_thread) log_of_thread->add(path, text);
}

}  // namespace ddpsim
