#pragma once
// What tells the jobs of a study apart: a key that is the same wherever and whenever a job is run.
#include <map>
#include <string>
#include <vector>

#include "sim/config/sweep_axes.hpp"
#include "sim/config/value.hpp"
#include "sim/job/rows/table.hpp"

namespace ddpsim {

// A hash (a version-5 UUID) of what a scenario says, in whatever words, and of what is in the files and
// presets that it names. Files that an earlier key needed are not read again.
class JobKeys {
 public:
  // Paths in scenarios are relative to the folder of `file`.
  explicit JobKeys(std::string file) : file_(std::move(file)) {}
  // Of a job: of the keys that count in it and are not as they would be without a word. Of a scenario that is
  // no job: of its text. `scenario` is without its sweep section.
  [[nodiscard]] std::string key(const config::Value& scenario);
  [[nodiscard]] std::string key(const GivenJob& given);
  // Of a study: of which keys are given too, since a point may be refused for one that says the default.
  [[nodiscard]] std::string key(const config::Value& scenario, const std::vector<config::SweepAxis>& axes);

 private:
  using Lines = std::vector<std::pair<std::string, std::string>>;  // "/7:cluster/10:world_size", "64"
  void add(const config::Value& value, const std::string& path, const std::string& file, Lines& lines);
  // Of what the file holds and names; empty: there is no such file.
  const std::string& fingerprint(const std::string& path);
  std::string named(const std::string& word, const std::string& file, bool from_command_line);

  std::string file_;
  std::map<std::string, std::string> fingerprints_;  // by path
  std::map<std::string, std::string> named_;         // by word
};

}  // namespace ddpsim
