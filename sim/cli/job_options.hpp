#pragma once
// A job in a few words: options that stand for keys of a scenario, and a model in the place of one.
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/note.hpp"
#include "sim/command_line/command_line.hpp"
#include "sim/config/value.hpp"

namespace ddpsim::cli {

struct JobOptions {
  // --on, --gpus, --batch, --sequence, --micro-batch, --dtype, --framework and --strategy, but for those that
  // the command has otherwise.
  void add_to(Command& command, std::initializer_list<std::string_view> without = {});
  // Sets their keys, after a model's where it is not empty. Of a sweep a word may be a list, which is an
  // axis: "64,512".
  void apply(config::Value& root, const std::string& model = {}, bool sweeps = false) const;
  // Throws InputError for a word whose key --set says, too, or sweeps.
  void check(const std::vector<std::string>& overrides) const;
  // As they were typed: "--on", "dgx-h100", "--gpus", "8".
  [[nodiscard]] std::vector<std::string> words() const;

 private:
  std::map<std::string, std::string> given_;  // by option; empty: not typed
};

// Whether it names a model, or is the file of one, and no scenario.
bool is_model(const std::string& word);

// A key that is there, and not null.
bool says(const config::Value& root, const char* key);

// Throws InputError for what a launch file does not say, and nobody else.
void require_launched(const config::Value& root, const std::string& file, bool is_sized);

// Throws InputError for those of (name, whether it is there) that are not, all at once.
void require(const std::vector<std::pair<std::string, bool>>& given, const std::string& hint);

// Of a job that is a model: what nobody says is what is usual, and a note has it. Throws InputError for what
// has no usual value, all of it at once. `is_sized`: somebody else says on how many GPUs.
std::vector<Note> complete_model_job(config::Value& root, bool is_sized, const std::string& hint);
// Of these the tokens of a sample, where the model has its own number; 0: it takes any.
std::int64_t take_own_sequence(config::Value& root);

}  // namespace ddpsim::cli
