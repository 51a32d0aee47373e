#include "sim/text/attention_kernels.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/suggest.hpp"
#include "sim/keys/types.hpp"
#include "sim/text/file_rows.hpp"
#include "sim/text/presets.hpp"

namespace ddpsim {
namespace {

using namespace keys;

struct Table {
  Value kernels = {};
};

const Section& table_rows() {
  static const Section section = Rows<Table>("attention_kernels")
                                     .kind("attention_kernels")
                                     .needs<&Table::kernels>("kernels", any(), "By kernel, then by GPU");
  return section;
}

const std::vector<config::Entry>& map_of(const Value& value) {
  if (value.kind != Value::Kind::map || value.entries.empty())
    throw InputError(value.span, "kernels and their GPUs are maps",
                     "write them like fa2: {A100: {attention: 0.59}}");
  return value.entries;
}

const Table& table() {
  static const Table read = [] {
    auto path = find_preset(PresetKind::kernels, "attention").value_or("kernels/attention.yaml");
    return read_root<Table>(table_rows(), config::load_yaml(path, "kernels"));
  }();
  return read;
}

}  // namespace

std::vector<std::string> attention_kernels() {
  std::vector<std::string> names;
  for (const auto& kernel : map_of(table().kernels)) names.push_back(kernel.key);
  return names;
}

void take_kernel(Software& software, const Located& kernel, const GpuNames& gpu) {
  software.flash = kernel.text != "unfused";
  if (!software.flash || kernel.text == "flash") return;
  const auto* known = table().kernels.find(kernel.text);
  if (!known) {
    auto names = attention_kernels();
    names.insert(names.begin(), {"flash", "unfused"});
    throw InputError(
        kernel.span,
        fmt::format("no attention kernel is called '{}'{}", kernel.text, did_you_mean(kernel.text, names)),
        fmt::format("those with a name are {}", fmt::join(names, ", ")));
  }
  const auto& gpus = map_of(known->value);
  auto [entry, of] = entry_for(gpus, gpu);
  software.is_kernel_for_gpu = of == GpuEntry::Of::itself;
  software.attention_ramp = 0, software.narrow_heads = 1;
  Places places;
  read_section(file_rows::attention_shares(), entry.value, &software, {places});
}

}  // namespace ddpsim
