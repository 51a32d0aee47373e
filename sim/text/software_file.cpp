#include "sim/text/software_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/double_quoted.hpp"
#include "sim/base/limits.hpp"
#include "sim/config/reader.hpp"
#include "sim/variability/expected_slowest.hpp"

namespace ddpsim {
namespace {

using config::MapReader;
using config::Value;

enum class SoftwareKind { software };

auto as_positive(double highest) {
  return [=](const Value& value) {
    double number = config::as_number(0, highest)(value);
    if (number == 0) throw InputError(value.span, "nothing would ever end", "write a number above 0");
    return number;
  };
}

void read_shares(MapReader& reader, Software& software) {
  auto share = as_positive(1.5);  // of a data sheet's peak; a boost clock can beat it
  auto set = [&](const char* key, double& number, const auto& convert) {
    number = reader.optional(key, convert).value_or(number);
  };
  set("gemm", software.gemm, share);
  set("attention", software.attention, share);
  set("elementwise", software.elementwise, as_positive(100));
  set("memory", software.memory, share);
  set("queue", software.queue, config::as_number(1, 1000));
  set("k_ramp", software.k_ramp, config::as_number(0, 1e6));
  set("unaligned", software.unaligned, share);
  set("unaligned_attention", software.unaligned_attention, share);
  set("fp8_cast", software.fp8_cast, config::as_number(0, 1000));
  set("loss_bytes", software.loss_bytes, config::as_number(0, 1000));
  set("optimizer_bytes", software.optimizer_bytes, config::as_number(0, 1000));
  software.host = reader.optional("host", config::as_seconds).value_or(software.host);
  if (auto types = reader.optional(
          "types", config::as_list(config::as_word(config::words_of(kWorkloadPrecisionNames)))))
    software.types = *types;
  software.judged_error = reader.optional("judged_error", config::as_number(0, 10));
}

void read_memory_use(const Value& value, Software& software) {
  MapReader reader(value, "memory_use");
  auto& memory = software.memory_use;
  memory.fragmentation =
      reader.optional("fragmentation", config::as_number(1, 10)).value_or(memory.fragmentation);
  memory.overhead = reader.optional("overhead", config::as_bytes).value_or(memory.overhead);
  memory.logit_bytes =
      reader.optional("logit_bytes", config::as_number(0, 1000)).value_or(memory.logit_bytes);
  memory.dropout = reader.optional("dropout", config::as_bool).value_or(memory.dropout);
  reader.finish();
}

Software::Scope read_scope(const Value& value) {
  MapReader reader(value, "scope");
  auto count = config::as_integer(1, kLargestWorldSize);
  Software::Scope scope{static_cast<int>(reader.required("gpus", count)),
                        static_cast<int>(reader.required("tensor", count))};
  reader.finish();
  return scope;
}

const std::vector<config::Entry>& entries_of(const Value& gpus) {
  if (gpus.kind != Value::Kind::map || gpus.entries.empty())
    throw InputError(gpus.span, "'gpus' is a map from a GPU's name to its shares",
                     "write it like H100: {gemm: 0.74}");
  return gpus.entries;
}

// The entry for a GPU, or the last one: what is newest stands at the end.
const config::Entry& entry_for(const Value& gpus, std::string_view gpu, bool& is_for_gpu) {
  for (const auto& entry : entries_of(gpus))
    if (gpu.find(entry.key) != std::string_view::npos) return entry;
  is_for_gpu = false;
  return gpus.entries.back();
}

}  // namespace

Software read_software(const std::string& path, std::string_view gpu) {
  Value root = config::load_yaml(path, "software");
  MapReader reader(root, "software");
  reader.required("kind", config::as_word(config::Words<SoftwareKind>{{"software", SoftwareKind::software}}));
  Software software;
  software.name = reader.required("name", config::as_string);
  software.flash =
      reader.required("attention", config::as_word(config::Words<bool>{{"flash", true}, {"unfused", false}}));
  software.host = reader.required("host", config::as_seconds);
  software.tensor_hidden = reader.optional("tensor_hidden", config::as_number(0, 1));
  software.early_stop = reader.optional("early_stop", config::as_bool).value_or(false);
  software.ranks = static_cast<int>(
      reader.optional("ranks", config::as_integer(1, kLargestWorldSize)).value_or(software.ranks));
  software.spread = reader.optional("spread", config::as_number(0, kLargestSpread)).value_or(kUsualSpread);
  if (const Value* scope = reader.find("scope")) software.scope = read_scope(*scope);
  const Value& gpus = reader.require("gpus");
  if (const Value* memory = reader.find("memory_use")) read_memory_use(*memory, software);
  reader.finish();
  const auto& entry = entry_for(gpus, gpu, software.is_for_gpu);
  MapReader shares(entry.value, entry.key);
  read_shares(shares, software);
  shares.finish();
  software.fitted_on = entry.key;
  if (software.gemm == 0)
    throw InputError(entry.value.span, "nothing says what share of the peak products reach", "add gemm: 0.7");
  if (software.flash && software.attention == 0)
    throw InputError(entry.value.span, "nothing says what share of the peak the flash kernel reaches",
                     "add attention: 0.3, or say attention: unfused");
  return software;
}

std::vector<std::string> software_gpus(const std::string& path) {
  Value root = config::load_yaml(path, "software");
  std::vector<std::string> gpus;
  for (const auto& entry : entries_of(MapReader(root, "software").require("gpus"))) gpus.push_back(entry.key);
  return gpus;
}

std::string write_software(const Software& software, const std::string& gpu, const std::string& comment) {
  std::string text = "# ";
  for (char c : comment) text += c == '\n' ? std::string("\n# ") : std::string(1, c);
  const auto& memory = software.memory_use;
  text += fmt::format(
      "\nkind: software\nname: {}\nattention: {}\nhost: {:.10g}us\nearly_stop: {}\nranks: {}\nspread: "
      "{}\ngpus:\n  {}:\n",
      double_quoted(software.name), software.flash ? "flash" : "unfused", software.host.value() * 1e6,
      software.early_stop, software.ranks, software.spread, double_quoted(gpu));
  if (software.tensor_hidden)
    text.insert(text.rfind("gpus:"), fmt::format("tensor_hidden: {}\n", *software.tensor_hidden));
  if (const auto& [gpus, tensor] = software.scope; gpus > 0)
    text.insert(text.rfind("gpus:"), fmt::format("scope: {{gpus: {}, tensor: {}}}\n", gpus, tensor));
  auto add = [&text](const char* key, double number) { text += fmt::format("    {}: {}\n", key, number); };
  add("gemm", software.gemm);
  if (software.attention > 0) add("attention", software.attention);
  add("elementwise", software.elementwise);
  add("memory", software.memory);
  add("queue", software.queue);
  add("k_ramp", software.k_ramp);
  add("unaligned", software.unaligned);
  add("unaligned_attention", software.unaligned_attention);
  add("fp8_cast", software.fp8_cast);
  add("loss_bytes", software.loss_bytes);
  add("optimizer_bytes", software.optimizer_bytes);
  std::vector<std::string_view> types;
  for (auto type : software.types) types.push_back(name_in(kWorkloadPrecisionNames, type));
  if (!types.empty()) text += fmt::format("    types: [{}]\n", fmt::join(types, ", "));
  return text +
         fmt::format("memory_use: {{fragmentation: {}, overhead: {:.0f}B, logit_bytes: {}, dropout: {}}}\n",
                     memory.fragmentation, memory.overhead.value(), memory.logit_bytes, memory.dropout);
}

}  // namespace ddpsim
