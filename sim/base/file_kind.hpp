#pragma once
// What a file is by its first bytes, for whoever was given one of another kind: the hint is the command that
// takes it. One table for all readers, whatever they read.
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ddpsim {

struct FileKind {
  std::string_view name;                  // "a trace of the PyTorch profiler"
  std::string_view format;                // what --format calls it; empty: nothing
  bool (*is)(std::string_view head);      // of the first kKindBytes
  std::string_view command;               // that takes it, FILE in place of its path; or what to do instead
  std::vector<std::string_view> read_as;  // contents, as load_text() is told them, that it may stand for
};

inline constexpr std::size_t kKindBytes = std::size_t{64} << 10;

// The first that fits; null: none that is known.
const FileKind* kind_of(std::string_view head);

// Its command for that file.
std::string command_for(const FileKind& kind, const std::string& path);

// What --format calls the file. Throws InputError for a file that cannot be read, for one of another kind
// than these formats', an unknown one, and what is no regular file (looking at it would use it up). `what`:
// these formats.
std::string format_of(const std::string& path, std::span<const std::string> formats, std::string_view what);

// Throws InputError for a file of a kind that does not stand for `what`; unknown ones and unknown contents
// pass.
void check_kind(const std::string& path, std::string_view head, std::string_view what);

}  // namespace ddpsim
