#include "sim/trace/import/layer_times.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/csv.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/suggest.hpp"
#include "sim/model/transformer_modules.hpp"

namespace ddpsim {
namespace {

struct LayerTime {
  Seconds time, spread;
};

using Row = std::vector<Located>;
using RowsByName = std::map<std::string, const Row*>;

struct ExpectedRows {
  std::vector<std::string> names;
  std::string ignored;  // a further row that may stand there, dropped
  std::string in_words;
};

// The rows by the name of their layer: every expected one exactly once, and no others.
RowsByName index_rows(const CsvTable& table, const ExpectedRows& expected) {
  const auto& names = expected.names;
  auto name_column = table.column("Name");
  RowsByName rows;
  for (const auto& row : table.rows) {
    const auto& name = row[name_column];
    if (!expected.ignored.empty() && name.text == expected.ignored) continue;
    if (std::find(names.begin(), names.end(), name.text) == names.end())
      throw InputError(name.span,
                       fmt::format("unknown row '{}'{}", name.text, did_you_mean(name.text, names)),
                       fmt::format("the rows are {}", expected.in_words));
    auto [first, inserted] = rows.emplace(name.text, &row);
    if (!inserted)
      throw InputError(name.span, fmt::format("row '{}' appears twice", name.text),
                       fmt::format("it is first on line {}", (*first->second)[name_column].span.line));
  }
  for (const auto& name : names)
    if (!rows.contains(name))
      throw InputError(whole_file(table.source), fmt::format("has no row '{}'", name),
                       fmt::format("the rows are {}", expected.in_words));
  return rows;
}

// A row of both tables: a block, or a module of what stands around them.
struct Layer {
  std::string size_row, time_row;  // no times for the embeddings
  std::vector<TransformerModule> modules;
  [[nodiscard]] std::int64_t elements() const {
    return std::accumulate(modules.begin(), modules.end(), std::int64_t{0},
                           [](auto sum, const auto& module) { return sum + module.elements(); });
  }
};

Layer layer_around_blocks(const TransformerModule& module) {
  switch (module.role) {
    case ModuleRole::token_embedding:
      return {"Token embedding", "", {module}};
    case ModuleRole::position_embedding:
      return {"Position embedding", "", {module}};
    case ModuleRole::norm:
      return {"LayerNorm final", "ln_f grad", {module}};
    default:
      return {"LM head", "lm_head grad", {module}};
  }
}

// In forward order.
std::vector<Layer> layers_of(Transformer model, bool tied) {
  model.tied = tied;
  std::vector<Layer> layers;
  for (const auto& part : transformer_parts(model, model.positions)) {
    if (part.kind == TransformerPart::Kind::block)
      layers.push_back(
          {fmt::format("Block {}", part.block), fmt::format("block_{} grad", part.block), part.modules});
    else
      for (const auto& module : part.modules) layers.push_back(layer_around_blocks(module));
  }
  return layers;
}

std::optional<int> block_index(std::string_view name) {
  constexpr std::string_view kPrefix = "Block ";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  int index = 0;
  auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  if (error != std::errc() || rest != name.data() + name.size() || index < 0) return std::nullopt;
  return index;
}

// The model with as many blocks as the table; check_sizes then compares every row.
const Transformer& find_model(const CsvTable& table) {
  auto name_column = table.column("Name");
  int last = -1;
  const Located* last_name = nullptr;
  for (const auto& row : table.rows) {
    auto index = block_index(row[name_column].text);
    if (!index || *index <= last) continue;
    last = *index;
    last_name = &row[name_column];
  }
  std::vector<std::string> known;
  for (const auto& model : gpt2_presets()) {
    if (model.layers - 1 == last) return model;
    known.push_back(fmt::format("'Block {}' in {}", model.layers - 1, model.name));
  }
  auto hint = fmt::format("the last is {}", fmt::join(known, ", "));
  if (!last_name)
    throw InputError(whole_file(table.source), "has no rows 'Block 0', 'Block 1' and so on", hint);
  throw InputError(last_name->span, fmt::format("no GPT-2 ends with '{}'", last_name->text), hint);
}

void check_sizes(const CsvTable& table, const Transformer& model) {
  // Untied: the lm_head's row is the size of the weight it uses, shared or not.
  auto layers = layers_of(model, /*tied=*/false);
  ExpectedRows expected;
  expected.in_words =
      fmt::format("Token embedding, Position embedding, Block 0 to Block {}, LayerNorm final and LM head",
                  model.layers - 1);
  for (const auto& layer : layers) expected.names.push_back(layer.size_row);
  auto count_column = table.column("No. Params");
  auto rows = index_rows(table, expected);
  for (const auto& layer : layers) {
    const auto& field = (*rows.at(layer.size_row))[count_column];
    auto count = parse_integer(field, 1, kMostElements);
    if (count != layer.elements())
      throw InputError(field.span,
                       fmt::format("{} of {} has {} parameters, not {}", layer.size_row, model.name,
                                   layer.elements(), count),
                       fmt::format("with {} blocks the width is {}", model.layers, model.hidden));
  }
}

Seconds positive_seconds(const Located& field) {
  auto time = parse_number(field, 0, kLongestMeasurement.value());
  if (time == 0) throw InputError(field.span, "a time of zero", "a recorded time is above zero seconds");
  return Seconds(time);
}

// By the name of the row.
std::map<std::string, LayerTime> read_times(const CsvTable& table, const std::string& statistic,
                                            const Transformer& model) {
  // The "backward" row is the time of the call, not of the pass.
  ExpectedRows expected{{}, "backward", {}};
  expected.in_words = fmt::format("forward, lm_head grad, ln_f grad, block_0 grad to block_{} grad and step",
                                  model.layers - 1);
  for (const auto& layer : layers_of(model, /*tied=*/true))
    if (!layer.time_row.empty()) expected.names.push_back(layer.time_row);
  expected.names.insert(expected.names.end(), {"forward", "step"});
  auto time_column = table.column(statistic);
  auto spread_column = table.column("std");
  std::map<std::string, LayerTime> times;
  for (const auto& [name, row] : index_rows(table, expected))
    times[name] = {positive_seconds((*row)[time_column]),
                   Seconds(parse_number((*row)[spread_column], 0, kLongestMeasurement.value()))};
  return times;
}

// Walks the backward pass layer by layer; `variance` is that of the time at which the layer starts.
class BackwardPass {
 public:
  BackwardPass(LayerTrace& trace, DType dtype) : trace_(trace), dtype_(dtype) {}

  void run(const Layer& layer, LayerTime duration) {
    auto elements = static_cast<double>(layer.elements());
    std::int64_t done = 0;
    for (auto module = layer.modules.rbegin(); module != layer.modules.rend(); ++module) {
      done += module->elements();
      for (const auto& tensor : module->tensors) add(tensor, duration, static_cast<double>(done) / elements);
    }
    start_ += duration.time;
    variance_ += duration.spread.value() * duration.spread.value();
  }

 private:
  // `share` of the layer's time is over; within a layer that part varies with the layer as a whole.
  void add(const ParameterTensor& tensor, LayerTime duration, double share) {
    double part = duration.spread.value() * share;
    if (trace_.registration_order.size() <= tensor.parameter)
      trace_.registration_order.resize(tensor.parameter + 1);
    trace_.registration_order[tensor.parameter] = trace_.gradients.size();
    trace_.gradients.push_back({tensor.name, tensor.elements, dtype_, start_ + duration.time * share,
                                Seconds(std::sqrt(variance_ + part * part))});
  }

  LayerTrace& trace_;
  DType dtype_;
  Seconds start_;
  double variance_ = 0;
};

std::vector<std::string> notes(const LayerTimesImport& import) {
  auto file = [](const std::string& path) { return std::filesystem::path(path).filename().string(); };
  std::vector<std::string> lines{
      fmt::format("imported from {} and {}, taking the {} of each layer's time.", file(import.sizes_path),
                  file(import.times_path), import.statistic),
      "Layers follow each other without gaps: lm_head, ln_f, then the blocks from the last to the first.",
      "Inside a layer its modules run one after the other in the reverse of forward order; a module's share",
      "of the layer's time is its share of the elements, and its weight and bias are ready at its end.",
      "No time was recorded for the embeddings, so wpe and wte are ready when block 0 is done."};
  lines.emplace_back(import.tied_embedding
                         ? "wte is also the lm_head's weight: one gradient, ready when both uses are done."
                         : "lm_head.weight is a parameter of its own, ready after the lm_head's time.");
  lines.emplace_back("ready_std_s adds the standard deviations of the layers' times in quadrature.");
  return lines;
}

}  // namespace

LayerTrace import_layer_times(const LayerTimesImport& import) {
  const std::vector<std::string> statistics{"mean", "median"};
  if (std::find(statistics.begin(), statistics.end(), import.statistic) == statistics.end())
    throw InputError(
        fmt::format("unknown statistic '{}'{}", import.statistic, did_you_mean(import.statistic, statistics)),
        fmt::format("the statistics are {}", fmt::join(statistics, " and ")));
  auto sizes = read_csv(import.sizes_path, "a table of layer sizes");
  const auto& model = find_model(sizes);
  check_sizes(sizes, model);
  auto times = read_times(read_csv(import.times_path, "a table of layer times"), import.statistic, model);

  LayerTrace trace;
  BackwardPass backward(trace, import.dtype);
  auto layers = layers_of(model, import.tied_embedding);
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    auto recorded = times.find(layer->time_row);
    backward.run(*layer, recorded == times.end() ? LayerTime{} : recorded->second);
  }
  trace.forward = times.at("forward").time;
  trace.optimizer = times.at("step").time;
  trace.metadata = import.metadata;
  if (!trace.metadata.model) trace.metadata.model = model.name;
  for (auto& note : notes(import)) trace.metadata.notes.push_back(std::move(note));
  return trace;
}

TraceImporter layer_times_importer() {
  return {"layer-times",
          {"SIZES.csv", "TIMES.csv"},
          "parameters per layer and gradient times per layer of a GPT-2",
          {"--statistic", "--dtype", "--untied"},
          [](const ImportRequest& request) {
            LayerTimesImport import;
            import.sizes_path = request.inputs[0];
            import.times_path = request.inputs[1];
            import.statistic = request.statistic.value_or(import.statistic);
            import.tied_embedding = !request.untied;
            import.dtype = request.dtype.value_or(import.dtype);
            import.metadata = request.metadata;
            return ImportedTrace{import_layer_times(import), std::nullopt, {}};
          }};
}

}  // namespace ddpsim
