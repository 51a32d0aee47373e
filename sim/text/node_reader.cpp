// Reads `node`: GPUs, interconnect and NICs.
#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/core.h>

#include "sim/base/counted.hpp"
#include "sim/text/topology_readers.hpp"
#include "sim/topology/interconnect.hpp"
#include "sim/topology/names.hpp"

namespace ddpsim {
namespace {

using config::MapReader;
using config::Value;

int whole(MapReader& reader, std::string_view key, int lowest, int highest, int otherwise) {
  auto given = reader.optional(key, config::as_integer(lowest, highest));
  return given ? static_cast<int>(*given) : otherwise;
}

std::optional<Link> optional_link(MapReader& reader, const std::string& key) {
  return reader.optional(key, [&](const Value& value) { return read_link(value, key); });
}

// The links up from the switches, and to what they lead.
std::pair<Link, Medium> read_host(const Value& value) {
  MapReader reader(value, "host");
  Link link{reader.required("bandwidth", config::as_bandwidth),
            reader.required("latency", config::as_seconds)};
  auto medium =
      reader.optional("medium", config::as_word(config::Words<Medium>{{"host_bridge", Medium::host_bridge},
                                                                      {"numa_node", Medium::numa_node}}));
  reader.finish();
  return {link, medium.value_or(Medium::host_bridge)};
}

// The keys of a PCIe tree beside `bandwidth` and `latency`.
PcieTree read_tree(MapReader& reader, const Value& value, const Link& link, int gpus) {
  PcieTree tree;
  tree.gpu = link;
  tree.gpus_per_switch = whole(reader, "gpus_per_switch", 1, kMostGpusPerNode, gpus);
  int switches = (gpus + tree.gpus_per_switch - 1) / tree.gpus_per_switch;
  tree.switches_per_socket = whole(reader, "switches_per_socket", 1, kMostGpusPerNode, switches);
  if (const Value* host = reader.find("host")) std::tie(tree.host, tree.host_medium) = read_host(*host);
  tree.socket = optional_link(reader, "socket");
  if (switches > 1 && !tree.host)
    throw InputError(value.span, fmt::format("{} PCIe switches are joined by nothing", switches),
                     "add 'host: {bandwidth: ..., latency: ...}', the links from switch to host bridge");
  if (switches > tree.switches_per_socket && !tree.socket)
    throw InputError(value.span,
                     fmt::format("{} PCIe switches, {} a socket: the sockets are joined by nothing", switches,
                                 tree.switches_per_socket),
                     "add 'socket: {bandwidth: ..., latency: ...}', the links between host bridges");
  return tree;
}

int read_gpu(const Value& value, int gpus) {
  return static_cast<int>(config::as_integer(0, gpus - 1)(value));
}

NvlinkPair read_pair(const Value& value, int gpus) {
  MapReader reader(value, "links");
  const Value& between = reader.require("between");
  auto ends = config::as_list([gpus](const Value& v) { return read_gpu(v, gpus); })(between);
  int count = whole(reader, "count", 1, 64, 1);
  reader.finish();
  if (ends.size() != 2)
    throw InputError(between.span, fmt::format("a link is between two GPUs, not {}", ends.size()),
                     "write it like [0, 1]");
  if (ends[0] == ends[1])
    throw InputError(between.span, fmt::format("a link from GPU {} to itself", ends[0]), "name two GPUs");
  return {ends[0], ends[1], count};
}

std::vector<NvlinkPair> read_pairs(const Value& list, int gpus) {
  std::vector<NvlinkPair> pairs;
  for (const auto& item : config::items_of(list)) {
    auto pair = read_pair(item, gpus);
    for (const auto& known : pairs)
      if (std::minmax(known.a, known.b) == std::minmax(pair.a, pair.b))
        throw InputError(item.span, fmt::format("the link between {} and {} is given twice", pair.a, pair.b),
                         "several in parallel are one with 'count'");
    pairs.push_back(pair);
  }
  return pairs;
}

// Without PCIe below them, NVLinks have to join all GPUs.
void check_joined(const Value& list, const std::vector<NvlinkPair>& pairs, int gpus) {
  std::vector<char> reached(static_cast<std::size_t>(gpus), 0);
  reached[0] = 1;
  for (bool more = true; more;) {
    more = false;
    for (const auto& pair : pairs)
      if (reached[pair.a] != reached[pair.b]) reached[pair.a] = reached[pair.b] = 1, more = true;
  }
  auto lone = std::find(reached.begin(), reached.end(), 0);
  if (lone != reached.end())
    throw InputError(list.span, fmt::format("no links join GPU {} to GPU 0", lone - reached.begin()),
                     "add links, or 'pcie: {...}' for the pairs without NVLink");
}

Interconnect read_interconnect(const Value& value, int gpus) {
  using Join = Interconnect::Kind;
  MapReader reader(value, "interconnect");
  Interconnect interconnect;
  interconnect.kind =
      reader.required("kind", config::as_word(config::Words<Join>{{"nvswitch", Join::nvswitch},
                                                                  {"fully_connected", Join::fully_connected},
                                                                  {"ring", Join::ring},
                                                                  {"nvlink_mesh", Join::nvlink_mesh},
                                                                  {"pcie", Join::pcie}}));
  interconnect.link = {reader.required("bandwidth", config::as_bandwidth),
                       reader.required("latency", config::as_seconds)};
  if (interconnect.kind == Join::nvswitch) {
    interconnect.count = whole(reader, "count", 1, 64, 0);
    interconnect.multicast = reader.optional("multicast", config::as_bool).value_or(false);
  }
  if (interconnect.kind == Join::pcie) interconnect.pcie = read_tree(reader, value, interconnect.link, gpus);
  if (interconnect.kind == Join::nvlink_mesh) {
    const Value& list = reader.require("links");
    interconnect.pairs = read_pairs(list, gpus);
    if (const Value* pcie = reader.find("pcie")) {
      MapReader below(*pcie, "pcie");
      Link link{below.required("bandwidth", config::as_bandwidth),
                below.required("latency", config::as_seconds)};
      interconnect.pcie = read_tree(below, *pcie, link, gpus);
      below.finish();
    } else {
      check_joined(list, interconnect.pairs, gpus);
    }
  }
  reader.finish();
  return interconnect;
}

// A NIC's name, or those of the ports that make up one.
std::vector<std::string> read_devices(const Value& value) {
  auto names = value.kind == Value::Kind::sequence ? config::as_list(config::as_string)(value)
                                                   : std::vector{config::as_string(value)};
  for (const auto& name : names)
    if (!is_device_name(name))
      throw InputError(value.span, fmt::format("'{}' is no name of a device", name),
                       "letters, digits and '_', like mlx5_3");
  if (names.empty()) throw InputError(value.span, "a NIC without a name", "write its device, like mlx5_3");
  return names;
}

// Each names one NIC, and nothing else of the node.
void check_devices(const Value& list, const NodeModel& node) {
  std::set<std::string> known(node.names.begin(), node.names.end());
  for (const auto& ports : node.devices)
    for (const auto& name : ports)
      if (!known.insert(name).second)
        throw InputError(
            list.span, fmt::format("the name {} is taken", name),
            "each device has one name, and GPUs, NICs and switches those of 'ddpsim topology show'");
}

Nics read_nics(const Value& value, int gpus) {
  MapReader reader(value, "nics");
  Nics nics;
  nics.count = static_cast<int>(reader.required("count", config::as_integer(1, kMostNicsPerNode)));
  nics.cable = {reader.required("bandwidth", config::as_bandwidth),
                reader.required("latency", config::as_seconds)};
  if (const Value* list = reader.find("affinity")) {
    for (const auto& item : config::items_of(*list))
      nics.affinity.push_back(static_cast<int>(config::as_integer(0, nics.count - 1)(item)));
    if (static_cast<int>(nics.affinity.size()) != gpus)
      throw InputError(list->span,
                       fmt::format("the NICs of {} for a node of {}",
                                   counted(static_cast<int>(nics.affinity.size()), "GPU"), gpus),
                       "give the NIC of each GPU, in order");
  } else {
    for (int gpu = 0; gpu < gpus; ++gpu) nics.affinity.push_back(gpu * nics.count / gpus);
  }
  if (const Value* list = reader.find("devices")) {
    nics.devices = config::as_list(read_devices)(*list);
    if (static_cast<int>(nics.devices.size()) != nics.count)
      throw InputError(list->span,
                       fmt::format("the devices of {} of {}",
                                   counted(static_cast<int>(nics.devices.size()), "NIC"), nics.count),
                       "name each, in order; ports that are one NIC as a list");
  }
  reader.finish();
  return nics;
}

}  // namespace

NodeModel read_node(const Value& value) {
  MapReader reader(value, "node");
  int gpus = static_cast<int>(reader.required("gpus", config::as_integer(1, kMostGpusPerNode)));
  Interconnect interconnect;
  if (gpus > 1) reader.require("interconnect");
  if (const Value* given = reader.find("interconnect")) interconnect = read_interconnect(*given, gpus);
  Nics nics;
  if (const Value* given = reader.find("nics")) nics = read_nics(*given, gpus);
  reader.finish();
  auto node = make_node(gpus, interconnect, nics);
  if (!node.devices.empty()) check_devices(value.find("nics")->value.find("devices")->value, node);
  return node;
}

}  // namespace ddpsim
