#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/output_file.hpp"
#include "sim/base/quantity.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/list_backends.hpp"
#include "sim/cli/preset_options.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/nccl/names.hpp"
#include "sim/report/preset_list.hpp"
#include "sim/resolve/rccl.hpp"
#include "sim/resolve/workload_model.hpp"
#include "sim/text/attention_kernels.hpp"
#include "sim/text/evidence_file.hpp"
#include "sim/text/gpu_file.hpp"
#include "sim/text/nccl_calibration.hpp"
#include "sim/text/presets.hpp"
#include "sim/text/software_file.hpp"
#include "sim/text/topology_file.hpp"
#include "sim/text/weather_file.hpp"

namespace ddpsim::cli {
namespace {

struct ListOptions {
  std::string kind, json;
};

PresetFact word(std::string key, const std::string& text) {
  auto heading = key;
  return {std::move(key), std::move(heading), text, text};
}

PresetFact count(std::string key, std::string heading, const std::optional<std::int64_t>& number,
                 const std::string& none = "-") {
  if (!number) return {std::move(key), std::move(heading), {}, none};
  return {std::move(key), std::move(heading), *number, fmt::format("{}", *number)};
}

// The first sentence of the comment at the top of the file, or what stands before its first colon.
std::string title_of(const std::string& path) {
  auto text = load_text(path, "a preset");
  std::string comment;
  for (const auto& line : text.source->lines) {
    if (!line.starts_with("#")) break;
    auto words = line.substr(std::min(line.size(), line.find_first_not_of("# ")));
    comment += (comment.empty() ? "" : " ") + std::string(words);
  }
  auto end = std::min({comment.find(": "), comment.find(". "), comment.size()});
  comment.resize(end);
  if (comment.ends_with('.')) comment.pop_back();
  return comment;
}

// Models with just its sizes.
PresetFact also_called(const Transformer& sizes) {
  auto aliases = transformer_aliases(sizes.name);
  if (aliases.empty()) return {"also", "also", {}, "-"};
  return word("also", fmt::format("{}", fmt::join(aliases, ", ")));
}

PresetRow model_row(const std::string& name) {
  AnyModel model;
  if (const auto* known = find_transformer(name))
    model.transformer = *known;
  else
    model = read_any_model(*find_preset(PresetKind::models, name));
  if (!model.transformer) {
    auto elements = static_cast<std::int64_t>(model.layers->elements());
    return {word("name", name),
            count("parameters", "parameters", elements),
            count("layers", "layers", static_cast<std::int64_t>(model.layers->layers.size())),
            count("hidden", "hidden", {}),
            word("kind", "list of layers"),
            PresetFact{"also", "also", {}, "-"}};
  }
  const auto& sizes = *model.transformer;
  bool is_as_long = sizes.positions == Transformer::kAsLongAsTheSequence;
  auto kind = is_as_long ? fmt::format("transformer; and {} parameters a token of the sequence", sizes.hidden)
                         : std::string("transformer");
  return {word("name", name),
          count("parameters", "parameters", sizes.parameters(0)),
          count("layers", "layers", sizes.layers),
          count("hidden", "hidden", sizes.hidden),
          word("kind", kind),
          also_called(sizes)};
}

PresetRow gpu_row(const std::string& name) {
  auto gpu = read_gpu(*find_preset(PresetKind::gpus, name));
  auto memory = static_cast<std::int64_t>(gpu.memory.value());
  PresetFact peak{"bfloat16_flops_per_s", "bf16 peak", {}, "-"};
  if (auto found = gpu.peak.find(Precision::bfloat16); found != gpu.peak.end()) {
    peak.value = found->second.value();
    peak.text = format_flops_rate(found->second);
  }
  return {word("name", name),
          {"memory_bytes", "memory", memory, fmt::format("{:.4g} GB", gpu.memory.value() / 1e9)},
          peak,
          word("device", gpu.name)};
}

PresetRow topology_row(const std::string& name) {
  auto path = *find_preset(PresetKind::topologies, name);
  auto topology = read_topology(path);
  auto kind = config::load_yaml(path, "a topology").find("kind")->value.scalar;
  return {word("name", name), word("kind", kind),
          count("gpus_per_node", "GPUs a node", topology->usual_size(), "any"),
          word("gpu", topology->gpu ? std::filesystem::path(*topology->gpu).stem().string() : "-"),
          word("about", title_of(path))};
}

PresetRow software_row(const std::string& name) {
  auto path = *find_preset(PresetKind::software, name);
  std::vector<std::string> machines;
  for (const auto& gpu : software_gpus(path))
    machines.push_back(fmt::format("{} (products {:.2f} of the peak)", gpu, read_software(path, gpu).gemm));
  return {word("name", name),
          {"fitted_on", "fitted on", fmt::format("{}", fmt::join(software_gpus(path), ", ")),
           fmt::format("{}", fmt::join(machines, ", "))},
          word("about", title_of(path))};
}

PresetRow kernels_row(const std::string& name) {
  return {word("name", name), word("kernels", fmt::format("{}", fmt::join(attention_kernels(), ", "))),
          word("about", title_of(*find_preset(PresetKind::kernels, name)))};
}

PresetRow fabric_row(const std::string& name) {
  auto path = *find_preset(PresetKind::fabrics, name);
  const auto& most = read_weather_file(path).rows.back();
  return {word("name", name),
          {"shares", "share of the bandwidth, p5 to p95",
           fmt::format("{}, {}, {}", most.p5, most.median, most.p95),
           fmt::format("{:.3g} to {:.3g} %, median {:.3g} %, on {} nodes", 100 * most.p5, 100 * most.p95,
                       100 * most.median, most.nodes)},
          word("about", title_of(path))};
}

// What was measured: tables and GPUs.
PresetRow calibration_row(const std::string& name) {
  auto path = *find_preset(PresetKind::calibrations, name);
  auto calibration = read_calibration(path);
  std::vector<std::string> curves, tables;
  auto add = [&](const std::string& curve, const std::vector<nccl::FittedRows>& fitted_to) {
    curves.push_back(curve);
    for (const auto& rows : fitted_to)
      if (std::find(tables.begin(), tables.end(), rows.table) == tables.end()) tables.push_back(rows.table);
  };
  for (const auto& entry : calibration.entries)
    add(fmt::format("all_reduce {}{}", nccl::name(entry.algorithm),
                    entry.across_nodes ? " across nodes" : ""),
        entry.fitted_to);
  for (const auto& entry : calibration.node)
    add(std::string(operation_name(entry.operation)), entry.fitted_to);
  return {word("name", name), word("curves", fmt::format("{}", fmt::join(curves, ", "))),
          word("fitted_to", fmt::format("{}", fmt::join(tables, "; ")))};
}

PresetRow config_row(const std::string& name) {
  return {word("name", name), word("about", title_of(*find_preset(PresetKind::configs, name)))};
}

PresetRow evidence_row(const std::string& name) {
  auto path = *find_preset(PresetKind::evidence, name);
  return {word("name", name),
          count("classes", "classes", static_cast<std::int64_t>(read_evidence(path).lines.size())),
          word("about", title_of(path))};
}

PresetRow row_of(PresetKind kind, const std::string& name) {
  using Row = PresetRow (*)(const std::string&);
  static const std::map<PresetKind, Row> rows{{PresetKind::topologies, topology_row},
                                              {PresetKind::gpus, gpu_row},
                                              {PresetKind::models, model_row},
                                              {PresetKind::software, software_row},
                                              {PresetKind::kernels, kernels_row},
                                              {PresetKind::fabrics, fabric_row},
                                              {PresetKind::calibrations, calibration_row},
                                              {PresetKind::evidence, evidence_row},
                                              {PresetKind::configs, config_row}};
  return rows.at(kind)(name);
}

PresetRow kind_row(PresetKind kind) {
  auto names = preset_names(kind);
  auto number = static_cast<std::int64_t>(names.size());
  return {word("kind", folder_of(kind)), count("names", "names", number),
          word("example", names.empty() ? "-" : names.front())};
}

// Not presets, but listed like them.
constexpr std::string_view kBackendsKind = "backends";

std::vector<PresetRow> rows_of(const std::string& kind) {
  if (kind == kBackendsKind) return backend_rows();
  std::vector<PresetRow> rows;
  if (kind.empty()) {
    for (auto each : preset_kinds()) rows.push_back(kind_row(each));
    return rows;
  }
  for (const auto& name : preset_names(preset_kind(kind))) rows.push_back(row_of(preset_kind(kind), name));
  return rows;
}

// What the table does not tell: how much is known of AMD's.
void say_of_amd() {
  std::vector<std::string> names;
  for (const auto& name : preset_names(PresetKind::gpus))
    if (is_of_amd(read_gpu(*find_preset(PresetKind::gpus, name)))) names.push_back(name);
  if (names.empty()) return;
  fmt::print(
      "\nof AMD's ({}) the data sheets are known: no step and no collective of theirs was measured here\n",
      fmt::join(names, ", "));
}

void say_of_backends() {
  fmt::print(
      "\nGPUs: a topology of machines; without what NCCL has to know, its times are plain schedules over the "
      "links\nCPUs: a topology of links alone (kind: ring), which join processes\n");
}

void list(const ListOptions& options) {
  check_outputs({{"--json", options.json}});
  auto rows = rows_of(options.kind);
  OutputPhase writing;
  write_output(options.json,
               [&] { return preset_json(options.kind.empty() ? "kinds" : options.kind, rows); });
  if (options.json == "-") return;
  fmt::print("{}", preset_table(rows));
  if (options.kind == folder_of(PresetKind::gpus)) say_of_amd();
  if (options.kind == kBackendsKind) say_of_backends();
  if (options.kind.empty()) fmt::print("\n'ddpsim list KIND' lists the names of a kind\n");
}

std::vector<std::string> names_of_lists() {
  auto names = names_of_kinds();
  names.emplace_back(kBackendsKind);
  return names;
}

}  // namespace

Command list_command() {
  auto options = std::make_shared<ListOptions>();
  return {.name = "list",
          .description = "What has a name: models, GPUs, topologies, software, scenarios, libraries, ...",
          .example = "  ddpsim list gpus",
          .options = {{.name = "KIND",
                       .value = &options->kind,
                       .description =
                           "models, gpus, topologies, software, fabrics, calibrations, evidence or configs; "
                           "backends; without it the kinds of presets",
                       .refuses_empty = true,
                       .names = names_of_lists},
                      output_option("--json", &options->json,
                                    "Write the list as JSON; '-' is standard output", "PATH|-")},
          .run = [options] { list(*options); }};
}

}  // namespace ddpsim::cli
