#pragma once
// What libFuzzer's targets have in common. A reader may refuse a text with an InputError; any other
// exception, a crash, a leak or more than -timeout seconds is a finding.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <sys/mman.h>
#include <unistd.h>

#include "sim/base/source.hpp"

namespace ddpsim::fuzzing {

inline std::string_view view_of(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

// Text of our own as a LoadedText; what is fuzzed comes from a FuzzedFile, whose NUL bytes load_text refuses.
inline LoadedText loaded(std::string_view text) {
  return {make_source("fuzzed", text), std::string(text)};
}

// A file in memory that holds the text, for readers that take paths.
class FuzzedFile {
 public:
  explicit FuzzedFile(std::string_view text) {
    static const int descriptor = memfd_create("fuzzed", 0);
    if (descriptor < 0 || ftruncate(descriptor, 0) != 0 ||
        pwrite(descriptor, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
      std::abort();
    path_ = "/proc/self/fd/" + std::to_string(descriptor);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Calls what reads the text; an InputError is an answer.
template <class Read>
void expect_answer(Read&& read) {
  try {
    read();
  } catch (const InputError&) {
  }
}

// Fails unless the program keeps its promise.
inline void promise(bool kept) {
  if (!kept) std::abort();
}

}  // namespace ddpsim::fuzzing
