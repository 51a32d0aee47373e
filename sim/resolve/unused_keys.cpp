#include "sim/resolve/unused_keys.hpp"

#include <algorithm>
#include <map>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/overrides.hpp"
#include "sim/config/sweep_axes.hpp"

namespace ddpsim {
namespace {

std::string named(const std::string& path) {
  return path.find('.') == std::string::npos ? fmt::format("the section '{}'", path) : path;
}

[[noreturn]] void refuse(const UnusedKey& key) {
  throw InputError(key.place,
                   fmt::format("{} changes nothing here: it counts with {}", named(key.path), key.counts_in),
                   "remove it, or change the rest; in a scenario file it would be a note");
}

// Jobs that differ in one axis each from the one that the file describes.
std::vector<Job> jobs_of(config::Value root) {
  auto axes = config::take_sweep_axes(root);
  std::vector<Job> jobs{read_partial_job(root).job};
  for (const auto& axis : axes)
    for (const auto& value : axis.values) {
      auto changed = root;
      config::set_at(changed, axis.key, value, axis.span);
      try {
        jobs.push_back(read_partial_job(changed).job);
      } catch (const InputError&) {  // whoever simulates that point says so
      }
    }
  return jobs;
}

}  // namespace

void note_unused_keys(const GivenJob& given, Scenario& scenario) {
  std::map<std::string_view, std::vector<std::string>> keys;  // by where they count
  scenario.unused_keys = unused_keys(given);
  for (const auto& key : scenario.unused_keys) keys[key.counts_in].push_back(key.path);
  for (const auto& [counts_in, paths] : keys) {
    std::vector<std::string> names;
    for (const auto& path : paths) names.push_back(named(path));
    auto text =
        fmt::format("{} change{} nothing here: {} with {}", fmt::join(names, ", "),
                    names.size() == 1 ? "s" : "", names.size() == 1 ? "it counts" : "they count", counts_in);
    bool has_cap = std::ranges::find(paths, "ddp.bucket_cap") != paths.end();
    if (auto size = reduction_size(given.job); size && has_cap)
      text += fmt::format("; how much is reduced at once is {}", size->path);
    scenario.notes.push_back({"key-unused", std::move(text)});
  }
}

void refuse_unused_keys(const config::Value& root) {
  auto without_axes = root;
  GivenJob given;
  try {
    config::take_sweep_axes(without_axes);
    given = read_partial_job(without_axes);
  } catch (const InputError&) {  // whoever simulates it says so
    return;
  }
  auto unused = unused_keys(given);
  std::erase_if(unused, [](const UnusedKey& key) { return !key.place.is_typed(); });
  if (unused.empty()) return;
  auto jobs = jobs_of(root);
  for (const auto& key : unused)
    if (std::ranges::none_of(jobs, [&](const Job& job) { return counts(job, key.path); })) refuse(key);
}

void refuse_unused_keys(const Scenario& scenario) {
  for (const auto& key : scenario.unused_keys)
    if (key.place.is_typed()) refuse(key);
}

}  // namespace ddpsim
