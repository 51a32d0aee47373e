// NCCL's topology XML, and RCCL's. Which element is what follows their own readers, src/graph/topo.cc:
// ncclTopoAddCpu, ncclTopoAddPci.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/quantity.hpp"
#include "sim/topology/import/nccl_xml_nvlinks.hpp"
#include "sim/topology/import/nccl_xml_xgmi.hpp"
#include "sim/topology/import/socket_link.hpp"
#include "sim/topology/import/topology_writer.hpp"

namespace ddpsim {
namespace {

using Kind = ImportedNode::Kind;
using pugi::xml_node;

constexpr int kDeepest = 32;  // <pci> in <pci>
constexpr std::size_t kMostVertices = 4096;

class Importer {
 public:
  explicit Importer(const TopologyImport& import)
      : import_(import), xml_(import.path, "NCCL's topology as XML") {}

  ImportedNode read() {
    auto system = root();
    dump_ = !!system.find_node([](xml_node node) { return std::string_view(node.name()) == "gpu"; });
    for (auto cpu : system.children("cpu")) read_cpu(cpu);
    if (gpus_.empty())
      throw InputError(xml_.place(system), "a system without GPUs",
                       "GPUs are <pci> of class 0x03.... or 0x120000, or hold a <gpu>");
    number_gpus();
    if (is_of_amd(xml_, gpus_))
      add_xgmi(xml_, import_, gpus_, node_);
    else
      add_nvidia();
    node_.pcie_source =
        "link speed and width of each device, as NCCL counts them (kvDictPciGen in src/graph/topo.cc).";
    read_sockets();
    if (!unused_.empty())
      node_.notes.push_back(fmt::format("left out, as NCCL does not use them by what the file says: {}",
                                        fmt::join(unused_, ", ")));
    if (!repeated_.empty())
      node_.notes.push_back(fmt::format("left out, as the file has them a second time, at another place: {}",
                                        fmt::join(repeated_, ", ")));
    node_.finish();
    return std::move(node_);
  }

 private:
  xml_node root() const {
    auto system = xml_.document().document_element();
    std::string_view name = system.name();
    if (name != "system")
      throw InputError(
          xml_.place(system), fmt::format("<{}> where NCCL's topology begins with <system>", name),
          name == "graphs" ? "these are the graphs of NCCL_GRAPH_DUMP_FILE; NCCL_TOPO_DUMP_FILE writes "
                             "the topology"
                           : "import what NCCL_TOPO_DUMP_FILE writes or NCCL_TOPO_FILE names");
    for (auto next = system.next_sibling(); next; next = next.next_sibling())
      if (next.type() == pugi::node_element) fail_several(xml_.place(next));
    return system;
  }

  [[noreturn]] static void fail_several(const SourceSpan& place) {
    throw InputError(place, "a second node begins here",
                     "one node is imported: keep one <system> of one host");
  }

  void read_cpu(xml_node cpu) {
    auto host = xml_.attribute(cpu, "host_hash");
    auto numa = xml_.required(cpu, "numaid");
    if (host && host_ && host->text != host_->text) fail_several(host->span);
    if (!numa_ids_.insert(numa.text).second) fail_several(numa.span);
    host_ = host;
    int vertex = add(Kind::host_bridge, -1, {}, "NUMA node " + numa.text, numa.span);
    cpus_.push_back(cpu);
    for (auto child : cpu.children()) {
      if (std::string_view(child.name()) == "pci") read_pci(child, vertex, 1);
      if (std::string_view(child.name()) == "nic") read_nets(child, vertex, std::nullopt);
    }
  }

  int add(Kind kind, int parent, BytesPerSecond up, std::string original, SourceSpan place) {
    if (node_.vertices.size() >= kMostVertices)
      throw InputError(place, fmt::format("more than {} devices", kMostVertices), "one node is imported");
    node_.vertices.push_back({kind, parent, up, std::move(original), std::move(place)});
    return static_cast<int>(node_.vertices.size()) - 1;
  }

  void read_pci(xml_node pci, int parent, int depth) {
    auto bus = xml_.required(pci, "busid");
    if (depth > kDeepest)
      throw InputError(bus.span, fmt::format("<pci> nested more than {} deep", kDeepest),
                       "is it a file of NCCL?");
    auto pci_class = xml_.attribute(pci, "class");
    auto is = [&](std::string_view begin) { return pci_class && pci_class->text.starts_with(begin); };
    if (pci.child("gpu") || (!dump_ && (is("0x03") || is("0x1200"))))
      return add_gpu(pci, add(Kind::gpu, parent, link(pci), bus.text, bus.span), bus);
    if (auto nic = pci.child("nic")) return read_nets(nic, parent, link(pci));
    if (is("0x02") && !(dump_ && pci.child("pci"))) {
      if (dump_) return unused_.push_back(bus.text);
      int vertex = add(Kind::nic, parent, link(pci), bus.text, bus.span);
      return add_nic(vertex, vertex);
    }
    if (pci.child("pci")) {
      int here = add(Kind::pcie_switch, parent, link(pci), bus.text, bus.span);
      for (auto child : pci.children("pci")) read_pci(child, here, depth + 1);
    } else if (!pci_class) {
      throw InputError(
          bus.span, fmt::format("<pci> {} lacks a class: is it a GPU?", bus.text),
          "NCCL fills such a file in on the machine: import what NCCL_TOPO_DUMP_FILE writes there");
    }
  }

  // Without a speed, the generation that the user gives; without a width, 16 lanes as NCCL has it.
  BytesPerSecond link(xml_node pci) const {
    auto width = xml_.attribute(pci, "link_width");
    int lanes = width && !width->text.empty() ? static_cast<int>(parse_integer(*width, 0, 64)) : 0;
    if (lanes == 0) lanes = 16;
    auto speed = xml_.attribute(pci, "link_speed");
    if (speed && !speed->text.empty() && !speed->text.starts_with("Unknown")) {
      if (auto bandwidth = pcie_bandwidth(speed->text, lanes)) return *bandwidth;
      throw InputError(speed->span, fmt::format("'{}' is no speed of PCIe", speed->text),
                       "NCCL knows 2.5, 5, 8, 16, 32 and 64 GT/s");
    }
    if (import_.pcie_generation) return pcie_bandwidth(*import_.pcie_generation, lanes);
    throw InputError(speed ? speed->span : xml_.place(pci), "how fast is this link? The file does not say",
                     "say it: --pcie-generation 4");
  }

  void add_gpu(xml_node pci, int vertex, const Located& bus) {
    auto element = pci.child("gpu");
    auto dev = element ? xml_.attribute(element, "dev") : std::nullopt;
    XmlGpu gpu{vertex, element, pci, bus_number(bus), std::nullopt};
    if (dev) gpu.dev = parse_integer(*dev, 0, 1'000'000);
    for (const auto& other : gpus_) {
      if (other.bus == gpu.bus)
        throw InputError(bus.span, fmt::format("two GPUs at {}", bus.text), "one node is imported");
      if (dev && other.dev == gpu.dev)
        throw InputError(dev->span, fmt::format("two GPUs are device {}", dev->text), "one node is imported");
    }
    gpus_.push_back(gpu);
    if (gpus_.size() > static_cast<std::size_t>(kMostGpusPerNode))
      throw InputError(bus.span, fmt::format("more than {} GPUs", kMostGpusPerNode), "one node is imported");
  }

  void add_nic(int vertex, int card) {
    node_.vertices[vertex].card = card;
    node_.nics.push_back(vertex);
    if (node_.nics.size() > static_cast<std::size_t>(kMostNicsPerNode))
      throw InputError(node_.vertices[vertex].place, fmt::format("more than {} NICs", kMostNicsPerNode),
                       "one node is imported");
  }

  // Each <net> is a NIC; a NIC right below a CPU has no PCIe of its own.
  void read_nets(xml_node nic, int parent, std::optional<BytesPerSecond> up) {
    auto card = static_cast<int>(node_.vertices.size());  // the vertex of its first port
    for (auto net : nic.children("net")) {
      auto dev = xml_.attribute(net, "dev"), used = xml_.attribute(net, "net");
      auto name = xml_.attribute(net, "name");
      if (!dev || (used && used->text == "0")) {
        unused_.push_back(name ? name->text : "a <net> without name");
        continue;
      }
      if (!name) name = dev;
      if (!nets_.insert({name->text, dev->text}).second) {
        repeated_.push_back(name->text);
        continue;
      }
      std::optional<BytesPerSecond> speed;
      if (auto given = xml_.attribute(net, "speed"))
        if (auto mbps = parse_integer(*given, -1, 100'000'000); mbps > 0)
          speed = BytesPerSecond(static_cast<double>(mbps) * 1e6 / 8);
      auto wide = up ? *up : speed ? *speed : import_.nic_bandwidth.value_or(BytesPerSecond(10e9 / 8));
      int vertex = add(Kind::nic, parent, wide, name->text, name->span);
      node_.vertices[vertex].speed = speed;
      add_nic(vertex, up ? card : vertex);
    }
  }

  // As CUDA counts: by `dev`, without one by PCI address.
  void number_gpus() {
    bool all = std::all_of(gpus_.begin(), gpus_.end(), [](const XmlGpu& gpu) { return gpu.dev.has_value(); });
    std::sort(gpus_.begin(), gpus_.end(),
              [&](const XmlGpu& a, const XmlGpu& b) { return all ? *a.dev < *b.dev : a.bus < b.bus; });
    for (const auto& gpu : gpus_) node_.gpus.push_back(gpu.vertex);
  }

  void add_nvidia() {
    add_nvlinks(xml_, import_, gpus_, node_);
    node_.gpu_file = import_.gpu_file;
    for (const auto& gpu : gpus_) {
      auto device = xml_.attribute(gpu.pci, "device"), vendor = xml_.attribute(gpu.pci, "vendor");
      bool is_nvidia = !vendor || vendor->text == "0x10de";
      auto name = device && is_nvidia ? gpu_file_of(device->text) : std::string_view();
      if (!import_.gpu_file.empty() && !name.empty() && name != import_.gpu_file)
        throw InputError(device->span,
                         fmt::format("device {} is {}, not {}", device->text, name, import_.gpu_file),
                         "leave --gpu out, or name the right one");
      if (!import_.gpu_file.empty()) continue;
      bool is_first = &gpu == &gpus_.front();
      node_.gpu_file = is_first || node_.gpu_file == name ? std::string(name) : "";
    }
  }

  // The slowest of the CPUs; NCCL counts the same for all of a node.
  void read_sockets() {
    for (auto cpu : cpus_) {
      auto text = [&](const char* name) { return std::string(cpu.attribute(name).value()); };
      auto number = [&](const char* name) { return cpu.attribute(name).as_int(-1); };
      auto known = host_cpu(text("arch"), text("vendor"), number("familyid"), number("modelid"));
      if (!node_.cpu) node_.cpu = known ? known : import_.cpu;
      add_socket_link(node_, import_, known, "the file");
    }
  }

  const TopologyImport& import_;
  XmlText xml_;
  bool dump_ = false;  // with <gpu>: whatever has none is no GPU
  ImportedNode node_;
  std::vector<XmlGpu> gpus_;
  std::vector<xml_node> cpus_;
  std::optional<Located> host_;
  std::set<std::string> numa_ids_;
  std::set<std::pair<std::string, std::string>> nets_;  // name and dev
  std::vector<std::string> unused_, repeated_;          // NICs
};

}  // namespace

ImportedTopology import_nccl_xml(const TopologyImport& import) {
  Importer importer(import);
  auto node = importer.read();
  return write_topology(node, import, node.amd ? "RCCL's topology XML" : "NCCL's topology XML");
}

}  // namespace ddpsim
