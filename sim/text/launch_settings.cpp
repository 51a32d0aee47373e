#include "sim/text/launch_settings.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/overrides.hpp"
#include "sim/config/reader.hpp"

namespace ddpsim {
namespace {

using config::Entry;
using config::Value;

// 5e8 and 500000000 are the same.
bool is_same_value(const Value& a, const Value& b) {
  if (a == b) return true;
  if (a.kind != Value::Kind::scalar || b.kind != Value::Kind::scalar) return false;
  try {
    return config::as_number(-1e300, 1e300)(a) == config::as_number(-1e300, 1e300)(b);
  } catch (const InputError&) {
    return false;
  }
}

bool has_typed(const Value& value) {
  if (value.kind != Value::Kind::map) return value.span.is_typed();
  return std::ranges::any_of(value.entries, [](const Entry& entry) { return has_typed(entry.value); });
}

// All but what the command line says.
void keep_typed(Value& map) {
  std::erase_if(map.entries, [](const Entry& entry) { return !has_typed(entry.value); });
  for (auto& entry : map.entries)
    if (entry.value.kind == Value::Kind::map) keep_typed(entry.value);
}

// "workload.model" is around "workload.model.hidden".
bool is_around(std::string_view section, std::string_view key) {
  return key.size() > section.size() && key.starts_with(section) && key[section.size()] == '.';
}

Value* find_in(Value& root, std::string_view path) {
  return const_cast<Value*>(config::find_at(root, path));  // NOLINT: `root` may be changed
}

}  // namespace

std::string place_of(const SourceSpan& span) {
  return span.file ? fmt::format("{}:{}:{}", span.file->name, span.line, span.column) : "the command line";
}

const Value* LaunchSettings::find(std::string_view key) const {
  const auto* value = config::find_at(root_, key);
  return value && value->kind != Value::Kind::null ? value : nullptr;
}

bool LaunchSettings::is_typed(std::string_view key) const {
  const auto* value = find(key);
  return value && has_typed(*value);
}

bool LaunchSettings::is_swept(std::string_view key) const {
  const auto* sweep = sweeps_ ? root_.find("sweep") : nullptr;
  return sweep && sweep->value.find(key);
}

// The closest thing at or around a key that is no map.
const Value* LaunchSettings::stands_at(std::string_view key) const {
  for (auto dot = key.find('.'); dot != std::string_view::npos; dot = key.find('.', dot + 1))
    if (const auto* value = find(key.substr(0, dot)); value && value->kind != Value::Kind::map) return value;
  return find(key);
}

void LaunchSettings::keep(const std::string& what, const Value& value) {
  kept_.push_back(fmt::format("{} (not {}, of {})", what, config::text_of(value), place_of(value.span)));
}

// A word or a list where a section is to be.
void LaunchSettings::make_way(const std::string& key) {
  for (auto dot = key.find('.'); dot != std::string::npos; dot = key.find('.', dot + 1)) {
    auto around = key.substr(0, dot);
    const auto* value = find(around);
    if (value && value->kind != Value::Kind::map) remove(around);
  }
}

void LaunchSettings::remove(const std::string& key) {
  sweep_stays(key, nullptr);
  auto* value = find_in(root_, key);
  if (!value || value->kind == Value::Kind::null) return;
  if (value->kind == Value::Kind::map) {
    bool had = !value->entries.empty();
    keep_typed(*value);
    if (value->entries.empty() && had) replaced_.push_back(key);
    if (!value->entries.empty()) return;
  } else {
    if (value->span.is_typed()) return;
    replaced_.push_back(fmt::format("{} {}", key, config::text_of(*value)));
  }
  auto dot = key.rfind('.');
  auto* around = dot == std::string::npos ? &root_ : find_in(root_, key.substr(0, dot));
  std::erase_if(around->entries, [&](const Entry& entry) {
    return entry.key == (dot == std::string::npos ? key : key.substr(dot + 1));
  });
}

bool LaunchSettings::sweep_stays(const std::string& key, const Value* value) {
  auto* sweep = sweeps_ ? root_.find("sweep") : nullptr;
  if (!sweep) return false;
  auto is_of_key = [&](const Entry& axis) {
    return axis.key == key || is_around(axis.key, key) || is_around(key, axis.key);
  };
  bool stays = false;
  for (const auto& axis : sweep->value.entries) {
    if (!is_of_key(axis)) continue;
    if (axis.value.span.is_typed()) {
      stays = true;
      if (value) keep(fmt::format("sweep over {}", axis.key), *value);
    } else {
      replaced_.push_back(fmt::format("sweep over {}", axis.key));
    }
  }
  std::erase_if(sweep->value.entries,
                [&](const Entry& axis) { return is_of_key(axis) && !axis.value.span.is_typed(); });
  return stays;
}

void LaunchSettings::set(const std::string& key, Value value) {
  // A word of the same file is said anew.
  const auto* own = stands_at(key);
  if (own && own->span.file != value.span.file && !is_same_value(*own, value)) {
    auto said = fmt::format("{} {}", key, config::text_of(*own));
    if (has_typed(*own)) return keep(said, value);
    if (is_in(files_, own->span.file))
      note("launch-replaces",
           fmt::format("{}: stands instead of {}, of {}", place_of(value.span), said, place_of(own->span)));
    else
      replaced_.push_back(said);
  }
  if (sweep_stays(key, &value)) return;
  make_way(key);
  if (value.span.file && !is_in(files_, value.span.file)) files_.push_back(value.span.file);
  auto place = value.span;
  config::set_at(root_, key, std::move(value), place);
}

std::vector<Note> LaunchSettings::notes(const SourceSpan& place) const {
  auto notes = notes_;
  auto add = [&](const char* code, std::vector<std::string> what, const char* text) {
    if (what.empty()) return;
    std::vector<std::string> once;
    for (auto& one : what)
      if (!is_in(once, one)) once.push_back(std::move(one));
    what = std::move(once);
    notes.push_back({code, fmt::format("{}: {}", place.file ? place.file->name : "",
                                       fmt::format(fmt::runtime(text), fmt::join(what, ", ")))});
  };
  add("launch-replaces", replaced_, "stands instead of the scenario's {}");
  add("launch-overridden", kept_, "gives way to the command line's {}");
  add("launch-open", open_,
      "the training script fills in \"auto\"; simulated as if the file did not have it: {}");
  add("launch-left-out", left_out_, "simulated as if it were not there: {}");
  add("launch-ignored", ignored_, "changes nothing here: {}");
  return notes;
}

}  // namespace ddpsim
