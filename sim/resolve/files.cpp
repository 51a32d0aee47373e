#include "sim/resolve/files.hpp"

#include <filesystem>

#include <fmt/core.h>

#include "sim/base/file_stamps.hpp"
#include "sim/config/overrides.hpp"
#include "sim/text/gpu_file.hpp"
#include "sim/text/nccl_calibration.hpp"
#include "sim/text/software_file.hpp"
#include "sim/trace/trace_file.hpp"

namespace ddpsim {
namespace {

// What was read from a file.
template <class T>
struct FileKey {
  using Value = std::shared_ptr<const T>;
  std::string path;
  auto operator<=>(const FileKey&) const = default;
};

struct SoftwareKey {
  using Value = Software;
  std::string path;
  GpuNames gpu;
  auto operator<=>(const SoftwareKey&) const = default;
};

// Where a file is, by what names it and whether that was given by --set.
struct PathKey {
  using Value = std::string;
  PresetKind kind;
  std::string name;
  bool is_typed;
  auto operator<=>(const PathKey&) const = default;
};

struct ModelPlaceKey {
  using Value = NamedModel;
  std::string name;
  bool is_typed;
  auto operator<=>(const ModelPlaceKey&) const = default;
};

template <class T, class Read>
std::shared_ptr<const T> read_once(Files& files, const std::string& path, const Read& read) {
  return files.once(FileKey<T>{path}, [&] { return std::make_shared<const T>(read(path)); });
}

std::string full_path(const Located& path, const std::string& scenario) {
  namespace fs = std::filesystem;
  fs::path given(path.text);
  bool as_it_is = given.is_absolute() || path.span.is_typed();
  return (as_it_is ? given : (fs::path(scenario).parent_path() / given).lexically_normal()).string();
}

// What a scenario names must be there; why another file cannot be read, its reader says.
std::string existing(std::string path, const Located& named) {
  std::error_code unknown;
  if (std::filesystem::status(path, unknown).type() != std::filesystem::file_type::not_found) return path;
  throw InputError(named.span, fmt::format("there is no file '{}'", path),
                   named.span.is_typed() ? "check the path; it is relative to the current folder"
                                         : "check the path; it is relative to the scenario's folder");
}

// `cluster.nics` and others, as they stand in the topology's file.
TopologyChanges topology_changes(const GivenJob& given) {
  TopologyChanges changes;
  for (auto [section, of_file] : {std::pair("nics", "node.nics"),
                                  {"interconnect", "node.interconnect"},
                                  {"node", "node"},
                                  {"fabric", "fabric"},
                                  {"socket", "nccl.socket"}})
    if (const auto* value = config::find_at(given.root, fmt::format("cluster.{}", section)))
      for (const auto& entry : value->entries)
        changes.push_back({fmt::format("{}.{}", of_file, entry.key), entry.key_span, entry.value});
  return changes;
}

}  // namespace

JobTexts texts_of(const GivenJob& given, std::initializer_list<std::string_view> paths) {
  JobTexts all;
  for (auto path : paths) {
    const auto* value = config::find_at(given.root, path);
    all.push_back(value ? *value : config::Value());
  }
  return all;
}

std::string Files::path_of(const Located& path) const {
  return existing(full_path(path, path_), path);
}

std::string Files::path_of(PresetKind kind, const Located& name_or_path) {
  return once(PathKey{kind, name_or_path.text, name_or_path.span.is_typed()}, [&] {
    // A file beside the scenario comes before a preset of that name.
    auto path = full_path(name_or_path, path_);
    stamp_file(path);
    std::error_code unreadable;
    if (!std::filesystem::is_regular_file(path, unreadable))
      path = preset_file(kind, name_or_path).value_or(path);
    return existing(path, name_or_path);
  });
}

NamedModel Files::model(const Located& name_or_path) {
  return once(ModelPlaceKey{name_or_path.text, name_or_path.span.is_typed()}, [&] {
    // A file beside the scenario comes before a model of that name.
    auto path = full_path(name_or_path, path_);
    stamp_file(path);
    std::error_code unreadable;
    if (!std::filesystem::is_regular_file(path, unreadable))
      if (auto named = find_named_model(name_or_path)) return *std::move(named);
    return NamedModel{nullptr, existing(path, name_or_path)};
  });
}

KnownGpu Files::gpu(const std::string& path) {
  return {path, read_once<GpuDescription>(*this, path, read_gpu)};
}

std::shared_ptr<const LayerTrace> Files::trace(const std::string& path) {
  return read_once<LayerTrace>(*this, path, read_trace);
}

std::shared_ptr<const MeasuredTable> Files::measured_table(const std::string& path) {
  return read_once<MeasuredTable>(*this, path, read_measured_table);
}

std::shared_ptr<const nccl::Calibration> Files::calibration(const std::string& path) {
  return read_once<nccl::Calibration>(*this, path, read_calibration);
}

const Software& Files::software(const std::string& path, const GpuNames& gpu) {
  return once(SoftwareKey{path, gpu}, [&] { return read_software(path, gpu); });
}

TopologyKey topology_key(Files& files, const GivenJob& given) {
  auto named = given.located(*given.job.cluster.topology, "cluster.topology");
  return {files.path_of(PresetKind::topologies, named), topology_changes(given)};
}

std::shared_ptr<const Topology> find_topology(Files& files, const GivenJob& given) {
  auto key = topology_key(files, given);
  return files.once(key, [&] { return read_topology(key.file, key.changes); });
}

KnownGpu find_gpu(Files& files, const GivenJob& given) {
  const auto& cluster = given.job.cluster;
  if (cluster.gpu == "none") return {};
  if (cluster.gpu)
    return files.gpu(files.path_of(PresetKind::gpus, given.located(*cluster.gpu, "cluster.gpu")));
  if (!cluster.topology) return {};
  const auto& named = find_topology(files, given)->gpu;
  return named ? files.gpu(*named) : KnownGpu();
}

}  // namespace ddpsim
