// Reads `node`: GPUs, interconnect and NICs.
#include <algorithm>
#include <array>
#include <set>

#include <fmt/core.h>

#include "sim/base/counted.hpp"
#include "sim/job/types.hpp"
#include "sim/text/file_rows.hpp"
#include "sim/text/topology_readers.hpp"
#include "sim/topology/interconnect.hpp"
#include "sim/topology/names.hpp"

namespace ddpsim::node_keys {
namespace {

using namespace keys;
using Join = Interconnect::Kind;

// The links up from the switches, to what they lead, and the memory there.
struct Host {
  Link link = {};
  Medium medium = Medium::host_bridge;
  std::optional<BytesPerSecond> memory = {};
  std::optional<int> numa = {};
};

struct Tree {
  Link gpu = {};
  std::optional<int> generation = {};
  int width = 16;
  std::optional<nccl::PathLevel> peer_to_peer = {};
  std::optional<int> gpus_per_switch = {}, switches_per_socket = {};
  std::optional<Host> host = {};
  std::optional<Link> socket = {};
};

struct Joined {
  Join kind = Join::none;
  int count = 0;
  bool multicast = false;
  Tree tree = {};  // whose link is that of the other kinds too
  std::vector<NvlinkPair> pairs = {};
  std::optional<Tree> pcie = {};
};

template <auto... path, class S>
Rows<S> with_link(Rows<S> rows) {
  rows.template needs<path..., &Link::bandwidth>("bandwidth", bandwidth(), "Per direction");
  rows.template needs<path..., &Link::latency>("latency", time(), "Of a message");
  return rows;
}

// PCIe as NCCL counts it, GB/s of 16 lanes (twice and four times PCI_BW of its src/graph/topo.h), and what a
// slot was measured to carry, large messages one way.
struct Generation {
  int generation;
  double counted, payload;
};
constexpr std::array kGenerations{Generation{3, 12, 12.5}, Generation{4, 24, 25}, Generation{5, 48, 54}};
constexpr Seconds kSlotLatency(0.5e-6);           // an assumption
constexpr BytesPerSecond kSocketBandwidth(16e9);  // AMD_BW there: the search counts it, no time does

void require_key(const Value& section, std::string_view name, const char* key) {
  if (!section.find(key)) throw config::lacks_key(section.span, name, key);
}

void check_slot(const Value& section, std::string_view name, const Tree& tree) {
  if (!tree.generation) {
    require_key(section, name, "bandwidth");
    require_key(section, name, "latency");
    if (const auto* width = section.find("width"))
      throw InputError(width->key_span, "a width of what generation is not said",
                       "add 'generation: 4' in place of the bandwidth, or remove 'width'");
  } else if (const auto* width = section.find("width"); width && section.find("bandwidth")) {
    throw InputError(width->key_span, "a slot has a width or a bandwidth", "remove one of them");
  }
}

template <auto... path, class S>
Rows<S> with_slot(Rows<S> rows) {
  rows.template key<path..., &Tree::gpu, &Link::bandwidth>("bandwidth", bandwidth(), "Per direction");
  rows.template key<path..., &Tree::gpu, &Link::latency>("latency", time(), "Of a message");
  rows.template key<path..., &Tree::generation>("generation", maybe(whole(3, 5)), "In place of a bandwidth");
  rows.template key<path..., &Tree::width>("width", whole(1, 16), "Lanes of a slot");
  rows.template key<path..., &Tree::peer_to_peer>("peer_to_peer", job::peer_to_peer(), "As NCCL_P2P_LEVEL");
  return rows;
}

template <auto... path, class S>
Rows<S> with_tree(Rows<S> given) {
  constexpr int kMost = kMostGpusPerNode;
  auto rows = with_slot<path...>(std::move(given));
  Rows<Host> host("host");
  host.key<&Host::link, &Link::bandwidth>("bandwidth", bandwidth(), "Per direction")
      .key<&Host::link, &Link::latency>("latency", time(), "Of a message")
      .key<&Host::medium>(
          "medium",
          word(config::Words<Medium>{{"host_bridge", Medium::host_bridge}, {"numa_node", Medium::numa_node}}),
          "To what it leads")
      .key<&Host::memory>("memory", maybe(bandwidth()), "Of a socket's memory")
      .key<&Host::numa>("numa", maybe(whole(1, 16)), "NUMA domains of a socket");
  rows.template key<path..., &Tree::gpus_per_switch>("gpus_per_switch", maybe(whole(1, kMost)), "Below one");
  rows.template key<path..., &Tree::switches_per_socket>("switches_per_socket", maybe(whole(1, kMost)),
                                                         "On one socket");
  rows.template key<path..., &Tree::host>("host", maybe(nested(host)), "From switch to host bridge");
  rows.template key<path..., &Tree::socket>("socket", maybe(link_rows("socket")), "Between host bridges");
  return rows;
}

Type<NvlinkPair> pair(int gpus) {
  using Ends = std::vector<int>;
  auto between = made_of<NvlinkPair, Ends>(
      list(whole(0, gpus - 1)),
      [](const Ends& ends, const Value& value) {
        if (ends.size() != 2)
          throw InputError(value.span, fmt::format("a link is between two GPUs, not {}", ends.size()),
                           "write it like [0, 1]");
        if (ends[0] == ends[1])
          throw InputError(value.span, fmt::format("a link from GPU {} to itself", ends[0]), "name two GPUs");
        return NvlinkPair{ends[0], ends[1], 1};
      },
      [](const NvlinkPair& pair) {
        return Ends{pair.a, pair.b};
      });
  return nested(Rows<NvlinkPair>("links")
                    .whole("between", between, "Two GPUs")
                    .required()
                    .key<&NvlinkPair::count>("count", whole(1, 64), "In parallel"));
}

void check_once(const std::vector<NvlinkPair>& pairs, const Value& list) {
  for (std::size_t i = 0; i < pairs.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (std::minmax(pairs[i].a, pairs[i].b) == std::minmax(pairs[j].a, pairs[j].b))
        throw InputError(list.items[i].span,
                         fmt::format("the link between {} and {} is given twice", pairs[i].a, pairs[i].b),
                         "several in parallel are one with 'count'");
}

Type<Joined> interconnect_rows(int gpus) {
  using J = Joined;
  constexpr auto tree = &J::tree;
  auto of_kind = [](const char* kind) {
    return with_link<tree, &Tree::gpu>(Rows<J>("interconnect").kind(kind));
  };
  auto nvswitch = of_kind("nvswitch");
  nvswitch.key<&J::count>("count", whole(1, 64), "Links of a GPU")
      .key<&J::multicast>("multicast", boolean(), "The switch adds up and multicasts");
  auto mesh_of = [&](const char* kind) {
    auto below = with_tree(Rows<Tree>("pcie"));
    auto mesh = of_kind(kind);
    mesh.needs<&J::pairs>("links", checked<std::vector<NvlinkPair>>(list(pair(gpus)), check_once), "Which")
        .key<&J::pcie>("pcie", maybe(nested(below)), "For pairs that have none");
    return mesh;
  };
  return by_kind<J, Join>(&J::kind, {{Join::nvswitch, nvswitch},
                                     {Join::fully_connected, of_kind("fully_connected")},
                                     {Join::ring, of_kind("ring")},
                                     {Join::nvlink_mesh, mesh_of("nvlink_mesh")},
                                     {Join::xgmi_mesh, mesh_of("xgmi_mesh")},
                                     {Join::pcie, with_tree<tree>(Rows<J>("interconnect").kind("pcie"))}});
}

// The slot of a generation, or as the file has it.
Link slot_of(const Tree& given, const Value& section) {
  if (!given.generation) return given.gpu;
  auto row = std::ranges::find(kGenerations, *given.generation, &Generation::generation);
  auto latency = section.find("latency") ? given.gpu.latency : kSlotLatency;
  BytesPerSecond counted(row->counted * 1e9 * given.width / 16);
  return {section.find("bandwidth") ? given.gpu.bandwidth : counted, latency};
}

// From switch to host bridge: as a slot, where the file tells of a host and not of its links.
std::optional<Link> host_link(const Tree& given, const Value& section, const Link& slot) {
  if (!given.host) return given.generation ? std::optional(slot) : std::nullopt;
  const auto& host = section.find("host")->value;
  bool is_told = host.find("bandwidth") || host.find("latency");
  if (!is_told) return slot;
  require_key(host, "host", "bandwidth");
  require_key(host, "host", "latency");
  return given.host->link;
}

nccl::PcieHost host_of(const Tree& given) {
  nccl::PcieHost host;
  if (given.host) host.numa_domains = given.host->numa;
  host.level = given.peer_to_peer;
  if (!given.generation) return host;
  auto row = std::ranges::find(kGenerations, *given.generation, &Generation::generation);
  host.generation = row->generation;
  host.payload = row->payload / row->counted;
  return host;
}

PcieTree tree_of(const Tree& given, const Value& section, std::string_view name, int gpus) {
  check_slot(section, name, given);
  const auto& place = section.span;
  PcieTree tree;
  tree.gpu = slot_of(given, section);
  tree.gpus_per_switch = given.gpus_per_switch.value_or(given.generation ? 1 : gpus);
  int switches = (gpus + tree.gpus_per_switch - 1) / tree.gpus_per_switch;
  // Servers of 8 GPUs have two sockets, if nobody says.
  constexpr int kOfTwoSockets = 8;
  bool has_two = given.generation && gpus >= kOfTwoSockets && switches > 1;
  tree.switches_per_socket = given.switches_per_socket.value_or(has_two ? (switches + 1) / 2 : switches);
  tree.host = host_link(given, section, tree.gpu);
  if (given.host) {
    tree.host_medium = given.host->medium;
    tree.memory = given.host->memory;
  }
  tree.socket = given.socket;
  if (has_two && !tree.socket) tree.socket = Link{kSocketBandwidth, kSlotLatency};
  if (switches > 1 && !tree.host)
    throw InputError(place, fmt::format("{} PCIe switches are joined by nothing", switches),
                     "add 'host: {bandwidth: ..., latency: ...}', the links from switch to host bridge");
  if (switches > tree.switches_per_socket && !tree.socket)
    throw InputError(place,
                     fmt::format("{} PCIe switches, {} a socket: the sockets are joined by nothing", switches,
                                 tree.switches_per_socket),
                     "add 'socket: {bandwidth: ..., latency: ...}', the links between host bridges");
  return tree;
}

// Without PCIe below them, the mesh's links have to join all GPUs.
void check_joined(const SourceSpan& list, const std::vector<NvlinkPair>& pairs, int gpus) {
  std::vector<char> reached(static_cast<std::size_t>(gpus), 0);
  reached[0] = 1;
  for (bool more = true; more;) {
    more = false;
    for (const auto& pair : pairs)
      if (reached[pair.a] != reached[pair.b]) reached[pair.a] = reached[pair.b] = 1, more = true;
  }
  auto lone = std::find(reached.begin(), reached.end(), 0);
  if (lone != reached.end())
    throw InputError(list, fmt::format("no links join GPU {} to GPU 0", lone - reached.begin()),
                     "add links, or 'pcie: {...}' for the pairs that have none");
}

Interconnect interconnect_of(const Value& value, int gpus) {
  keys::Places places;
  auto given = read_alone(interconnect_rows(gpus), value, places);
  Interconnect interconnect{.kind = given.kind,
                            .link = given.tree.gpu,
                            .count = given.count,
                            .multicast = given.multicast,
                            .pairs = std::move(given.pairs),
                            .pcie = {}};
  if (given.kind == Join::pcie) interconnect.pcie = tree_of(given.tree, value, "interconnect", gpus);
  if (given.kind == Join::pcie) interconnect.host = host_of(given.tree);
  if (given.pcie) {
    interconnect.pcie = tree_of(*given.pcie, value.find("pcie")->value, "pcie", gpus);
    interconnect.host = host_of(*given.pcie);
  }
  bool is_mesh = given.kind == Join::nvlink_mesh || given.kind == Join::xgmi_mesh;
  if (is_mesh && !given.pcie) check_joined(places.at("links"), interconnect.pairs, gpus);
  return interconnect;
}

// A NIC's name, or those of the ports that make up one.
void check_names(const std::vector<std::string>& names, const Value& value) {
  for (const auto& name : names)
    if (!is_device_name(name))
      throw InputError(value.span, fmt::format("'{}' is no name of a device", name),
                       "letters, digits and '_', like mlx5_3");
  if (names.empty()) throw InputError(value.span, "a NIC without a name", "write its device, like mlx5_3");
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

struct GivenNics : Nics {
  std::optional<Value> affinity_list = {};
};

Type<GivenNics> nics_rows() {
  auto rows = Rows<GivenNics>("nics");
  rows.needs<&Nics::count>("count", whole(1, kMostNicsPerNode), "Of a node");
  rows = with_link<&Nics::cable>(std::move(rows));
  auto names = checked<std::vector<std::string>>(one_or_list(text()), check_names);
  return nested(rows.key<&GivenNics::affinity_list>("affinity", maybe(any()), "Of each GPU: its NIC")
                    .key<&Nics::devices>("devices", list(names), "What the host calls them"));
}

Nics nics_of(const Value& value, int gpus) {
  static const auto rows = nics_rows();
  keys::Places places;
  auto nics = read_alone(rows, value, places);
  if (nics.affinity_list) {
    nics.affinity = read_alone(list(whole(0, nics.count - 1)), *nics.affinity_list);
    auto given = static_cast<int>(nics.affinity.size());
    if (given != gpus)
      throw InputError(places.at("affinity"),
                       fmt::format("the NICs of {} for a node of {}", counted(given, "GPU"), gpus),
                       "give the NIC of each GPU, in order");
  } else {
    for (int gpu = 0; gpu < gpus; ++gpu) nics.affinity.push_back(gpu * nics.count / gpus);
  }
  auto named = static_cast<int>(nics.devices.size());
  if (places.has("devices") && named != nics.count)
    throw InputError(places.at("devices"),
                     fmt::format("the devices of {} of {}", counted(named, "NIC"), nics.count),
                     "name each, in order; ports that are one NIC as a list");
  return nics;
}

struct Node {
  int gpus = 1;
  std::optional<Value> interconnect = {}, nics = {};
};

Type<Node> node_rows() {
  return nested(Rows<Node>("node")
                    .needs<&Node::gpus>("gpus", whole(1, kMostGpusPerNode), "Of a node")
                    .key<&Node::interconnect>("interconnect", maybe(any()), "What joins them")
                    .key<&Node::nics>("nics", maybe(any()), "What the fabric joins")
                    .check([](const Node& node, const Cursor& at) {
                      if (node.gpus > 1 && !node.interconnect)
                        throw config::lacks_key(at.place(), "node", "interconnect");
                    }));
}

}  // namespace
}  // namespace ddpsim::node_keys

namespace ddpsim {

keys::Type<Link> link_rows(std::string_view name) {
  auto rows = node_keys::with_link<>(keys::Rows<Link>(name));
  return keys::nested(rows);
}

file_rows::Codec file_rows::node() {
  return node_keys::node_rows().codec;
}
file_rows::Codec file_rows::interconnect(int gpus) {
  return node_keys::interconnect_rows(gpus).codec;
}
file_rows::Codec file_rows::nics() {
  return node_keys::nics_rows().codec;
}

NodeModel read_node(const config::Value& value) {
  using namespace node_keys;
  static const auto rows = node_rows();
  auto given = read_alone(rows, value);
  Interconnect interconnect;
  if (given.interconnect) interconnect = interconnect_of(*given.interconnect, given.gpus);
  Nics nics;
  if (given.nics) nics = nics_of(*given.nics, given.gpus);
  auto node = make_node(given.gpus, interconnect, nics);
  if (!node.devices.empty()) check_devices(given.nics->find("devices")->value, node);
  return node;
}

}  // namespace ddpsim
