#include "sim/cli/scenario_text.hpp"

#include <filesystem>

#include <fmt/core.h>

namespace ddpsim::cli {
namespace {

namespace fs = std::filesystem;
using config::Value;

class ScenarioWriter {
 public:
  ScenarioWriter(const std::string& from, const std::string& to)
      : from_(fs::path(from).parent_path()),
        to_(to == "-" ? fs::current_path() : fs::absolute(to).parent_path()) {}

  void write(const Value& map, const std::string& indent, std::string& text) const {
    for (const auto& [key, span, value] : map.entries) {
      if (value.kind == Value::Kind::map && !value.entries.empty()) {
        text += fmt::format("{}{}:\n", indent, key);
        write(value, indent + "  ", text);
      } else {
        text += fmt::format("{}{}: {}\n", indent, key, config::to_flow_text(moved(value)));
      }
    }
  }

 private:
  // What is no file stays as it is.
  [[nodiscard]] Value moved(Value value) const {
    for (auto& item : value.items) item = moved(item);
    for (auto& entry : value.entries) entry.value = moved(entry.value);
    if (value.kind != Value::Kind::scalar || fs::path(value.scalar).is_absolute()) return value;
    auto path = value.span.is_typed() ? fs::path(value.scalar) : from_ / value.scalar;
    std::error_code unreadable;
    if (!value.scalar.empty() && fs::is_regular_file(path, unreadable))
      value.scalar = fs::proximate(fs::absolute(path).lexically_normal(), to_).string();
    return value;
  }

  fs::path from_, to_;
};

}  // namespace

std::string scenario_text(const Value& root, const std::string& from, const std::string& to) {
  std::string text;
  ScenarioWriter(from, to).write(root, "", text);
  return text;
}

}  // namespace ddpsim::cli
