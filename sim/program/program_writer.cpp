#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/quantity.hpp"
#include "sim/program/written_program.hpp"

namespace ddpsim {
namespace {

struct ExactUnit {
  std::string_view name;
  double factor;
};
constexpr std::array<ExactUnit, 4> kTimeUnits{{{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}}};
constexpr std::array<ExactUnit, 4> kSizeUnits{
    {{"B", 1}, {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}}};

// The fewest digits that read back, in the largest unit of which there is one; where there are none, in s,
// without a product.
std::string exact_time(Seconds time) {
  constexpr Seconds kMostByDigits(1e6);
  constexpr int kMostDigits = 17;
  for (const auto& [name, factor] : kTimeUnits) {
    if (time.value() < factor || time > kMostByDigits) continue;
    for (int digits = 3; digits <= kMostDigits; ++digits) {
      auto text = fmt::format("{:.{}g}{}", time.value() / factor, digits, name);
      if (text.find('e') == std::string::npos && parse_seconds({text, {}}) == time) return text;
    }
  }
  return fmt::format("{}s", time.value());
}

// The shortest that reads back.
std::string exact_size(Bytes bytes) {
  std::string shortest;
  for (const auto& [name, factor] : kSizeUnits) {
    auto text = fmt::format("{}{}", bytes.value() / factor, name);
    if (shortest.empty() || text.size() < shortest.size()) shortest = text;  // by powers of two: exact
  }
  return shortest;
}

std::string communicator_line(const WrittenCommunicator& one) {
  const auto& [axis, size, stride] = one.ranks;
  if (!axis.empty()) return fmt::format("communicator {}: axis {}\n", one.name, axis);
  auto apart = stride > 1 ? fmt::format(" {} apart", stride) : "";
  return fmt::format("communicator {}: {} ranks{}\n", one.name, size, apart);
}

// By op, each once: "backward.3", "all_gather.3'2".
std::vector<std::string> names_of(const Program& program) {
  std::map<std::pair<Activity, std::size_t>, int> copies;
  std::vector<std::string> names;
  for (const auto& op : program.ops) {
    int copy = ++copies[{op.activity, op.index}];
    auto name = fmt::format("{}.{}", activity_name(op.activity), op.index);
    names.push_back(copy > 1 ? fmt::format("{}'{}", name, copy) : name);
  }
  return names;
}

std::string ops_text(const Program& program, const std::vector<WrittenCommunicator>& communicators) {
  auto names = names_of(program);
  std::string text;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const auto& op = program.ops[i];
    text += names[i] + ": ";
    if (op.kind == Op::Kind::compute) {
      text += fmt::format("compute {}{}", exact_time(op.duration), op.is_fixed ? " fixed" : "");
      if (op.lane > 0) text += fmt::format(" stream {}", op.lane);
    } else {
      text += fmt::format("{} {} on {}", operation_name(op.operation), exact_size(op.bytes),
                          communicators.at(op.communicator).name);
      if (op.duration != Seconds()) text += fmt::format(" plus {}", exact_time(op.duration));
    }
    if (!op.after.empty()) text += " after";
    for (auto awaited : op.after) text += " " + names[awaited];
    text += "\n";
  }
  return text;
}

}  // namespace

std::string write_program(const WrittenProgram& written) {
  std::string text;
  if (written.micro_batches != 1) text += fmt::format("micro_batches {}\n", written.micro_batches);
  for (const auto& one : written.communicators) text += communicator_line(one);
  for (const auto& one : written.classes) {
    if (!one.name.empty()) text += fmt::format("class {}:\n", one.name);
    for (const auto& own : one.communicators) text += communicator_line(own);
    auto communicators = written.communicators;
    communicators.insert(communicators.end(), one.communicators.begin(), one.communicators.end());
    text += ops_text(one.program, communicators);
  }
  return text;
}

}  // namespace ddpsim
