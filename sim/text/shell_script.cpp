#include "sim/text/shell_script.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>

#include "sim/text/shell_words.hpp"

namespace ddpsim {
namespace {

using shell::At, shell::kEndsWord, shell::Source, shell::Text, shell::Words;
using shell::is_of_name, shell::starts_name;

// An `if` or a `case`, of which a branch is followed; or a loop.
struct Frame {
  std::string_view ends;
  bool is_followed = true;
  bool was_taken = false;
  std::optional<Text> subject = {};  // of a case
  bool wants_pattern = false;
};

// Of an `if`, so far.
struct Condition {
  std::optional<bool> value;
  bool has_value = false;
  char connector = ' ';
};

// Of commands joined by && and ||, so far.
struct Chain {
  char connector = ' ';
  bool value = true;
  [[nodiscard]] bool runs_next() const { return connector == ' ' || value == (connector == '&'); }
};

class ScriptReader {
 public:
  explicit ScriptReader(const LoadedText& text)
      : source_(text.source), in_(text.text, text.source), words_(variables_, text.source) {}

  ShellScript read() {
    while (!in_.is_done()) read_token();
    end_command();
    return std::move(script_);
  }

 private:
  [[nodiscard]] bool is_active() const {
    return std::ranges::all_of(frames_, [](const Frame& frame) { return frame.is_followed; });
  }

  void read_token() {
    char c = in_.peek();
    if (command_.empty() && in_.starts_with("((")) return read_arithmetic();
    if (!frames_.empty() && frames_.back().wants_pattern && read_pattern()) return;
    if (in_.starts_with(";;")) end_branch();
    if (c == ' ' || c == '\t' || c == '\r') {
      in_.skip(1);
    } else if (in_.starts_with("\\\n") || in_.starts_with("\\\r\n")) {
      in_.skip(in_.peek(1) == '\r' ? 3 : 2);
    } else if (c == '#') {
      read_comment();
    } else if (c == '<' || c == '>' || in_.starts_with("&>")) {
      read_redirection();
    } else if (in_.starts_with("&&") || in_.starts_with("||")) {
      end_command(in_.peek());
      in_.skip(2);
    } else if (kEndsWord.find(c) != std::string_view::npos) {
      end_command();
      in_.skip(1);
    } else {
      read_word();
    }
  }

  // "a | b)" of a case: whether something was read.
  bool read_pattern() {
    auto& frame = frames_.back();
    char c = in_.peek();
    if (in_.starts_with("esac") || c == '#' || c == '\\') {
      frame.wants_pattern = c == '#' || c == '\\';
      return false;
    }
    if (c != '(' && kEndsWord.find(c) != std::string_view::npos) {
      in_.skip(1);
      return true;
    }
    bool matches = false;
    while (!in_.is_done() && in_.peek() != ')' && in_.peek() != '\n') {
      if (std::string_view(" \t|(;&<>\r").find(in_.peek()) != std::string_view::npos) {
        in_.skip(1);
        continue;
      }
      for (const auto& pattern : words_.read(in_)) matches |= fits(*frame.subject, pattern);
    }
    if (!in_.is_done()) in_.skip(1);
    frame.wants_pattern = false;
    frame.is_followed = matches && !frame.was_taken;
    frame.was_taken |= matches;
    return true;
  }

  static bool fits(const Text& subject, const Text& pattern) {
    std::string_view text = pattern.chars;
    if (pattern.is_whole || !text.ends_with('*')) return text == subject.chars;
    text.remove_suffix(1);
    return std::string_view(subject.chars).starts_with(text);
  }

  void end_branch() {
    end_command();
    if (!frames_.empty() && frames_.back().subject) {
      frames_.back().wants_pattern = true;
      frames_.back().is_followed = false;
    }
  }

  // `case WORD in`: what only a running shell knows is empty.
  void begin_case(const std::vector<Text>& words) {
    auto subject = words.size() > 1 ? words[1] : Text();
    if (is_active() && !subject.is_known())
      not_followed(fmt::format("case of {}, taken as empty", subject.unknowns.front()));
    subject.chars = subject.known();
    frames_.push_back({"esac", false, !is_active(), std::move(subject), true});
  }

  // ((...)): as a condition it holds where it is not 0; a variable that it sets is known no longer.
  void read_arithmetic() {
    in_.skip(2);
    std::string expression;
    while (!in_.is_done() && !in_.starts_with("))") && in_.peek() != '\n') expression += in_.take();
    if (in_.starts_with("))")) in_.skip(2);
    arithmetic_ = shell::compared(expression, variables_);
    has_arithmetic_ = true;
    if (condition_ || !is_active() || !chain_.runs_next()) return;
    auto name = shell::set_by(expression);
    if (name.empty()) return;
    not_followed(fmt::format("(({}))", expression));
    forget(name);
  }

  // Its value is what only a running shell knows.
  void forget(const std::string& name) {
    Text value;
    value.add_unknown("$" + name, in_.at());
    variables_[name] = {{std::move(value)}, false};
  }

  void read_comment() {
    auto at = in_.at();
    auto line = in_.take_line();
    constexpr std::string_view kBatch = "#SBATCH";
    if (!line.starts_with(kBatch)) return;
    Text text;
    for (std::size_t i = kBatch.size(); i < line.size(); ++i) {
      if (line[i] == '#') break;
      text.add(line[i], {at.line, at.column + static_cast<int>(i)});
    }
    for (const auto& word : shell::split(text)) script_.batch_options.push_back(word_of(word));
  }

  // Where output goes is nothing to us, nor is a text that a program reads.
  void read_redirection() {
    bool is_text = in_.starts_with("<<") && !in_.starts_with("<<<");
    while (std::string_view("<>&|").find(in_.peek()) != std::string_view::npos && !in_.is_done()) in_.skip(1);
    if (is_text && in_.peek() == '-') in_.skip(1);
    while (in_.peek() == ' ') in_.skip(1);
    auto target = words_.read(in_);
    if (!is_text || target.empty()) return;
    constexpr std::array<std::string_view, 4> kShells{"sbatch", "bash", "sh", "srun"};
    if (!command_.empty() && std::ranges::find(kShells, command_.front().chars) != kShells.end()) return;
    auto rest = in_.take_line();  // of the command: nothing that we know is put behind
    while (!in_.is_done()) {
      in_.skip(1);
      auto line = in_.take_line();
      line.erase(0, std::min(line.find_first_not_of('\t'), line.size()));
      if (line == target.front().chars) return;
    }
  }

  void read_word() {
    if (command_.empty() && read_assignment()) return;
    if (command_.empty() && declares_ && in_.peek() == '-') {
      words_.read(in_);
      return;
    }
    auto at = in_.at();
    auto fields = words_.read(in_);
    bool is_stream = !fields.empty() && (in_.peek() == '<' || in_.peek() == '>') &&
                     fields.front().chars.find_first_not_of("0123456789") == std::string::npos;
    if (is_stream) return;  // "2>"
    for (auto& field : fields) {
      if (field.at.empty()) place_[command_.size()] = at;
      command_.push_back(std::move(field));
    }
    take_keyword();
  }

  // Words that stand before a command, or make one of what follows.
  void take_keyword() {
    if (command_.size() != 1) return;
    const auto& word = command_.front().chars;
    constexpr std::array<std::string_view, 6> kBefore{"export",  "local",   "readonly",
                                                      "declare", "typeset", "time"};
    bool is_plain = !command_.front().is_whole && command_.front().is_known();
    if (!is_plain) return;
    if (std::ranges::find(kBefore, word) != kBefore.end() || word == "do" || word == "{" || word == "}" ||
        word == "exec") {
      declares_ = word != "do" && word != "{" && word != "}";
      command_.clear();
    } else if (word == "if") {
      command_.clear();
      frames_.push_back({"fi", is_active(), !is_active()});
      condition_.emplace();
    } else if (word == "elif" || word == "else") {
      take_branch(word == "elif");
    } else if (word == "then") {
      command_.clear();
      decide();
    } else if (word == "done") {
      if (!frames_.empty() && frames_.back().ends == "done") frames_.pop_back();
      command_.clear();
    } else if (!frames_.empty() && word == frames_.back().ends) {
      frames_.pop_back();
      command_.clear();
    }
  }

  void not_followed(std::string_view what) {
    script_.not_followed.push_back(fmt::format("{}:{}: {}", source_->name, in_.at().line, what));
  }

  void take_branch(bool has_condition) {
    command_.clear();
    if (frames_.empty() || frames_.back().ends != "fi") return;
    auto& frame = frames_.back();
    frame.is_followed = !frame.was_taken;
    if (has_condition)
      condition_.emplace();
    else
      frame.was_taken = true;
  }

  void decide() {
    if (frames_.empty() || !condition_) return;
    auto condition = *std::exchange(condition_, std::nullopt);
    auto& frame = frames_.back();
    if (frame.was_taken) {
      frame.is_followed = false;
      return;
    }
    if (!condition.value) not_followed("an if whose condition is not known, taken as false");
    frame.is_followed = condition.value.value_or(false);
    frame.was_taken = frame.is_followed;
  }

  // What stands between connectors, brackets taken away.
  static std::optional<bool> test(std::vector<Text> words) {
    bool is_test = false;
    std::erase_if(words, [&](const Text& word) {
      bool is_bracket = !word.is_whole && (word.chars == "[" || word.chars == "[[" || word.chars == "]" ||
                                           word.chars == "]]" || word.chars == "test");
      is_test |= is_bracket;
      return is_bracket;
    });
    if (words.size() == 1 && !is_test && (words.front().chars == "true" || words.front().chars == "false"))
      return words.front().chars == "true";
    // Within [[ a && b ]] a part has no bracket.
    constexpr std::array<std::string_view, 6> kOperators{"-z", "-n", "==", "=", "!=", "-eq"};
    bool has_operator = std::ranges::any_of(words, [&](const Text& word) {
      return std::ranges::find(kOperators, word.chars) != kOperators.end();
    });
    return is_test || has_operator ? shell::holds(words) : std::nullopt;
  }

  void add_condition(std::optional<bool> value, char connector) {
    auto& so_far = *condition_;
    if (!so_far.has_value)
      so_far.value = value;
    else if (so_far.connector == '&')
      so_far.value = so_far.value == false || value == false ? std::optional(false)
                     : so_far.value && value                 ? std::optional(true)
                                                             : std::nullopt;
    else
      so_far.value = so_far.value == true || value == true ? std::optional(true)
                     : so_far.value && value               ? std::optional(false)
                                                           : std::nullopt;
    so_far.has_value = true;
    so_far.connector = connector;
  }

  // NAME=value, NAME+=value, NAME=(values).
  bool read_assignment() {
    std::size_t length = 0;
    if (!starts_name(in_.peek())) return false;
    while (is_of_name(in_.peek(length))) ++length;
    bool appends = in_.peek(length) == '+' && in_.peek(length + 1) == '=';
    if (!appends && in_.peek(length) != '=') return false;
    std::string name;
    while (name.size() < length) name += in_.take();
    in_.skip(appends ? 2 : 1);
    shell::Variable value;
    if (in_.peek() == '(') {
      value = {read_array(), true};
    } else {
      value.values.emplace_back();
      bool is_first = true;
      for (const auto& field : words_.read(in_)) {  // an assignment splits no words
        if (!is_first) value.values.back().add(' ', in_.at());
        value.values.back().add(field);
        is_first = false;
      }
    }
    has_assigned_ = true;
    if (!is_active() || condition_ || !chain_.runs_next()) return true;
    if (auto known = variables_.find(name); !declares_)
      before_.emplace_back(name, known == variables_.end() ? std::nullopt : std::optional(known->second));
    assign(name, std::move(value), appends);
    return true;
  }

  std::vector<Text> read_array() {
    auto opens = in_.at();
    in_.skip(1);
    std::vector<Text> values;
    while (true) {
      if (in_.is_done())
        throw InputError(in_.span(opens), "nothing closes this bracket", "add a ) at its end");
      char c = in_.peek();
      if (c == ')') break;
      if (c == '#') {
        in_.take_line();
      } else if (kEndsWord.find(c) != std::string_view::npos) {
        in_.skip(1);
      } else {
        for (auto& field : words_.read(in_)) values.push_back(std::move(field));
      }
    }
    in_.skip(1);
    return values;
  }

  void assign(const std::string& name, shell::Variable value, bool appends) {
    auto& variable = variables_[name];
    grown_ += value.values.size();
    if (!appends) {
      variable = std::move(value);
    } else if (value.is_array) {
      variable.is_array = true;
      variable.values.insert(variable.values.end(), value.values.begin(), value.values.end());
    } else if (variable.values.empty()) {
      variable.values = std::move(value.values);
    } else {
      variable.values.front().add(value.values.front());
    }
    for (const auto& one : variable.values) grown_ += one.chars.size();
    if (grown_ > kMostShellText)
      throw InputError(in_.span(in_.at()),
                       fmt::format("the script's variables say more than {} MiB", kMostShellText >> 20),
                       "write the command's flags into a file of their own");
  }

  // Whether a command succeeds, as far as its text says: what is no condition does.
  bool status_of(const std::vector<Text>& words, bool is_arithmetic, bool is_asked) {
    std::optional<bool> holds = true;
    constexpr std::array<std::string_view, 5> kConditions{"[", "[[", "test", "true", "false"};
    if (is_arithmetic)
      holds = arithmetic_;
    else if (!words.empty() && std::ranges::find(kConditions, words.front().chars) != kConditions.end())
      holds = test(words);
    else if (!words.empty() && !words.front().is_known())
      holds = std::nullopt;
    if (!holds && is_asked && is_active()) not_followed("a condition that is not known, taken as false");
    return holds.value_or(false);
  }

  // A body is followed once, unless its condition never holds, or its list is empty.
  void begin_loop(const std::vector<Text>& words, const std::map<std::size_t, At>& places) {
    const auto& first = words.front().chars;
    bool enters = true;
    if (first == "while" || first == "until")
      enters = test({words.begin() + 1, words.end()}) != std::optional(first == "until");
    bool is_of_list = first == "for" && words.size() > 2 && words[2].chars == "in";
    if (is_of_list) enters = words.size() > 3;
    if (is_active() && enters) not_followed(first + ", its body once");
    frames_.push_back({"done", is_active() && enters, true});
    if (first != "for" || words.size() < 2) return;
    Text value;
    value.add_unknown("$" + words[1].known(), places.contains(1) ? places.at(1) : At{});
    variables_[words[1].chars] = {{value}, false};
  }

  ShellWord word_of(const Text& text, At otherwise = {}) const {
    auto at = text.at.empty() ? otherwise : text.at.front();
    return {text.known(),
            {source_, at.line, at.column, std::max(1, static_cast<int>(text.chars.size()))},
            text.is_known() ? "" : text.unknowns.front()};
  }

  void end_command(char connector = ' ') {
    declares_ = false;
    bool has_assigned = std::exchange(has_assigned_, false);
    bool has_arithmetic = std::exchange(has_arithmetic_, false);
    auto before = std::exchange(before_, {});
    if (command_.empty() && !has_assigned && !has_arithmetic) return;
    auto words = std::exchange(command_, {});
    auto places = std::exchange(place_, {});
    if (condition_) {
      if (has_arithmetic) return add_condition(arithmetic_, connector);
      return words.empty() ? void() : add_condition(test(std::move(words)), connector);
    }
    bool runs = chain_.runs_next();
    // A command's own environment is gone with it.
    if (!words.empty())
      for (auto& [name, value] : before) {
        variables_.erase(name);
        if (value) variables_[name] = *std::move(value);
      }
    bool holds = status_of(words, has_arithmetic, runs && connector != ' ');
    chain_ = connector == ' ' ? Chain() : Chain{connector, runs ? holds : chain_.value};
    if (words.empty()) return;
    const auto& first = words.front().chars;
    if (first == "[" || first == "[[" || first == "test") return;
    if (first == "case") return begin_case(words);
    if (first == "for" || first == "while" || first == "until" || first == "select")
      return begin_loop(words, places);
    if (!runs || !is_active()) return;
    if (first == "let" && words.size() > 1) {
      not_followed("let " + words[1].known());
      for (std::size_t i = 1; i < words.size(); ++i)
        if (auto name = shell::set_by(words[i].known()); !name.empty()) forget(name);
    }
    if ((first == "source" || first == ".") && words.size() > 1) not_followed(first + " " + words[1].chars);
    ShellCommand command;
    for (std::size_t i = 0; i < words.size(); ++i) {
      // A command in quotes, as for `bash -c`: its words.
      bool is_command =
          words[i].chars.find(".py") != std::string::npos && words[i].chars.find(" --") != std::string::npos;
      if (!is_command)
        command.push_back(word_of(words[i], places.contains(i) ? places.at(i) : At{}));
      else
        for (const auto& word : shell::split(words[i])) command.push_back(word_of({word}));
    }
    script_.commands.push_back(std::move(command));
  }

  std::shared_ptr<const SourceFile> source_;
  Source in_;
  shell::Variables variables_;
  Words words_;
  std::vector<Text> command_;
  std::map<std::size_t, At> place_;  // of words without text
  std::vector<Frame> frames_;
  std::optional<Condition> condition_;
  Chain chain_;
  // What assignments of a command replaced.
  std::vector<std::pair<std::string, std::optional<shell::Variable>>> before_;
  std::optional<bool> arithmetic_;
  bool declares_ = false, has_assigned_ = false, has_arithmetic_ = false;
  std::size_t grown_ = 0;
  ShellScript script_;
};

}  // namespace

ShellScript read_shell_script(const LoadedText& text) {
  return ScriptReader(text).read();
}

}  // namespace ddpsim
