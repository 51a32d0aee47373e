#include "sim/trace/trace_file.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "sim/base/check.hpp"
#include "sim/base/csv.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/suggest.hpp"
#include "sim/trace/trace_header.hpp"

namespace ddpsim {
namespace {

constexpr std::string_view kWhat = "a layer trace";

const std::vector<std::string>& known_columns() {
  static const std::vector<std::string> columns{"gradient",    "elements",  "dtype",    "ready_s",
                                                "ready_std_s", "forward_s", "parameter"};
  return columns;
}

struct Columns {
  std::size_t gradient, elements, dtype, ready;
  std::optional<std::size_t> ready_std, forward, parameter;
};

Columns find_columns(const CsvTable& table) {
  check_columns(table, known_columns(), kWhat);
  Columns columns{
      table.column("gradient"),      table.column("elements"),         table.column("dtype"),
      table.column("ready_s"),       table.find_column("ready_std_s"), table.find_column("forward_s"),
      table.find_column("parameter")};
  if (columns.forward && table.version < kNewestTraceVersion)
    throw InputError(table.header[*columns.forward].span,
                     fmt::format("column 'forward_s' in a file of version {}", table.version),
                     fmt::format("say so on the line '# {}: {}'", kTraceFormat, kNewestTraceVersion));
  return columns;
}

const Located& filled(const Located& field, std::string_view column) {
  if (field.text.empty())
    throw InputError(field.span, fmt::format("no {} here", column), "every gradient has one");
  return field;
}

std::string parse_name(const Located& field) {
  if (filled(field, "gradient name").text.find('\r') != std::string::npos)
    throw InputError(field.span, "a gradient's name holds a carriage return", "end lines with a line feed");
  return field.text;
}

Seconds parse_forward_end(const Located& field, const std::optional<Seconds>& forward) {
  Seconds end(parse_number(filled(field, "forward_s"), 0, kLongestDuration.value()));
  if (end > *forward)
    throw InputError(
        field.span, fmt::format("forward_s is after the forward pass, which takes {} s", forward->value()),
        "forward_s counts in seconds from the start of the forward pass; 'forward' of the header is its end");
  return end;
}

Gradient parse_gradient(const std::vector<Located>& row, const Columns& columns,
                        const std::optional<Seconds>& forward) {
  Gradient gradient;
  gradient.name = parse_name(row[columns.gradient]);
  gradient.elements = parse_integer(filled(row[columns.elements], "elements"), 1, kMostElements);
  gradient.dtype = parse_dtype(filled(row[columns.dtype], "dtype"));
  gradient.ready = Seconds(parse_number(filled(row[columns.ready], "ready_s"), 0, kLongestDuration.value()));
  // Not every gradient needs a spread.
  if (columns.ready_std && !row[*columns.ready_std].text.empty())
    gradient.ready_spread = Seconds(parse_number(row[*columns.ready_std], 0, kLongestDuration.value()));
  if (columns.forward) gradient.forward_end = parse_forward_end(row[*columns.forward], forward);
  return gradient;
}

std::vector<Gradient> parse_gradients(const CsvTable& table, const Columns& columns,
                                      const std::optional<Seconds>& forward) {
  if (columns.forward && !forward)
    throw InputError(table.header[*columns.forward].span,
                     "'forward_s' without the time of the whole forward pass",
                     "add it to the header: # forward: 12ms");
  if (table.rows.empty())
    throw InputError(whole_file(table.source), "has no gradients",
                     "a layer trace has one row a gradient, in arrival order");
  std::vector<Gradient> gradients;
  std::unordered_map<std::string, int> line_of;
  Bytes total;
  for (const auto& row : table.rows) {
    auto gradient = parse_gradient(row, columns, forward);
    const auto& name = row[columns.gradient];
    auto [first, inserted] = line_of.emplace(gradient.name, name.span.line);
    if (!inserted)
      throw InputError(name.span, fmt::format("gradient '{}' appears twice", gradient.name),
                       fmt::format("it is first on line {}", first->second));
    if (!gradients.empty() && gradient.ready < gradients.back().ready)
      throw InputError(
          row[columns.ready].span,
          fmt::format("ready_s is before the previous gradient's {}", gradients.back().ready.value()),
          "rows stand in arrival order: sort them by ready_s");
    total += gradient.bytes();
    if (total > kLargestByteCount)
      throw InputError(row[columns.elements].span, "the gradients up to here are more than 8 PiB",
                       "check the element counts");
    gradients.push_back(std::move(gradient));
  }
  if (gradients.back().ready == Seconds(0))
    throw InputError(table.rows.back()[columns.ready].span,
                     "all gradients are ready at 0: the backward pass has no times",
                     "ready_s counts in seconds from the start of the backward pass");
  return gradients;
}

std::vector<std::size_t> parse_registration_order(const CsvTable& table, const Columns& columns) {
  auto n = table.rows.size();
  if (!columns.parameter) return reverse_of_arrival(n);
  std::vector<std::optional<std::size_t>> gradient_of(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto& field = filled(table.rows[i][*columns.parameter], "parameter");
    auto parameter = static_cast<std::size_t>(parse_integer(field, 0, kMostElements));
    if (parameter >= n)
      throw InputError(field.span, fmt::format("parameter {} of {} gradients", parameter, n),
                       fmt::format("each of 0 to {} stands once; was the file cut short?", n - 1));
    auto& place = gradient_of[parameter];
    if (place)
      throw InputError(field.span, fmt::format("parameter {} appears twice", field.text),
                       fmt::format("it is first on line {}; each of 0 to {} stands once",
                                   table.rows[*place][*columns.parameter].span.line, n - 1));
    place = i;
  }
  std::vector<std::size_t> order;  // n distinct places out of n: all are taken
  for (const auto& place : gradient_of) order.push_back(*place);
  return order;
}

// What the rest of the program promises about a trace; a reader would refuse the file otherwise.
void check_promises(const LayerTrace& trace) {
  DDPSIM_CHECK(!trace.gradients.empty(), "a trace without gradients");
  for (const auto& time : {trace.forward, trace.optimizer})
    DDPSIM_CHECK(!time || (time->value() >= 0 && time->value() < kLongestDuration.value()),
                 "forward or optimizer is not a time");
  double previous = 0;
  for (const auto& gradient : trace.gradients) {
    DDPSIM_CHECK(!gradient.name.str().empty() &&
                     gradient.name.str().find_first_of(std::string_view("\0\r\n", 3)) == std::string::npos,
                 "a gradient's name that is not one line");
    DDPSIM_CHECK(gradient.elements >= 1 && gradient.elements <= kMostElements,
                 gradient.name.str() + " has no valid size");
    DDPSIM_CHECK(gradient.ready.value() >= previous && gradient.ready.value() <= kLongestDuration.value(),
                 gradient.name.str() + " is not in arrival order");
    previous = gradient.ready.value();
    const auto& end = gradient.forward_end;
    DDPSIM_CHECK(end.has_value() == trace.has_forward_ends(),
                 "some gradients have a forward time and some have none");
    DDPSIM_CHECK(!end || (trace.forward && *end >= Seconds(0) && *end <= *trace.forward),
                 gradient.name.str() + "'s layer is not within the forward pass");
  }
  auto order = trace.registration_order;
  std::sort(order.begin(), order.end(), std::greater<>());
  DDPSIM_CHECK(order == reverse_of_arrival(trace.gradients.size()),
               "registration_order is not a permutation");
  DDPSIM_CHECK(!trace.registration_guessed || trace.registration_order == order,
               "a guessed registration is the reverse of arrival");
}

}  // namespace

LayerTrace parse_trace(const LoadedText& text) {
  auto table = parse_csv(text, kWhat, kTraceFormat, kNewestTraceVersion);
  auto header = read_trace_header(table);
  auto columns = find_columns(table);
  LayerTrace trace;
  trace.metadata = std::move(header.metadata);
  trace.forward = header.forward;
  trace.optimizer = header.optimizer;
  trace.buffers = std::move(header.buffers);
  trace.gradients = parse_gradients(table, columns, trace.forward);
  check_counts(header, trace);
  trace.registration_order = parse_registration_order(table, columns);
  trace.registration_guessed = !columns.parameter;
  return trace;
}

LayerTrace read_trace(const std::string& path) {
  return parse_trace(load_text(path, kWhat));
}

std::string write_trace(const LayerTrace& trace) {
  check_promises(trace);
  const auto& gradients = trace.gradients;
  bool has_spread = std::any_of(gradients.begin(), gradients.end(),
                                [](const auto& g) { return g.ready_spread.has_value(); });
  bool has_forward = trace.has_forward_ends(), has_parameter = !trace.registration_guessed;
  std::vector<std::size_t> parameter(gradients.size());
  for (std::size_t i = 0; i < parameter.size(); ++i) parameter[trace.registration_order[i]] = i;

  auto out = write_trace_header(trace);
  out += fmt::format("gradient,elements,dtype,ready_s{}{}{}\n", has_spread ? ",ready_std_s" : "",
                     has_forward ? ",forward_s" : "", has_parameter ? ",parameter" : "");
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const auto& gradient = gradients[i];
    out += fmt::format("{},{},{},{}", csv_field(gradient.name), gradient.elements, dtype_name(gradient.dtype),
                       gradient.ready.value());
    if (has_spread) out += gradient.ready_spread ? fmt::format(",{}", gradient.ready_spread->value()) : ",";
    if (has_forward) out += fmt::format(",{}", gradient.forward_end->value());
    if (has_parameter) out += fmt::format(",{}", parameter[i]);
    out += '\n';
  }
  return out;
}

}  // namespace ddpsim
