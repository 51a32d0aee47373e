// The file is written by nccl-tests' src/util.cu (version 2 of its layout): "nccl_version" is NCCL's number,
// "config" has "devices" with one entry a process (its first GPU), "results" one object a size.
#include <set>

#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/base/quantity.hpp"
#include "sim/calibrate/readers.hpp"
#include "sim/calibrate/table_parts.hpp"

namespace ddpsim::calibrate {
namespace {

int whole(const JsonValue& value, int lowest) {
  return static_cast<int>(parse_integer(value.cell(), lowest, kLargestWorldSize));
}

CollectiveTable settings_of(const JsonValue& root) {
  CollectiveTable settings;
  const auto* args = root.find("args");
  if (args && !args->members.empty()) {
    const auto& program = args->members.front().value.cell();
    if (program.text.ends_with("_perf")) set_operation(settings, program);
  }
  if (const auto* version = root.find("nccl_version"))
    settings.nccl_version = nccl_version_of(whole(*version, 1));
  const auto* config = root.find("config");
  const auto* devices = config ? config->find("devices") : nullptr;
  if (!devices || devices->members.empty()) return settings;
  std::set<std::string> hosts;
  for (const auto& [unused, device] : devices->members) hosts.insert(device.at("hostname").cell().text);
  settings.nodes = static_cast<int>(hosts.size());
  for (const auto* key : {"device_name", "name"})
    if (const auto* name = devices->members.front().value.find(key)) settings.device = name->cell().text;
  auto processes = static_cast<int>(devices->members.size());
  settings.ranks = processes * whole(config->at("nthreads"), 1) * whole(config->at("ngpus"), 1);
  if (*settings.ranks < 2)
    throw InputError(devices->text.span, "measured on one GPU", "a collective needs at least two");
  return settings;
}

// One of a row's two measurements; null where it was not taken.
std::optional<Seconds> measured(Bytes bytes, const JsonValue* body, CollectiveTable& table) {
  if (!body || body->kind == JsonValue::Kind::null) return std::nullopt;
  if (const auto* cpu = body->find("cpu_time"))
    throw InputError(cpu->text.span, "the CPU's time, not the collective's", "run nccl-tests without -C");
  PrintedTime printed{body->at("time").cell()};
  printed.algbw = &body->at("alg_bw").cell();
  printed.busbw = &body->at("bus_bw").cell();
  if (const auto* wrong = body->find("nwrong")) printed.wrong = &wrong->cell();
  return checked_time(bytes, printed, table);
}

}  // namespace

bool is_nccl_tests_json(const JsonValue& root) {
  const auto* results = root.find("results");
  if (!results || results->kind != JsonValue::Kind::array) return false;
  return root.find("config") ||
         (!results->members.empty() && results->members.front().value.find("out_of_place"));
}

std::vector<CollectiveTable> read_nccl_tests_json(const JsonValue& root) {
  auto settings = settings_of(root);
  std::vector<CollectiveTable> tables;
  for (const auto& [unused, row] : root.at("results").members) {
    const auto &size = row.at("size").cell(), &redop = row.at("redop").cell();
    if (is_zero(size)) continue;
    CollectiveTable like = settings;
    const auto* root_rank = row.find("root");
    narrow_by_reduction(like.operations, redop, root_rank ? &root_rank->cell() : nullptr);
    like.data_type = data_type(row.at("type").cell().text);
    if (redop.text != "sum" && redop.text != "none") like.title = redop.text;
    auto bytes = parse_size(size, 1);
    auto& table = table_like(tables, like);
    auto out_of_place = measured(bytes, &row.at("out_of_place"), table);
    if (!out_of_place)
      throw InputError(size.span, "no out-of-place time", "run nccl-tests without replaying a trace");
    table.rows.push_back({bytes, *out_of_place, measured(bytes, row.find("in_place"), table), size.span});
  }
  if (tables.empty())
    throw InputError(root.at("results").text.span, "no results", "did the run end before its first row?");
  return tables;
}

}  // namespace ddpsim::calibrate
