#include "sim/topology/import/topology_writer.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/topology/names.hpp"

namespace ddpsim {
namespace {

using Kind = ImportedNode::Kind;

std::string bandwidth(BytesPerSecond value) {
  return fmt::format("{}GB/s", value.value() / 1e9);
}

std::string microseconds(Seconds value) {
  return fmt::format("{}us", std::round(value.value() * 1e9) / 1e3);
}

std::string figures(const Link& link) {
  return fmt::format("bandwidth: {}, latency: {}", bandwidth(link.bandwidth), microseconds(link.latency));
}

// For a comment: file and device names come from outside.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; },
      ' ');
  return text;
}

// The NIC of each GPU, and those that none uses.
struct NicChoice {
  std::vector<int> used, affinity, left_out;  // affinity counts `used`
  BytesPerSecond speed = {};
};

BytesPerSecond speed_of(const ImportedNode::Vertex& nic, const TopologyImport& import) {
  if (nic.speed) return *nic.speed;
  if (import.nic_bandwidth) return *import.nic_bandwidth;
  throw InputError(nic.place, fmt::format("how fast is {}? The file does not say", one_line(nic.original)),
                   "say it: --nic-bandwidth 200Gbps");
}

// Of the fastest NICs each GPU takes the nearest; of several the one that fewest GPUs use so far.
NicChoice choose_nics(const ImportedNode& node, const TopologyImport& import) {
  NicChoice choice;
  for (int nic : node.nics) choice.speed = std::max(choice.speed, speed_of(node.vertices[nic], import));
  std::vector<int> users(node.nics.size(), 0), nic_of;
  for (int gpu : node.gpus) {
    int best = -1;
    for (int i = 0; i < static_cast<int>(node.nics.size()); ++i) {
      if (speed_of(node.vertices[node.nics[i]], import) < choice.speed) continue;
      auto rank = [&](int nic) { return std::pair(pcie_class(node, gpu, node.nics[nic]), users[nic]); };
      if (best < 0 || rank(i) < rank(best)) best = i;
    }
    if (best < 0) return choice;
    ++users[best];
    nic_of.push_back(best);
  }
  std::vector<int> number(users.size(), -1);
  for (int i = 0; i < static_cast<int>(users.size()); ++i) {
    if (users[i] > 0) number[i] = static_cast<int>(choice.used.size());
    (users[i] > 0 ? choice.used : choice.left_out).push_back(node.nics[i]);
  }
  for (int nic : nic_of) choice.affinity.push_back(number[nic]);
  return choice;
}

std::string tree_keys(const PcieTree& tree, std::string_view indent) {
  auto line = [&](const std::string& text) { return fmt::format("{}{}\n", indent, text); };
  auto text = line("bandwidth: " + bandwidth(tree.gpu.bandwidth)) +
              line("latency: " + microseconds(tree.gpu.latency)) +
              line(fmt::format("gpus_per_switch: {}", tree.gpus_per_switch));
  if (!tree.host) return text;
  text += line(fmt::format("switches_per_socket: {}", tree.switches_per_socket));
  text += line(fmt::format("host: {{{}{}}}", figures(*tree.host),
                           tree.host_medium == Medium::numa_node ? ", medium: numa_node" : ""));
  if (tree.socket) text += line(fmt::format("socket: {{{}}}", figures(*tree.socket)));
  return text;
}

bool alike_at_nvswitch(const ImportedNode& node) {
  const auto& counts = node.to_nvswitch;
  return !counts.empty() && counts.front() > 0 && node.nvlinks.empty() &&
         std::all_of(counts.begin(), counts.end(), [&](int count) { return count == counts.front(); });
}

// The comment at the head of the file, line by line.
class Header {
 public:
  void add(const std::string& text) {
    std::string line = "#";
    for (std::size_t at = 0; at < text.size();) {
      auto end = std::min(text.find(' ', at), text.size());
      if (line.size() + 1 + end - at > 118) {
        text_ += line + "\n";
        line = "#";
      }
      line += " " + text.substr(at, end - at);
      at = end + 1;
    }
    text_ += line + "\n";
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

class Writer {
 public:
  Writer(const ImportedNode& node, const TopologyImport& import) : node_(node), import_(import) {}

  ImportedTopology write(std::string_view what) {
    header_.add(fmt::format("Imported from {} ({}) by 'ddpsim topology import'.",
                            one_line(std::filesystem::path(import_.path).filename().string()), what));
    auto interconnect = as_interconnect();
    auto gpus = static_cast<int>(node_.gpus.size());
    std::string body = interconnect ? cluster(*interconnect) : graph();
    // A graph keeps all NICs, a cluster those that GPUs use.
    auto nics = interconnect ? nics_.used.size() : node_.nics.size();
    if (uses_nvlink_) header_.add("NVLink: " + node_.nvlink_source);
    if (uses_pcie_) header_.add("PCIe: " + node_.pcie_source);
    if (uses_sockets_) header_.add("Between sockets: " + node_.socket_source);
    if (uses_nvlink_ || uses_pcie_ || nics > 0)
      header_.add("All latencies are assumptions: the file has none.");
    for (const auto& note : node_.notes) header_.add(one_line(note));
    if (interconnect)
      header_.add(nics > 0 ? "For several nodes add the network: a 'fabric', e.g. {kind: rail_optimized}."
                           : "For several nodes add 'nics' to the node, and a 'fabric'.");
    auto platform = nccl();
    body += platform;
    return {header_.text() + body,
            fmt::format("{}, {} (kind: {})", counted(gpus, "GPU"), counted(static_cast<int>(nics), "NIC"),
                        interconnect ? "cluster" : "graph"),
            !platform.empty()};
  }

 private:
  // What NCCL's model needs beside the links.
  std::string nccl() {
    if (node_.gpus.size() == 1) return {};
    if (!node_.gpu || !node_.cpu) {
      header_.add(fmt::format("For NCCL's model add 'nccl: {{gpu: {}, cpu: {}}}'.",
                              node_.gpu ? nccl::name(*node_.gpu) : "...",
                              node_.cpu ? cpu_word(*node_.cpu) : "..."));
      return {};
    }
    return fmt::format("nccl: {{gpu: {}, cpu: {}}}\n", nccl::name(*node_.gpu), cpu_word(*node_.cpu));
  }

  static std::string_view cpu_word(HostCpu cpu) {
    switch (cpu) {
      case HostCpu::broadwell:
      case HostCpu::skylake:
      case HostCpu::sapphire_rapids:
      case HostCpu::emerald_rapids:
        return "intel";
      case HostCpu::amd:
        return "amd";
      default:
        return "other";
    }
  }

  // The lines below `interconnect:`, empty for one GPU; nullopt where a cluster cannot express it.
  std::optional<std::string> as_interconnect() {
    if (node_.gpus.size() == 1) return "";
    uses_nvlink_ = !node_.nvlinks.empty() || !node_.to_nvswitch.empty();
    if (alike_at_nvswitch(node_))
      return fmt::format("    kind: nvswitch\n    bandwidth: {}\n    count: {}\n    latency: {}\n{}",
                         bandwidth(node_.nvlink), node_.to_nvswitch.front(), microseconds(kNvswitchLatency),
                         node_.multicast ? "    multicast: true\n" : "");
    if (!node_.to_nvswitch.empty()) return std::nullopt;
    bool all_pairs = node_.nvlinks.size() == node_.gpus.size() * (node_.gpus.size() - 1) / 2;
    if (all_pairs) return mesh(std::nullopt);
    if (!node_.to_host.empty()) return std::nullopt;
    auto tree = regular_tree(node_);
    if (!tree) return std::nullopt;
    uses_pcie_ = true;
    uses_sockets_ = tree->socket.has_value();
    return node_.nvlinks.empty() ? "    kind: pcie\n" + tree_keys(*tree, "    ") : mesh(*tree);
  }

  std::string mesh(const std::optional<PcieTree>& tree) const {
    auto text = fmt::format("    kind: nvlink_mesh\n    bandwidth: {}\n    latency: {}\n    links:\n",
                            bandwidth(node_.nvlink), microseconds(kNvlinkLatency));
    for (const auto& pair : node_.nvlinks)
      text += fmt::format("      - {{between: [{}, {}]{}}}\n", pair.a, pair.b,
                          pair.count > 1 ? fmt::format(", count: {}", pair.count) : "");
    return tree ? text + "    pcie:\n" + tree_keys(*tree, "      ") : text;
  }

  std::string cluster(const std::string& interconnect) {
    nics_ = choose_nics(node_, import_);
    auto text = fmt::format("kind: cluster\nnode:\n  gpus: {}\n", node_.gpus.size());
    if (!interconnect.empty()) text += "  interconnect:\n" + interconnect;
    if (!nics_.used.empty()) {
      text += fmt::format("  nics: {{count: {}, bandwidth: {}Gbps, latency: {}, affinity: [{}]}}\n",
                          nics_.used.size(), nics_.speed.value() * 8 / 1e9, microseconds(kNicLatency),
                          fmt::join(nics_.affinity, ", "));
      describe_nics(interconnect.find("gpus_per_switch") != std::string::npos);
    }
    if (!node_.to_host.empty()) header_.add("Left out: the NVLinks between GPUs and CPUs.");
    return text;
  }

  void describe_nics(bool with_pcie) {
    std::vector<std::string> names, left_out, moved;
    for (std::size_t i = 0; i < nics_.used.size(); ++i) {
      auto first = std::find(nics_.affinity.begin(), nics_.affinity.end(), static_cast<int>(i));
      auto distance = pcie_class(node_, node_.gpus[first - nics_.affinity.begin()], nics_.used[i]);
      names.push_back(fmt::format("nic{} is {} ({} to its GPU)", i,
                                  one_line(node_.vertices[nics_.used[i]].original), name(distance)));
      if (with_pcie && distance != PcieClass::pix) moved.push_back(fmt::format("nic{}", i));
    }
    for (int nic : nics_.left_out) left_out.push_back(one_line(node_.vertices[nic].original));
    header_.add(fmt::format("NICs: {}.", fmt::join(names, ", ")));
    if (!moved.empty())
      header_.add(fmt::format("Here {} hang off the switch of the first GPU that uses them.",
                              fmt::join(moved, ", ")));
    if (!left_out.empty())
      header_.add(fmt::format("Left out, as a GPU uses one NIC, the nearest of the fastest: {}.",
                              fmt::join(left_out, ", ")));
  }

  std::string graph() {
    uses_pcie_ = true;
    std::string gpus, switches, nics;
    std::vector<int> roots;
    for (int v = 0; v < static_cast<int>(node_.vertices.size()); ++v) {
      const auto& vertex = node_.vertices[v];
      auto& list = vertex.kind == Kind::gpu ? gpus : vertex.kind == Kind::nic ? nics : switches;
      list += fmt::format("  - {{name: {}}}{}\n", vertex.name,
                          vertex.original.empty() ? "" : "  # " + one_line(vertex.original));
      if (vertex.parent < 0) roots.push_back(v);
    }
    if (!node_.to_nvswitch.empty())
      switches += node_.multicast ? "  - {name: nvswitch, multicast: true}\n" : "  - {name: nvswitch}\n";
    auto text = "kind: graph\ngpus:\n" + gpus + "switches:\n" + switches;
    if (!nics.empty()) text += "nics:\n" + nics;
    text += "links:\n" + nvlink_lines();
    for (int v = 0; v < static_cast<int>(node_.vertices.size()); ++v)
      if (node_.vertices[v].parent >= 0 && !replaced(v)) text += up_line(node_.vertices[v]);
    for (std::size_t a = 0; a < roots.size(); ++a)
      for (std::size_t b = a + 1; b < roots.size(); ++b)
        text += wire(node_.vertices[roots[a]].name, node_.vertices[roots[b]].name,
                     {node_.socket, kPcieLatency}, "socket");
    uses_sockets_ = roots.size() > 1;
    if (!nics.empty()) header_.add("The cables of the NICs lead nowhere here: a graph is one node.");
    return text;
  }

  static std::string wire(const std::string& a, const std::string& b, const Link& link,
                          std::string_view medium, int count = 1) {
    return fmt::format("  - {{between: [{}, {}], {}{}, medium: {}}}\n", a, b, figures(link),
                       count > 1 ? fmt::format(", count: {}", count) : "", medium);
  }

  [[nodiscard]] std::string up_line(const ImportedNode::Vertex& vertex) const {
    const auto& parent = node_.vertices[vertex.parent];
    return wire(vertex.name, parent.name, {vertex.up, kPcieLatency},
                parent.kind == Kind::numa_node     ? "numa_node"
                : parent.kind == Kind::host_bridge ? "host_bridge"
                                                   : "pcie");
  }

  [[nodiscard]] int root_of(int v) const {
    while (node_.vertices[v].parent >= 0) v = node_.vertices[v].parent;
    return v;
  }
  // A GPU right below a root that has NVLinks to it needs no PCIe.
  [[nodiscard]] bool replaced(int v) const {
    return std::any_of(node_.to_host.begin(), node_.to_host.end(), [&](const auto& link) {
      return node_.gpus[link.gpu] == v && node_.vertices[v].parent == root_of(v);
    });
  }

  [[nodiscard]] std::string nvlink_lines() const {
    auto gpu = [&](int number) { return node_.vertices[node_.gpus[number]].name; };
    std::string text;
    for (const auto& pair : node_.nvlinks)
      text += wire(gpu(pair.a), gpu(pair.b), {node_.nvlink, kNvlinkLatency}, "nvlink", pair.count);
    for (std::size_t i = 0; i < node_.to_nvswitch.size(); ++i)
      if (node_.to_nvswitch[i] > 0)
        text += wire(gpu(static_cast<int>(i)), "nvswitch", {node_.nvlink, kNvswitchLatency / 2.0}, "nvlink",
                     node_.to_nvswitch[i]);
    for (const auto& link : node_.to_host)
      text += wire(gpu(link.gpu), node_.vertices[root_of(node_.gpus[link.gpu])].name,
                   {link.bandwidth / link.count, kNvlinkLatency}, "nvlink", link.count);
    return text;
  }

  const ImportedNode& node_;
  const TopologyImport& import_;
  Header header_;
  NicChoice nics_;
  bool uses_nvlink_ = false, uses_pcie_ = false, uses_sockets_ = false;
};

}  // namespace

ImportedTopology write_topology(const ImportedNode& node, const TopologyImport& import,
                                std::string_view what) {
  return Writer(node, import).write(what);
}

}  // namespace ddpsim
