#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/limits.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/suggest.hpp"
#include "sim/program/program_values.hpp"

namespace ddpsim {
namespace {

SourceSpan part_behind(const Located& word, std::size_t at) {
  return word.span.part(static_cast<int>(at), std::max(1, static_cast<int>(word.text.size() - at)));
}

constexpr const char* kOpHint =
    "write 'backward.3: compute 1.2ms' or 'all_reduce.0: all_reduce 25MiB on data'";

class ProgramReader {
 public:
  ProgramReader(const LoadedText& text, const ProgramSymbols& symbols) : text_(text), values_(symbols) {}

  WrittenProgram read() {
    auto lines = program_lines(text_);
    auto value = [this](const std::string& name) { return values_.count(name); };
    each_program_line(lines, value, [this](const ProgramLine& line) { read(line); });
    end_class();
    if (result_.classes.empty())
      throw InputError(whole_file(text_.source), "the program does nothing", kOpHint);
    for (auto& one : result_.classes)
      one.program.communicators = result_.communicators.size() + one.communicators.size();
    result_.named = values_.named();
    return std::move(result_);
  }

  // Ops as they stand in loops: what they do, and where.
  std::vector<WrittenCommunicator> read_communicators() {
    for (const auto& line : program_lines(text_)) {
      WordReader words(line);
      bool is_op = line.words.size() > 2 && line.words[1].text == ":" && line.words[0].text != "class";
      if (words.take("communicator") && !words.is(":")) read_communicator(words);
      has_ops_ |= is_op;
      if (!is_op || !find_operation(line.words[2].text)) continue;
      const auto& name = line.words.front();
      auto activity = find_activity(name.text.substr(0, name.text.find_first_of(".'{")));
      if (!activity) continue;  // which whoever reads it says
      auto operation = operation_of(line.words[2]);
      check_name(name, *activity, operation);
      auto on = std::ranges::find(line.words, "on", &Located::text);
      if (on == line.words.end() || on + 1 == line.words.end()) continue;
      if (on[1].text.find('{') != std::string::npos)
        throw InputError(on[1].span, "a loop's ops are on one communicator", "write its name without braces");
      communicator(on[1], {*activity, operation, line.words[2].span});
    }
    return std::move(result_.communicators);
  }

 private:
  using Name = std::tuple<Activity, std::size_t, std::size_t>;  // activity, index, copy

  void read(const ProgramLine& line) {
    WordReader words(line);
    const auto& first = words.take("an op", kOpHint);
    bool is_heading = !words.is(":");
    if (first.text == "communicator" && is_heading) return read_communicator(words);
    if (first.text == "class" && is_heading) return read_class(words);
    if (first.text == "micro_batches" && is_heading) return read_micro_batches(words);
    auto name = name_of(first);
    words.expect(":", kOpHint);
    if (names_.contains(name))
      throw InputError(first.span,
                       fmt::format("'{}' is in line {} already", first.text, line_of(names_[name])),
                       fmt::format("tell them apart: {}'2", first.text.substr(0, first.text.find('\''))));
    auto& one = current();
    one.program.ops.push_back(read_op(words, first, std::get<Activity>(name), std::get<1>(name)));
    one.places.push_back(first.span);
    names_[name] = one.program.ops.size() - 1;
    has_ops_ = true;
  }

  WrittenClass& current() {
    if (result_.classes.empty()) result_.classes.emplace_back();
    return result_.classes.back();
  }
  int line_of(std::size_t op) { return current().places[op].line; }

  void read_communicator(WordReader& words) {
    constexpr auto kHint = "write 'communicator data: axis data' or 'communicator shards: 8 ranks'";
    const auto& name = words.take("its name", kHint);
    if (has_ops_) throw InputError(name.span, "communicators come before ops", "move the line up");
    if (find_communicator(name.text).first)
      throw InputError(name.span, fmt::format("there are two communicators '{}'", name.text),
                       "choose another name");
    words.expect(":", kHint);
    WrittenCommunicator one{name.text, {}, {}, name.span};
    if (words.take("axis")) {
      one.ranks.axis = words.take("the axis", kHint).text;
    } else {
      one.ranks.axis.clear();
      auto ranks = [&](int least) {
        return static_cast<int>(parse_integer(words.take("how many ranks", kHint), least, kLargestWorldSize));
      };
      one.ranks.size = ranks(2);
      words.expect("ranks", kHint);
      if (!words.at_end()) {
        one.ranks.stride = ranks(1);
        words.expect("apart", "write 'communicator replicas: 4 ranks 8 apart'");
      }
    }
    words.expect_end(kHint);
    own_communicators().push_back(std::move(one));
  }

  void read_micro_batches(WordReader& words) {
    constexpr auto kHint = "write 'micro_batches 4' above the ops";
    if (!result_.classes.empty() || says_micro_batches_)
      throw InputError(words.place(), "how many micro-batches there are comes first, and once", kHint);
    says_micro_batches_ = true;
    const auto& many = words.take("how many micro-batches", kHint);
    result_.micro_batches = static_cast<int>(parse_integer(many, 1, kMostAccumulationSteps));
    words.expect_end(kHint);
  }

  void read_class(WordReader& words) {
    constexpr auto kHint = "write 'class stage.0:', and its ops below";
    const auto& name = words.take("its name", kHint);
    words.expect(":", kHint);
    words.expect_end(kHint);
    if (!result_.classes.empty() && result_.classes.front().name.empty())
      throw InputError(name.span, "the ops above are of no class", "put a heading 'class NAME:' above them");
    if (std::ranges::find(result_.classes, name.text, &WrittenClass::name) != result_.classes.end())
      throw InputError(name.span, fmt::format("there are two classes '{}'", name.text),
                       "choose another name");
    end_class();
    result_.classes.emplace_back().name = name.text;
    class_place_ = name.span;
  }

  void end_class() {
    if (result_.classes.empty()) return;
    if (result_.classes.back().program.ops.empty())
      throw InputError(class_place_, fmt::format("class {} does nothing", result_.classes.back().name),
                       kOpHint);
    names_.clear();
    has_ops_ = false;
  }

  // forward.3, backward.0'2
  static Name name_of(const Located& word) {
    constexpr auto kHint =
        "a name is an activity, a number, and a copy where there are several: forward.3, "
        "all_gather.3'2";
    auto quote = std::min(word.text.find('\''), word.text.size());
    auto dot = std::min(word.text.find('.'), quote);
    auto activity = find_activity(word.text.substr(0, dot));
    if (!activity || *activity == Activity::wait) {
      std::vector<std::string> known;
      for (auto one : activities())
        if (one != Activity::wait) known.emplace_back(activity_name(one));
      auto text = word.text.substr(0, dot);
      throw InputError(word.span.part(0, static_cast<int>(std::max<std::size_t>(1, dot))),
                       fmt::format("no activity is called '{}'{}", text, did_you_mean(text, known)),
                       fmt::format("an op's name begins with one of {}", fmt::join(known, ", ")));
    }
    auto number = [&](std::size_t from, std::size_t to, std::int64_t least) {
      auto digits = word.text.substr(from, to - from);
      if (digits.empty()) throw InputError(word.span, fmt::format("'{}' lacks a number", word.text), kHint);
      return static_cast<std::size_t>(
          parse_integer({digits, part_behind(word, from)}, least, std::int64_t{kMostLabelIndex}));
    };
    auto index = dot < quote ? number(dot + 1, quote, 0) : 0;
    auto copy = quote < word.text.size() ? number(quote + 1, word.text.size(), 2) : 1;
    return {*activity, index, copy};
  }

  Op read_op(WordReader& words, const Located& name, Activity activity, std::size_t index) {
    const auto& word = words.take("what it does", kOpHint);
    Op op;
    op.activity = activity;
    op.index = index;
    auto of = collective_operation(activity);
    if (word.text == "compute" || word.text == "copy") {
      if (of)
        throw InputError(word.span,
                         fmt::format("'{}' is a collective's name, and this op computes", name.text),
                         "call it forward, backward, optimizer, copy_in, copy_out, compress or launch");
      op.duration = word.text == "copy" ? values_.copy(words) : values_.time(words, "its time");
      op.is_fixed = words.take("fixed");
      if (words.take("stream"))
        op.lane = static_cast<std::size_t>(
            parse_integer(words.take("which stream", "write 'stream 1'"), 0, kMostProgramStreams - 1));
    } else {
      read_collective(words, word, name, op);
    }
    if (words.take("after")) {
      do op.after.push_back(awaited(words.take("what it waits for", "write 'after forward.0'")));
      while (!words.at_end());
    }
    words.expect_end(op.kind == Op::Kind::compute
                         ? "write 'fixed', 'stream 1', 'after' or nothing behind a time"
                         : "write 'plus' a time, 'after' or nothing behind a "
                           "communicator");
    return op;
  }

  // Of those that have a name.
  static Operation operation_of(const Located& word) {
    std::vector<std::string> known{"compute", "copy"};
    for (auto one : activities()) {
      auto operation = collective_operation(one);
      if (!operation) continue;
      if (operation_name(*operation) == word.text) return *operation;
      std::string name(operation_name(*operation));
      if (std::ranges::find(known, name) == known.end()) known.push_back(name);
    }
    throw InputError(word.span,
                     fmt::format("no op is called '{}'{}", word.text, did_you_mean(word.text, known)),
                     fmt::format("an op is one of {}", fmt::join(known, ", ")));
  }
  static void check_name(const Located& name, Activity activity, Operation operation) {
    if (collective_operation(activity) == operation) return;
    std::vector<std::string_view> names;
    for (auto one : activities())
      if (collective_operation(one) == operation) names.push_back(activity_name(one));
    throw InputError(
        name.span,
        fmt::format("'{}' is no name of a collective that does {}", name.text, operation_name(operation)),
        fmt::format("call it {}", fmt::join(names, " or ")));
  }

  void read_collective(WordReader& words, const Located& word, const Located& name, Op& op) {
    auto operation = operation_of(word);
    check_name(name, op.activity, operation);
    op.kind = Op::Kind::collective;
    op.operation = operation;
    auto place = words.place();
    op.bytes = values_.size(words, "its size");
    if (op.bytes == Bytes())
      throw InputError(place, "a collective of no bytes", "remove it, or write its size");
    words.expect("on", "write 'on' and its communicator: all_reduce 25MiB on data");
    op.communicator =
        communicator(words.take("its communicator", "write 'on data'"), {op.activity, operation, word.span});
    if (words.take("plus")) op.duration = values_.time(words, "how much longer it takes");
  }

  // Of the class being read, or of all as long as there is none.
  std::vector<WrittenCommunicator>& own_communicators() {
    return result_.classes.empty() ? result_.communicators : result_.classes.back().communicators;
  }
  // Null: there is none of that name.
  std::pair<WrittenCommunicator*, std::size_t> find_communicator(std::string_view name) {
    std::size_t place = 0;
    for (auto* all : {&result_.communicators, &own_communicators()}) {
      for (auto& one : *all) {
        if (one.name == name) return {&one, place};
        ++place;
      }
      if (result_.classes.empty()) break;
    }
    return {nullptr, place};
  }

  std::size_t communicator(const Located& name, const WrittenUse& use) {
    auto [found, place] = find_communicator(name.text);
    if (!found && place == 0 && name.text == "data")
      found = &result_.communicators.emplace_back(WrittenCommunicator{name.text, {}, {}, name.span});
    if (!found) {
      std::vector<std::string> known;
      for (const auto* all : {&result_.communicators, &own_communicators()})
        for (const auto& one : *all) known.push_back(one.name);
      throw InputError(
          name.span,
          fmt::format("there is no communicator '{}'{}", name.text, did_you_mean(name.text, known)),
          fmt::format("name it above the ops: communicator {}: axis data", name.text));
    }
    if (std::ranges::find(found->uses, use.activity, &WrittenUse::activity) == found->uses.end())
      found->uses.push_back(use);
    return place;
  }

  std::size_t awaited(const Located& word) {
    auto found = names_.find(name_of(word));
    if (found != names_.end()) return found->second;
    throw InputError(word.span, fmt::format("no op above is called '{}'", word.text),
                     "an op waits for ops above it only, so that no two wait for each other");
  }

  const LoadedText& text_;
  ProgramValues values_;
  WrittenProgram result_;
  std::map<Name, std::size_t> names_;  // of the class
  bool says_micro_batches_ = false;
  bool has_ops_ = false;
  SourceSpan class_place_;
};

}  // namespace

std::vector<WrittenCommunicator> read_communicators(const LoadedText& text) {
  static const ProgramSymbols kNoSymbols;
  return ProgramReader(text, kNoSymbols).read_communicators();
}

WrittenProgram read_program(const LoadedText& text, const ProgramSymbols& symbols) {
  return ProgramReader(text, symbols).read();
}

}  // namespace ddpsim
