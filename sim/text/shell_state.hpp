#pragma once
// What a script has set so far, and the commands that it ran.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/text/shell_assignment.hpp"

namespace ddpsim::shell {

class State {
 public:
  // Variables as they were.
  using Kept = std::vector<std::pair<std::string, std::optional<Variable>>>;

  explicit State(std::shared_ptr<const SourceFile> source) : source_(std::move(source)) {}

  [[nodiscard]] const std::shared_ptr<const SourceFile>& source() const { return source_; }
  [[nodiscard]] Variables& variables() { return variables_; }
  void assign(Assignment assignment, At at);
  // Its value is what only a running shell knows.
  void forget(const std::string& name, At at);
  void keep(const std::string& name, Kept& kept) const;
  void restore(Kept kept);
  // Of the variables, for ( ... ).
  [[nodiscard]] Variables copied(At at);

  void define(const std::string& function, Text body) { functions_[function] = std::move(body); }
  // Null: there is no such function.
  [[nodiscard]] const Text* function(const Text& name) const;
  // Arguments are the positional parameters from there on, unless they are those of the caller. False: calls
  // are nested too deeply.
  bool begin_call(const std::vector<Text>& words, At at, Kept& kept);
  // `written`: characters that words had in it.
  void end_call(Kept kept, std::size_t written, At at);
  [[nodiscard]] bool is_in_function() const { return calls_ > 0; }

  // A command that is no condition and no function.
  void run(const std::vector<Text>& words, const std::vector<At>& places);
  // Of a line "#SBATCH".
  void add_batch_options(std::string_view line, At at);
  void note(At at, std::string_view what);
  ShellScript take_script() { return std::move(script_); }

 private:
  void grow(std::size_t by, At at);
  void set_parameters(std::vector<Text> values, std::size_t most);
  [[nodiscard]] ShellWord word_of(const Text& text, At otherwise = {}) const;

  std::shared_ptr<const SourceFile> source_;
  Variables variables_;
  std::map<std::string, Text, std::less<>> functions_;
  int calls_ = 0;
  std::size_t grown_ = 0;
  ShellScript script_;
};

}  // namespace ddpsim::shell
