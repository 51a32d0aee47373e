#include "sim/study/job_key.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <fmt/core.h>

#include "sim/result/run_info.hpp"
#include "sim/text/presets.hpp"

namespace ddpsim {
namespace {

namespace fs = std::filesystem;

std::string hash_of(const std::string& text) {
  return boost::uuids::to_string(boost::uuids::name_generator_sha1(boost::uuids::ns::oid())(text));
}

// In one order, and with lengths, so that no text looks like another one's lines.
std::string text_of(std::vector<std::pair<std::string, std::string>> lines) {
  std::ranges::sort(lines);
  std::string text;
  for (const auto& [path, line] : lines) text += fmt::format("{}={}:{}\n", path, line.size(), line);
  return text;
}

std::string key_of(const char* kind, std::vector<std::pair<std::string, std::string>> lines) {
  return hash_of(fmt::format("ddpsim {} {}\n{}", tool_info().version, kind, text_of(std::move(lines))));
}

}  // namespace

void JobKeys::add(const config::Value& value, const std::string& path, const std::string& file,
                  Lines& lines) {
  switch (value.kind) {
    case config::Value::Kind::null:
      lines.emplace_back(path, "nothing");
      break;
    case config::Value::Kind::scalar:
      lines.emplace_back(path, "=" + value.scalar + named(value.scalar, file, value.span.is_typed()));
      break;
    case config::Value::Kind::sequence:
      for (std::size_t i = 0; i < value.items.size(); ++i)
        add(value.items[i], fmt::format("{}[{}]", path, i), file, lines);
      lines.emplace_back(path, fmt::format("{} items", value.items.size()));
      break;
    case config::Value::Kind::map:
      if (value.entries.empty()) lines.emplace_back(path, "no keys");
      for (const auto& [key, span, below] : value.entries)
        add(below, fmt::format("{}/{}:{}", path, key.size(), key), file, lines);
      break;
  }
}

const std::string& JobKeys::fingerprint(const std::string& path) {
  auto [known, is_new] = fingerprints_.try_emplace(path);
  std::error_code unreadable;
  if (!is_new || !fs::is_regular_file(path, unreadable)) return known->second;
  std::string text;
  try {
    auto loaded = load_text(path, "an input");
    text = loaded.text;
    if (path.ends_with(".yaml")) {
      Lines lines;
      add(config::parse_yaml(loaded, "an input"), "", path, lines);
      text += text_of(std::move(lines));
    }
  } catch (const InputError&) {
    // Whoever reads it for a job says what is wrong.
  }
  return fingerprints_[path] = hash_of(text);
}

std::string JobKeys::named(const std::string& word, const std::string& file, bool from_command_line) {
  auto folder = from_command_line ? fs::path() : fs::path(file).parent_path();
  auto [known, is_new] = named_.try_emplace(folder.string() + '\n' + word);
  if (!is_new || word.empty()) return known->second;
  std::string found = fingerprint((folder / word).lexically_normal().string());
  auto add = [&](PresetKind kind, const std::string& name) {
    if (auto preset = find_preset(kind, name)) found += fingerprint(*preset);
  };
  if (found.empty() && word.find_first_of("/.") == std::string::npos)
    for (auto kind : {PresetKind::topologies, PresetKind::gpus, PresetKind::software, PresetKind::fabrics})
      add(kind, word);
  if (found.empty())
    if (auto model = preset_meant_by(PresetKind::models, word)) add(PresetKind::models, *model);
  return named_[folder.string() + '\n' + word] = found.empty() ? "" : " " + found;
}

std::string JobKeys::key(const config::Value& scenario) {
  try {
    return key(read_job(scenario));
  } catch (const InputError&) {
    Lines lines;
    add(scenario, "", file_, lines);
    return key_of("text", std::move(lines));
  }
}

std::string JobKeys::key(const GivenJob& given) {
  Lines lines;
  add(write_used(given), "", file_, lines);
  return key_of("job", std::move(lines));
}

std::string JobKeys::key(const config::Value& scenario, const std::vector<config::SweepAxis>& axes) {
  Lines lines;
  const char* kind = "study";
  try {
    auto given = read_partial_job(scenario);
    add(write_given(given), "", file_, lines);
    for (const auto& [path, place] : given.places.all()) lines.emplace_back("given " + path, "");
  } catch (const InputError&) {
    kind = "text of a study";
    add(scenario, "", file_, lines);
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    config::Value values;
    values.kind = config::Value::Kind::sequence;
    values.items = axes[i].values;
    add(values, fmt::format("axis {} {}", i, axes[i].key), file_, lines);
  }
  return key_of(kind, std::move(lines));
}

}  // namespace ddpsim
