#pragma once
// What the configuration that launches a job says, as keys of a scenario: one way for all of them, whatever
// framework's they are.
#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/note.hpp"
#include "sim/config/value.hpp"

namespace ddpsim {

// "ds.json:1:33"; "the command line" without a file.
std::string place_of(const SourceSpan& span);

template <class Names, class Key>
bool is_in(const Names& names, const Key& key) {
  return std::find(std::begin(names), std::end(names), key) != std::end(names);
}

class LaunchSettings {
 public:
  // `root`: with what the command line sets. `sweeps`: whether the scenario's axes count.
  LaunchSettings(config::Value& root, bool sweeps) : root_(root), sweeps_(sweeps) {}

  // The scenario's own word gives way, and axes with it, that of the command line stays: notes say both.
  void set(const std::string& key, config::Value value);
  void set(const std::string& key, std::string text, const SourceSpan& place) {
    set(key, config::scalar_value(std::move(text), place));
  }
  // The same of a value that stands where nobody says anything.
  void set_usual(const std::string& key, std::string text, const SourceSpan& place) {
    if (find(key)) set(key, std::move(text), place);
  }
  // What the scenario's file says there, all of it, and its axes over it.
  void remove(const std::string& key);
  [[nodiscard]] const config::Value* find(std::string_view key) const;
  // Whether the command line says it.
  [[nodiscard]] bool is_typed(std::string_view key) const;
  // Whether several values of a key are simulated.
  [[nodiscard]] bool is_swept(std::string_view key) const;

  void note(std::string code, std::string text) { notes_.push_back({std::move(code), std::move(text)}); }
  // What is read, and changes nothing that is simulated.
  void ignore(std::string what) { ignored_.push_back(std::move(what)); }
  // What makes a difference that nobody simulates.
  void leave_out(std::string what) { left_out_.push_back(std::move(what)); }
  // What the training script fills in, and nothing here says.
  void leave_open(std::string what) { open_.push_back(std::move(what)); }
  // Samples a step of all GPUs, for who looks for a split of them.
  void set_global_batch(config::Value samples) { global_batch_ = std::move(samples); }
  [[nodiscard]] const std::optional<config::Value>& global_batch() const { return global_batch_; }

  // Of all that was set, of the file at `place`.
  [[nodiscard]] std::vector<Note> notes(const SourceSpan& place) const;

 private:
  [[nodiscard]] const config::Value* stands_at(std::string_view key) const;
  void make_way(const std::string& key);
  // Whether the command line sweeps it, or what is below or around it; axes of the scenario's file are taken
  // out. `value`: what gives way to the command line's.
  bool sweep_stays(const std::string& key, const config::Value* value);
  void keep(const std::string& what, const config::Value& value);

  config::Value& root_;
  bool sweeps_;
  std::vector<std::shared_ptr<const SourceFile>> files_;  // of what was set
  std::optional<config::Value> global_batch_;
  std::vector<Note> notes_;
  std::vector<std::string> replaced_, kept_, ignored_, left_out_, open_;
};

}  // namespace ddpsim
