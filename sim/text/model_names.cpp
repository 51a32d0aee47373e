#include "sim/text/model_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/letter_case.hpp"
#include "sim/base/suggest.hpp"
#include "sim/model/transformer.hpp"
#include "sim/text/hugging_face_keys.hpp"

namespace ddpsim {
namespace {

using NameWords = std::vector<std::string>;

constexpr std::size_t kLongestName = 200;
// How weights were trained, stored or converted.
constexpr std::array kEndings{"instruct", "it",       "chat", "base", "hf",      "pt",      "sft",
                              "dpo",      "thinking", "fp8",  "bf16", "deduped", "uncased", "original"};

bool is_number(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c) != 0; });
}

// "meta-llama/Llama-3.1-8B": llama, 3, 1, 8b.
NameWords words_of(std::string_view written) {
  if (auto slash = written.rfind('/'); slash != std::string_view::npos) written.remove_prefix(slash + 1);
  NameWords words(1);
  for (char c : written) {
    if (c == '.' || c == '-' || c == '_' || c == ' ')
      words.emplace_back();
    else
      words.back() += lower_case(c);
  }
  std::erase(words, "");
  return words;
}

std::string joined(const NameWords& words) {
  return fmt::format("{}", fmt::join(words, "-"));
}

// A date ("2507"), or a version: "v1", "v0.1".
bool take_version(NameWords& words) {
  auto is_version = [](const std::string& word) {
    return word.starts_with('v') && is_number(std::string_view(word).substr(1));
  };
  auto n = words.size();
  if (n > 1 && (is_version(words[n - 1]) || (is_number(words[n - 1]) && words[n - 1].size() == 4))) {
    words.pop_back();
    return true;
  }
  if (n > 2 && is_number(words[n - 1]) && is_version(words[n - 2])) {
    words.resize(n - 2);
    return true;
  }
  return false;
}

// What may be meant, the likeliest first: as it is written, with fewer and fewer endings, without a version.
std::vector<std::string> readings_of(std::string_view written) {
  std::vector<NameWords> all{words_of(written)};
  auto fewer = all.front();
  for (auto at = fewer.size(); at-- > 1;)
    if (std::ranges::count(kEndings, fewer[at]) > 0) {
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(at));
      all.push_back(fewer);
    }
  for (std::size_t i = 0, n = all.size(); i < n; ++i)
    for (auto bare = all[i]; take_version(bare);) all.push_back(bare);
  std::vector<std::string> readings;
  for (const auto& words : all) readings.push_back(joined(words));
  return readings;
}

struct Known {
  std::string spelled, written, name;
};

std::vector<Known> known_of(std::span<const std::string> names) {
  std::vector<Known> all;
  auto add = [&](const std::string& written, const std::string& name) {
    all.push_back({joined(words_of(written)), written, name});
  };
  for (const auto& name : names) add(name, name);
  for (const auto& name : names)
    for (const auto& alias : transformer_aliases(name)) add(alias, name);
  return all;
}

}  // namespace

std::optional<std::string> name_meant_by(std::string_view written, std::span<const std::string> names) {
  bool is_path = std::ranges::count(written, '/') > 1;
  if (written.empty() || written.size() > kLongestName || is_path) return std::nullopt;
  if (std::ranges::count(names, written) > 0) return std::string(written);
  auto known = known_of(names);
  for (const auto& reading : readings_of(written)) {
    auto found = std::ranges::find(known, reading, &Known::spelled);
    if (found != known.end()) return found->name;
  }
  return std::nullopt;
}

std::string did_you_mean_model(std::string_view written, std::span<const std::string> names) {
  if (written.size() > kLongestName) return "";
  auto known = known_of(names);
  std::vector<std::string> spelled;
  for (const auto& one : known) spelled.push_back(one.spelled);
  // With fewer endings what is left tells more.
  auto readings = readings_of(written);
  auto best = closest(readings.back(), spelled);
  if (!best) best = closest(readings.front(), spelled);
  if (!best) return "";
  return fmt::format("; did you mean '{}'?", std::ranges::find(known, *best, &Known::spelled)->written);
}

std::optional<std::string> why_not_modelled(std::string_view written) {
  for (const auto& word : words_of(written))
    if (auto what = hugging_face::other_family(word))
      return fmt::format(
          "'{}' is {}, not one stack of attention blocks: give it as a list of layers (kind: model)", word,
          *what);
  return std::nullopt;
}

bool looks_like_file(std::string_view written) {
  if (written.starts_with('.') || written.starts_with('/')) return true;
  for (const char* ending : {".yaml", ".yml", ".json", ".csv", ".sh", ".txt", "/"})
    if (written.ends_with(ending)) return true;
  return false;
}

}  // namespace ddpsim
