#include "sim/cli/number_lists.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "sim/base/quantity.hpp"

namespace ddpsim::cli {
namespace {

constexpr std::size_t kMostSizes = 10'000;

// The parts of a text between separators, each with its place.
std::vector<Located> split(const Located& text, char separator) {
  std::vector<Located> parts;
  std::size_t begin = 0;
  while (true) {
    auto end = std::min(text.text.find(separator, begin), text.text.size());
    auto length = end - begin;
    parts.push_back(
        {text.text.substr(begin, length), text.span.part(static_cast<int>(begin), static_cast<int>(length))});
    if (end == text.text.size()) return parts;
    begin = end + 1;
  }
}

Bytes size_of(const Located& text) {
  auto bytes = parse_bytes(text);
  if (bytes <= Bytes(0))
    throw InputError(text.span, fmt::format("'{}' communicates nothing", text.text), "write 25MiB");
  return bytes;
}

// In a range bare numbers are bytes, as nccl-tests takes them.
Bytes end_of_range(const Located& text) {
  bool is_bare = !text.text.empty() && text.text.find_first_not_of("0123456789") == std::string::npos;
  return size_of(is_bare ? Located{text.text + "B", text.span} : text);
}

void add_range(const std::vector<Located>& parts, std::vector<Bytes>& sizes) {
  if (parts.size() > 3) throw InputError(parts[3].span, "a range is FROM:TO:FACTOR", "write 8B:8GiB:2");
  auto from = end_of_range(parts[0]), to = end_of_range(parts[1]);
  double factor = parts.size() == 3 ? parse_number(parts[2], 1.01, 1e6) : 2;
  if (to < from)
    throw InputError(parts[1].span, "the range ends before it starts", "write the smaller size first");
  for (auto bytes = from; bytes <= to && sizes.size() <= kMostSizes;
       bytes = Bytes(std::max(bytes.value() + 1, std::round(bytes.value() * factor))))
    sizes.push_back(bytes);
}

}  // namespace

std::vector<Bytes> parse_number_lists(const std::string& text, const char* option) {
  std::vector<Bytes> sizes;
  auto source = make_source(option, text);
  if (text.find_first_of(",:") == std::string::npos) return {size_of({text, whole_file(source)})};
  for (const auto& item : split({text, {source, 1, 1, static_cast<int>(text.size())}}, ',')) {
    auto parts = split(item, ':');
    if (parts.size() == 1)
      sizes.push_back(size_of(item));
    else
      add_range(parts, sizes);
    if (sizes.size() > kMostSizes)
      throw InputError(item.span, fmt::format("more than {} sizes", kMostSizes), "take a larger factor");
  }
  return sizes;
}

std::vector<int> parse_counts(const std::string& text, const char* option, int most) {
  std::vector<int> counts;
  auto source = make_source(option, text);
  auto count_of = [most](const Located& part) {
    if (auto dash = part.text.find('-'); dash != std::string::npos && dash > 0)
      throw InputError(part.span, fmt::format("'{}' is not a number", part.text),
                       fmt::format("a range is FROM:TO:FACTOR: {}:{}:2", part.text.substr(0, dash),
                                   part.text.substr(dash + 1)));
    double number = parse_number(part, 1, most);
    if (number != std::floor(number))
      throw InputError(part.span, fmt::format("'{}' is not a whole number", part.text), "write 64");
    return static_cast<int>(number);
  };
  for (const auto& item : split({text, {source, 1, 1, static_cast<int>(text.size())}}, ',')) {
    auto parts = split(item, ':');
    if (parts.size() > 3) throw InputError(parts[3].span, "a range is FROM:TO:FACTOR", "write 8:4096:2");
    int from = count_of(parts[0]), to = parts.size() > 1 ? count_of(parts[1]) : from;
    double factor = parts.size() == 3 ? parse_number(parts[2], 1.01, 1e6) : 2;
    if (to < from)
      throw InputError(parts[1].span, "the range ends before it starts", "write the smaller number first");
    for (double next = from; next <= to; next = std::max(next + 1, std::round(next * factor)))
      counts.push_back(static_cast<int>(next));
    if (counts.size() > kMostSizes)
      throw InputError(item.span, fmt::format("more than {} numbers", kMostSizes), "take a larger factor");
  }
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

}  // namespace ddpsim::cli
