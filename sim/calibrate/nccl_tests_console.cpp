// The text is printed by nccl-tests' src/common.cu and src/util.cu: a preamble of '#' lines, a header of two
// lines, a row a size, a trailer. Around it may stand anything. Without a header the columns of
// most of its programs are taken. Until 2.10 each program had columns of its own.
#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "sim/base/quantity.hpp"
#include "sim/calibrate/console_line.hpp"
#include "sim/calibrate/readers.hpp"
#include "sim/calibrate/table_parts.hpp"

namespace ddpsim::calibrate {
namespace {

constexpr std::string_view kDigits = "0123456789";

bool is_digits(const std::string& text) {
  return !text.empty() && text.find_first_not_of(kDigits) == std::string::npos;
}

bool is_first_row(const std::vector<Located>& t) {
  return t.size() >= 3 && is_digits(t[0].text) && is_digits(t[1].text) &&
         std::isalpha(static_cast<unsigned char>(t[2].text.front())) != 0;
}

bool is_header(const std::vector<Located>& t) {
  auto has = [&](std::string_view name) {
    return std::any_of(t.begin(), t.end(), [&](const auto& cell) { return cell.text == name; });
  };
  return !t.empty() && (t[0].text == "size" || t[0].text == "bytes") && has("type") &&
         (has("time") || has("cputime"));
}

bool is_preamble(const ConsoleLine& line) {
  return line.text.find("nThread ") != std::string::npos && line.text.find("minBytes ") != std::string::npos;
}

bool is_first_line(const std::vector<Located>& t) {
  return t[0].text == "nccl-tests" && t.size() > 1 && t[1].text == "version";
}

bool is_row(const std::vector<Located>& t) {
  return is_digits(t[0].text) && (t.size() == 1 || is_digits(t[1].text));
}

// Where in a row what stands; the columns of one measurement come one after the other.
struct Layout {
  std::size_t type = 2;
  std::optional<std::size_t> redop, root;
  bool is_of_pairs = false;  // sendrecv_perf's distance
  std::size_t out_of_place = 0, cells = 0, most_cells = 0;
  std::optional<std::size_t> in_place;
};

Layout layout_of(const std::vector<Located>& header) {
  Layout layout;
  layout.cells = layout.most_cells = header.size();
  std::vector<std::size_t> times;
  for (std::size_t i = 0; i < header.size(); ++i) {
    const auto& name = header[i].text;
    if (name == "cputime")
      throw InputError(header[i].span, "the CPU's time, not the collective's", "run nccl-tests without -C");
    if (name == "type") layout.type = i;
    if (name == "redop" || name == "op") layout.redop = i;
    if (name == "root") layout.root = i;
    if (name == "dist") layout.is_of_pairs = true;
    if (name == "time") times.push_back(i);
    if (name == "timestamp") layout.most_cells = header.size() + 1;  // a date and a time of day
  }
  layout.out_of_place = times[0];
  if (times.size() > 1) layout.in_place = times[1];
  if (times.back() + 3 >= header.size())
    throw InputError(header.back().span, "the header has no algbw, busbw and #wrong after its time",
                     "is the output cut off?");
  return layout;
}

// size count type redop [root], then twice time algbw busbw #wrong.
Layout classic_layout(const std::vector<Located>& row) {
  Layout layout;
  layout.redop = 3;
  bool has_root = row.size() > 4 && (row[4].text == "-1" || row.size() == 13);
  if (has_root) layout.root = 4;
  layout.out_of_place = has_root ? 5 : 4;
  layout.in_place = layout.out_of_place + 4;
  layout.cells = layout.most_cells = *layout.in_place + 4;
  return layout;
}

class Console {
 public:
  explicit Console(std::shared_ptr<const SourceFile> source) : source_(std::move(source)) {}

  std::vector<CollectiveTable> read() {
    auto prefix = launchers_prefix(*source_);
    for (std::size_t i = 0; i < source_->lines.size(); ++i) {
      read_line(without_log(console_line(source_, i, prefix), run_.hosts));
    }
    end_run();
    if (tables_.empty())
      throw InputError(whole_file(source_), "has no rows of nccl-tests", "is the output cut off?");
    return std::move(tables_);
  }

 private:
  struct Run {
    SourceSpan preamble;  // no file: none
    CollectiveTable settings;
    std::set<int> ranks;
    std::set<std::string> hosts, groups;
    std::set<Operation> programs;  // that a command line names
    std::optional<Layout> layout;
    bool has_rows = false;
    std::vector<Located> cut;  // a row that NCCL's log interrupts, as far as it was printed
    std::vector<CollectiveTable> tables;
  };

  void read_line(const ConsoleLine& line) {
    const auto& t = line.tokens;
    if (t.empty()) return read_version(line.text);
    if (run_.has_rows && (is_preamble(line) || is_first_line(t))) end_run();
    if (is_preamble(line)) run_.preamble = t[0].span;
    read_version(line.text);
    read_program(t);
    if (t[0].text == "Rank") read_rank(t);
    if (is_header(t)) run_.layout = layout_of(t);
    if (t[0].text == "(B)") check_units(t);
    if (run_.has_rows && line.text.find("Out of bounds values") != std::string::npos &&
        t.back().text == "FAILED")
      throw InputError(t.back().span, "results were wrong",
                       "a run with wrong results is not a measurement; repair the machine, then repeat it");
    if (!run_.cut.empty() && !is_row_of_layout(t)) return go_on(t);
    if (line.has_log && run_.layout && is_row(t) && t.size() < run_.layout->cells)
      run_.cut = t;
    else if (run_.layout ? is_row(t) : is_first_row(t))
      read_row(t);
  }

  [[nodiscard]] bool is_row_of_layout(const std::vector<Located>& t) const {
    return is_row(t) && t.size() >= run_.layout->cells - 1;
  }
  // The rest of a row, where it is one.
  void go_on(const std::vector<Located>& rest) {
    bool is_rest = std::ranges::all_of(rest, [](const Located& cell) {
      return is_missing(cell) || cell.text.find_first_not_of("0123456789.e+-") == std::string::npos;
    });
    if (!is_rest) return;
    run_.cut.insert(run_.cut.end(), rest.begin(), rest.end());
    if (run_.cut.size() >= run_.layout->cells) read_row(std::exchange(run_.cut, {}));
  }

  // "Collective test starting: all_gather_perf", or the command line among what stands around the output, as
  // long as it names one program.
  void read_program(const std::vector<Located>& t) {
    bool says = t.size() == 4 && t[0].text == "Collective" && t[2].text == "starting:";
    if (says) set_operation(run_.settings, t[3]);
    for (const auto& token : t) {
      auto operation = token.text.ends_with("_perf") ? operation_named(token.text) : std::nullopt;
      if (!operation || says) continue;
      if (run_.has_rows) end_run();
      run_.programs.insert(*operation);
    }
  }

  // "NCCL version 2.18.5+cuda12.2", or newer "nccl-headers=22907 nccl-library=22907"; of AMD
  // "rccl-tests: Version develop:0123abc" and "RCCL version : 2.22.3-HEAD:0123abc".
  void read_version(const std::string& line) {
    auto after = [&](std::string_view words, std::string_view characters) {
      auto at = line.find(words);
      if (at == std::string::npos) return std::string();
      at += words.size();
      return line.substr(at, line.find_first_not_of(characters, at) - at);
    };
    if (line.find("rccl-tests:") != std::string::npos || line.find("RCCL version") != std::string::npos)
      run_.settings.by_rccl = true;
    if (run_.settings.by_rccl) return;
    if (auto printed = after("NCCL version ", "0123456789."); !printed.empty())
      run_.settings.nccl_version = printed;
    else if (auto number = after("nccl-library=", kDigits); !number.empty() && number.size() < 8)
      run_.settings.nccl_version = nccl_version_of(std::stoll(number));
  }

  // "#  Rank  0 Group  0 Pid   6899 on host device  0 [0000:04:00] NVIDIA H100"; older ones have no group.
  void read_rank(const std::vector<Located>& t) {
    auto after = [&](std::string_view word) -> const Located* {
      auto at = std::find_if(t.begin(), t.end(), [&](const auto& cell) { return cell.text == word; });
      return at == t.end() || at + 1 == t.end() ? nullptr : &*(at + 1);
    };
    const auto *host = after("on"), *group = after("Group");
    if (t.size() < 2 || !host || !after("device") || !is_digits(t[1].text)) return;
    if (run_.has_rows) end_run();
    if (!run_.ranks.insert(static_cast<int>(parse_integer(t[1], 0, 1 << 20))).second)
      throw InputError(
          t[1].span,
          fmt::format("rank {} again: several programs of one GPU each, not one of all", t[1].text),
          "build nccl-tests with MPI=1, and keep one run's output apart from another's");
    run_.hosts.insert(host->text);
    read_device(t);
    if (group && run_.groups.insert(group->text).second && run_.groups.size() > 1)
      throw InputError(group->span, "several groups reduce at the same time",
                       "run nccl-tests without NCCL_TESTS_SPLIT");
    run_.settings.ranks = *run_.ranks.rbegin() + 1;
    bool complete = static_cast<int>(run_.ranks.size()) == *run_.settings.ranks;
    run_.settings.nodes = complete ? std::optional(static_cast<int>(run_.hosts.size())) : std::nullopt;
  }

  // What follows the bus id: "[0000:04:00] NVIDIA H100".
  void read_device(const std::vector<Located>& t) {
    if (!run_.settings.device.empty()) return;
    auto bus = std::find_if(t.begin(), t.end(), [](const auto& cell) { return cell.text.starts_with('['); });
    for (; bus != t.end(); ++bus)
      if (!bus->text.starts_with('[')) run_.settings.device += bus->text + " ";
  }

  static void check_units(const std::vector<Located>& t) {
    for (const auto& cell : t)
      if (cell.text == "(ms)" || cell.text == "(s)" || cell.text == "(ns)")
        throw InputError(cell.span, fmt::format("times in {}, where nccl-tests prints (us)", cell.text),
                         "was the output changed by hand?");
  }

  // What the columns say that is measured, and whether the row reduces.
  void narrow(Operations& operations, const std::vector<Located>& t) const {
    const auto& layout = *run_.layout;
    Located none{"none", t[0].span}, unrooted{"-1", t[0].span};
    if (layout.redop) {
      narrow_by_reduction(operations, t[*layout.redop], layout.root ? &t[*layout.root] : nullptr);
      // Only alltoall_perf has a reduction's column, no root's, and reduces nothing.
      if (!layout.root && t[*layout.redop].text == "none")
        std::erase_if(operations, [](Operation operation) { return operation != Operation::all_to_all; });
      return;
    }
    narrow_by_reduction(operations, none, layout.root ? &t[*layout.root] : &unrooted);
    // Of the two that would be left all_to_all had a column for what it does not reduce.
    std::erase_if(operations, [&](Operation operation) {
      return is_pair(operation) != layout.is_of_pairs || operation == Operation::all_to_all;
    });
  }

  void read_row(std::vector<Located> t) {
    if (!run_.layout) run_.layout = classic_layout(t);
    const auto& layout = *run_.layout;
    run_.has_rows = true;
    // alltoall_perf printed none of its column of reductions.
    if (layout.redop && t.size() + 1 == layout.cells && *layout.redop < t.size() &&
        is_digits(t[*layout.redop].text.substr(0, 1)))
      t.insert(t.begin() + static_cast<std::ptrdiff_t>(*layout.redop), {"none", t[0].span});
    if (t.size() < layout.cells || t.size() > layout.most_cells)
      throw InputError(t.back().span,
                       fmt::format("a row of {} cell{}, where the table has {}", t.size(),
                                   t.size() == 1 ? "" : "s", layout.cells),
                       "is the output cut off, or mixed with other output (NCCL_DEBUG=INFO)?");
    const auto& type = t[layout.type];
    if (is_zero(t[0])) return;
    auto bytes = parse_size(t[0], 1);
    if (run_.settings.ranks == 1)
      throw InputError(t[0].span, "measured on one GPU", "a collective needs at least two");
    CollectiveTable like = run_.settings;
    if (like.operations.size() > 1 && run_.programs.size() == 1) like.operations = {*run_.programs.begin()};
    narrow(like.operations, t);
    like.data_type = data_type(type.text);
    if (layout.redop && t[*layout.redop].text != "sum" && t[*layout.redop].text != "none")
      like.title = t[*layout.redop].text;
    auto& table = table_like(run_.tables, like);
    auto measured = [&](std::size_t at) {
      return checked_time(bytes, {t[at], kMicrosecond, &t[at + 1], &t[at + 2], &t[at + 3]}, table);
    };
    std::optional<Seconds> in_place;
    auto out_of_place = measured(layout.out_of_place);
    if (layout.in_place && !is_missing(t[*layout.in_place])) in_place = measured(*layout.in_place);
    table.rows.push_back({bytes, out_of_place, in_place, t[0].span});
    auto at = layout.out_of_place;
    note_busbw_factor(table, {t[at], kMicrosecond, &t[at + 1], &t[at + 2], &t[at + 3]});
  }

  void end_run() {
    if (!run_.cut.empty())
      throw InputError(run_.cut.front().span, "NCCL's log cuts this row in two, and its rest does not follow",
                       "repeat the run without NCCL_DEBUG=INFO");
    if (run_.preamble.file && !run_.has_rows)
      throw InputError(run_.preamble, "this run has no rows", "is the output cut off?");
    for (auto& table : run_.tables) tables_.push_back(std::move(table));
    run_ = {};
  }

  std::shared_ptr<const SourceFile> source_;
  Run run_;
  std::vector<CollectiveTable> tables_;
};

}  // namespace

bool is_nccl_tests_console(const std::shared_ptr<const SourceFile>& source) {
  auto prefix = launchers_prefix(*source);
  for (std::size_t i = 0; i < source->lines.size(); ++i) {
    auto line = console_line(source, i, prefix);
    if (is_preamble(line) || is_header(line.tokens) || is_first_row(line.tokens)) return true;
  }
  return false;
}

std::vector<CollectiveTable> read_nccl_tests_console(const std::shared_ptr<const SourceFile>& source) {
  return Console(source).read();
}

}  // namespace ddpsim::calibrate
