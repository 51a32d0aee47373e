#include "sim/topology/import/topology_writer.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/counted.hpp"
#include "sim/base/one_line.hpp"
#include "sim/topology/import/nic_choice.hpp"
#include "sim/topology/import/peer_matrix.hpp"
#include "sim/topology/names.hpp"

namespace ddpsim {
namespace {

using Kind = ImportedNode::Kind;

std::string bandwidth(BytesPerSecond value) {
  return fmt::format("{}GB/s", value.value() / 1e9);
}

std::string gigabits(BytesPerSecond value) {
  return fmt::format("{}Gbps", value.value() * 8 / 1e9);
}

std::string microseconds(Seconds value) {
  return fmt::format("{}us", std::round(value.value() * 1e9) / 1e3);
}

std::string figures(const Link& link) {
  return fmt::format("bandwidth: {}, latency: {}", bandwidth(link.bandwidth), microseconds(link.latency));
}

std::string tree_keys(const PcieTree& tree, const nccl::PcieHost& host, std::string_view indent) {
  auto line = [&](const std::string& text) { return fmt::format("{}{}\n", indent, text); };
  auto text = line("bandwidth: " + bandwidth(tree.gpu.bandwidth)) +
              line("latency: " + microseconds(tree.gpu.latency)) +
              line(fmt::format("gpus_per_switch: {}", tree.gpus_per_switch));
  if (host.level == nccl::PathLevel::none) text += line("peer_to_peer: false");
  if (!tree.host) return text;
  text += line(fmt::format("switches_per_socket: {}", tree.switches_per_socket));
  text += line(fmt::format("host: {{{}{}{}}}", figures(*tree.host),
                           tree.host_medium == Medium::numa_node ? ", medium: numa_node" : "",
                           host.numa_domains ? fmt::format(", numa: {}", *host.numa_domains) : ""));
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
  Writer(const ImportedNode& node, const TopologyImport& import) : node_(node), import_(import) {
    if (!import.peer_to_peer.empty() && !reads_peers(import.peer_to_peer, node.gpus.size()))
      host_.level = nccl::PathLevel::none;
  }

  ImportedTopology write(std::string_view what) {
    header_.add(fmt::format("Imported from {} ({}) by 'ddpsim topology import'.",
                            one_line(std::filesystem::path(import_.path).filename().string()), what));
    auto interconnect = as_interconnect();
    auto gpus = static_cast<int>(node_.gpus.size());
    std::string body = interconnect ? cluster(*interconnect) : graph();
    // A graph keeps all NICs, a cluster those that GPUs use.
    auto nics = interconnect ? nics_.nics.size() : node_.nics.size();
    if (uses_nvlink_) header_.add((node_.amd ? "xGMI: " : "NVLink: ") + node_.nvlink_source);
    if (uses_pcie_) header_.add("PCIe: " + node_.pcie_source);
    if (uses_sockets_)
      import_.socket_bandwidth ? header_.add("Between sockets: " + node_.socket_source + ".")
                               : say("between sockets: " + node_.socket_source);
    else if (import_.socket_bandwidth)
      notes_.emplace_back("--socket-bandwidth has no effect: no GPUs are joined by a link between sockets");
    if (uses_nvlink_ || uses_pcie_ || nics > 0)
      header_.add("All latencies are assumptions: the file has none.");
    for (const auto& note : node_.notes) say(one_line(note));
    if (interconnect)
      header_.add(nics > 0 ? "For several nodes add the network: a 'fabric', e.g. {kind: rail_optimized}."
                           : "For several nodes add 'nics' to the node, and a 'fabric'.");
    if (node_.amd) say("RCCL is not modelled: collectives are plain schedules over the links");
    auto platform = nccl();
    body += platform;
    return {header_.text() + body,
            fmt::format("{}, {} (kind: {})", counted(gpus, "GPU"), counted(static_cast<int>(nics), "NIC"),
                        interconnect ? "cluster" : "graph"),
            !platform.empty(), node_.amd.has_value(), notes_};
  }

 private:
  // What NCCL's model needs beside the links.
  std::string nccl() {
    if (node_.gpus.size() == 1 || node_.amd) return {};
    if (!node_.gpu || !node_.cpu) {
      header_.add(fmt::format("For NCCL's model add 'nccl: {{gpu: {}, cpu: {}}}'.",
                              node_.gpu ? nccl::name(*node_.gpu) : "...",
                              node_.cpu ? cpu_word(*node_.cpu) : "..."));
      return {};
    }
    return fmt::format("nccl: {{gpu: {}, cpu: {}}}\n", nccl::name(*node_.gpu), cpu_word(*node_.cpu));
  }

  // The GPU's file, where there is one.
  [[nodiscard]] std::string gpu_line() const {
    if (!node_.gpu_file.empty()) return fmt::format("gpu: {}\n", node_.gpu_file);
    return node_.amd && node_.amd->board ? fmt::format("gpu: {}\n", node_.amd->board->name) : "";
  }

  static std::string_view cpu_word(HostCpu cpu) {
    if (cpu == HostCpu::amd) return "amd";
    if (cpu == HostCpu::arm) return "arm";
    bool is_intel = cpu == HostCpu::broadwell || cpu == HostCpu::skylake || cpu == HostCpu::sapphire_rapids ||
                    cpu == HostCpu::emerald_rapids;
    return is_intel ? "intel" : "other";
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
    count_domains();
    return node_.nvlinks.empty() ? "    kind: pcie\n" + tree_keys(*tree, host_, "    ") : mesh(*tree);
  }

  // Servers have two sockets at most: more NUMA nodes with GPUs than that are domains of a socket.
  void count_domains() {
    constexpr int kMostSockets = 2;
    auto is_root = [](const auto& vertex) { return vertex.parent < 0; };
    auto roots = static_cast<int>(std::ranges::count_if(node_.vertices, is_root));
    if (roots <= kMostSockets || node_.amd) return;
    host_.numa_domains = (roots + 1) / kMostSockets;
    say(fmt::format("{} NUMA nodes have GPUs: taken for {} domains of each of two sockets", roots,
                    *host_.numa_domains));
  }

  [[nodiscard]] std::string_view medium() const { return node_.amd ? "xgmi" : "nvlink"; }
  [[nodiscard]] Seconds latency() const { return node_.amd ? kXgmiLatency : kNvlinkLatency; }

  std::string mesh(const std::optional<PcieTree>& tree) const {
    auto text = fmt::format("    kind: {}_mesh\n    bandwidth: {}\n    latency: {}\n    links:\n", medium(),
                            bandwidth(node_.nvlink), microseconds(latency()));
    for (const auto& pair : node_.nvlinks)
      text += fmt::format("      - {{between: [{}, {}]{}}}\n", pair.a, pair.b,
                          pair.count > 1 ? fmt::format(", count: {}", pair.count) : "");
    return tree ? text + "    pcie:\n" + tree_keys(*tree, host_, "      ") : text;
  }

  std::string cluster(const std::string& interconnect) {
    nics_ = choose_nics(node_, import_);
    auto text = fmt::format("kind: cluster\n{}node:\n  gpus: {}\n", gpu_line(), node_.gpus.size());
    if (!interconnect.empty()) text += "  interconnect:\n" + interconnect;
    if (!nics_.nics.empty()) {
      text += fmt::format("  nics: {{count: {}, bandwidth: {}, latency: {}, affinity: [{}]{}}}\n",
                          nics_.nics.size(), gigabits(nics_.bandwidth), microseconds(kNicLatency),
                          fmt::join(nics_.affinity, ", "), devices());
      describe_nics(interconnect.find("gpus_per_switch") != std::string::npos);
    }
    if (!node_.to_host.empty()) say("left out: the NVLinks between GPUs and CPUs");
    return text;
  }

  // Like mlx5_3: to YAML a word and nothing else, and no name that a node's own GPUs, NICs or switches have.
  static bool is_usual(std::string_view name) {
    auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (!is_device_name(name) || name.front() < 'a' || !is_digit(name.back())) return false;
    for (const char* word : {"gpu", "nic", "pcie", "host"})
      if (name.starts_with(word) && std::ranges::all_of(name.substr(std::strlen(word)), is_digit))
        return false;
    return true;
  }

  // The key `devices`, so that links can be called by them; nothing where some NIC has no such name: without
  // a legend nvidia-smi says NIC0.
  [[nodiscard]] std::string devices() const {
    std::vector<std::string> nics;
    std::set<std::string> known;
    for (const auto& ports : nics_.nics) {
      std::vector<std::string> names;
      for (int port : ports) names.push_back(node_.vertices[port].original);
      for (const auto& name : names)
        if (!is_usual(name) || !known.insert(name).second) return {};
      nics.push_back(names.size() == 1 ? names.front() : fmt::format("[{}]", fmt::join(names, ", ")));
    }
    return fmt::format(", devices: [{}]", fmt::join(nics, ", "));
  }

  void describe_nics(bool with_pcie) {
    std::vector<std::string> names, moved;
    for (std::size_t i = 0; i < nics_.nics.size(); ++i) {
      auto first = std::find(nics_.affinity.begin(), nics_.affinity.end(), static_cast<int>(i));
      auto distance = pcie_class(node_, node_.gpus[first - nics_.affinity.begin()], nics_.nics[i].front());
      names.push_back(
          fmt::format("nic{} is {} ({} to its GPU)", i, originals(nics_.nics[i], " and "), name(distance)));
      if (with_pcie && distance != PcieClass::pix) moved.push_back(fmt::format("nic{}", i));
    }
    header_.add(fmt::format("NICs: {}.", fmt::join(names, ", ")));
    if (!moved.empty())
      header_.add(fmt::format("Here {} hang off the switch of the first GPU that uses them.",
                              fmt::join(moved, ", ")));
    if (auto ports = nics_.nics.front().size(); ports > 1) {
      bool all = nics_.bandwidth >= nics_.port * static_cast<double>(ports);
      say(fmt::format("{} uses {} NIC ports nearest to a GPU: they are one NIC of {} here, {}{} x {}",
                      node_.amd ? "RCCL" : "NCCL", ports == 2 ? "both" : fmt::format("all {}", ports),
                      gigabits(nics_.bandwidth), all ? "" : "what PCIe carries of ", ports,
                      gigabits(nics_.port)));
    }
    if (!nics_.slower.empty())
      say(fmt::format("left out, as slower than the others: {}", originals(nics_.slower, ", ")));
    if (!nics_.farther.empty())
      say(fmt::format("left out, as each GPU uses {} and others are nearer or as near: {}",
                      counted(static_cast<int>(nics_.nics.front().size()), "NIC"),
                      originals(nics_.farther, ", ")));
  }

  [[nodiscard]] std::string originals(const std::vector<int>& nics, std::string_view between) const {
    std::vector<std::string> names;
    for (int nic : nics) names.push_back(one_line(node_.vertices[nic].original));
    return fmt::format("{}", fmt::join(names, between));
  }

  // On the console and, as a sentence, in the header.
  void say(std::string text) {
    notes_.push_back(text);
    text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
    header_.add(text + ".");
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
    auto text = "kind: graph\n" + gpu_line() + "gpus:\n" + gpus + "switches:\n" + switches;
    if (!nics.empty()) text += "nics:\n" + nics;
    text += "links:\n" + nvlink_lines();
    for (int v = 0; v < static_cast<int>(node_.vertices.size()); ++v)
      if (node_.vertices[v].parent >= 0 && !replaced(v)) text += up_line(node_.vertices[v]);
    for (std::size_t a = 0; a < roots.size(); ++a)
      for (std::size_t b = a + 1; b < roots.size(); ++b)
        text += wire(node_.vertices[roots[a]].name, node_.vertices[roots[b]].name,
                     {node_.socket, kPcieLatency}, "socket");
    uses_sockets_ = roots.size() > 1;
    if (!nics.empty()) say("the cables of the NICs lead nowhere here: a graph is one node");
    return text + pcie_line();
  }

  // What a graph's links do not say.
  std::string pcie_line() {
    count_domains();
    std::vector<std::string> keys;
    if (host_.level == nccl::PathLevel::none) keys.emplace_back("peer_to_peer: false");
    if (host_.numa_domains) keys.push_back(fmt::format("numa: {}", *host_.numa_domains));
    return keys.empty() ? "" : fmt::format("pcie: {{{}}}\n", fmt::join(keys, ", "));
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
      text += wire(gpu(pair.a), gpu(pair.b), {node_.nvlink, latency()}, medium(), pair.count);
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
  nccl::PcieHost host_;
  Header header_;
  std::vector<std::string> notes_;
  NicChoice nics_;
  bool uses_nvlink_ = false, uses_pcie_ = false, uses_sockets_ = false;
};

}  // namespace

ImportedTopology write_topology(const ImportedNode& node, const TopologyImport& import,
                                std::string_view what) {
  return Writer(node, import).write(what);
}

}  // namespace ddpsim
