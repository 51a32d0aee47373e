#include "sim/cli/preset_option.hpp"

#include <filesystem>

#include "sim/base/source.hpp"

namespace ddpsim::cli {

std::string preset_path(PresetKind kind, const std::string& option, const std::string& given) {
  std::error_code unreadable;
  auto status = std::filesystem::status(given, unreadable);
  // A folder may have a preset's name; a pipe is as good as a file.
  if (std::filesystem::exists(status) && !std::filesystem::is_directory(status)) return given;
  config::Value word{config::Value::Kind::scalar, whole_file(make_source(option, given)), given, {}, {}};
  return preset_file(kind, word).value_or(given);
}

}  // namespace ddpsim::cli
