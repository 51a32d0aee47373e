// RCCL's src/graph/topo.cc: ncclTopoAddGpu (`sm` is the number of compute units there), ncclTopoAddXGMI.
#include "sim/topology/import/nccl_xml_xgmi.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/counted.hpp"
#include "sim/base/quantity.hpp"
#include "sim/topology/import/amd_import.hpp"

namespace ddpsim {
namespace {

using pugi::xml_node;

constexpr int kMostXgmiLinks = 64;  // of one GPU to one target
constexpr std::string_view kVendorAmd = "0x1002";

bool is_amd(const XmlText& xml, const XmlGpu& gpu) {
  auto vendor = xml.attribute(gpu.pci, "vendor");
  return gpu.element.attribute("gcn") || gpu.element.child("xgmi") || (vendor && vendor->text == kVendorAmd);
}

class XgmiReader {
 public:
  XgmiReader(const XmlText& xml, const TopologyImport& import, const std::vector<XmlGpu>& gpus,
             ImportedNode& node)
      : xml_(xml), import_(import), gpus_(gpus), node_(node) {}

  void read() {
    for (int gpu = 0; gpu < static_cast<int>(gpus_.size()); ++gpu) {
      take(gpus_[gpu]);
      for (auto xgmi : gpus_[gpu].element.children("xgmi")) read_link(xgmi, gpu);
      if (auto nvlink = gpus_[gpu].element.child("nvlink"))
        throw InputError(xml_.place(nvlink), "NVLinks of a GPU of AMD",
                         "is the file whole, and of one machine?");
    }
    join();
    note_missing();
    take_amd_gpu(gpu_, said_by_, node_);
  }

 private:
  // The architecture that the file or the option says, and the board as far as it is known.
  void take(const XmlGpu& gpu) {
    auto gcn = xml_.attribute(gpu.element, "gcn");
    const auto& place = node_.vertices[gpu.vertex].place;
    const auto* here = gcn ? amd_architecture_of_gcn(gcn->text) : nullptr;
    if (gcn && !here) {
      if (!gpu.element.child("xgmi") && !import_.amd) return;  // joined by PCIe
      throw InputError(gcn->span,
                       fmt::format("how fast is the xGMI of '{}'? It is not known here", gcn->text),
                       "known are gfx908, gfx90a, gfx94. and gfx950");
    }
    if (!here && !import_.amd) throw InputError(place, "which GPU of AMD is this?", ask_for_amd_gpu());
    if (!here) here = import_.amd->architecture;
    if (gpu_.architecture && here != gpu_.architecture)
      throw InputError(gcn ? gcn->span : place,
                       fmt::format("GPUs of two architectures in one node: {} and {}",
                                   gpu_.architecture->name, here->name),
                       "the GPUs of a node are alike");
    if (import_.amd && here != import_.amd->architecture)
      throw InputError(gcn->span,
                       fmt::format("{} here is {}, and --gpu is of {}", gcn->text, here->name,
                                   import_.amd->architecture->name),
                       "leave --gpu out, or name the right one");
    if (!gpu_.architecture) said_by_ = gcn ? fmt::format("gcn {}", gcn->text) : "--gpu";
    gpu_.architecture = here;
    take_board(gpu);
  }

  void take_board(const XmlGpu& gpu) {
    auto device = xml_.attribute(gpu.pci, "device"), units = xml_.attribute(gpu.element, "sm");
    auto count = units ? parse_integer(*units, 1, 100'000) : 0;  // 0: not said
    const AmdBoard* board = nullptr;
    for (const auto& one : kAmdBoards) {
      bool is_named = device && std::ranges::find(one.devices, device->text) != one.devices.end();
      if (&architecture_of(one) == gpu_.architecture && is_named &&
          (count == 0 || count == one.compute_units))
        board = &one;
    }
    if (import_.amd && import_.amd->board) {
      const auto& named = *import_.amd->board;
      if (board && board != &named)
        throw InputError(device->span,
                         fmt::format("device {} is an {}, not an {}", device->text, board->name, named.name),
                         "leave --gpu out, or name the right one");
      if (count > 0 && count != named.compute_units)
        throw InputError(
            units->span,
            fmt::format("{} compute units, and an {} has {}", count, named.name, named.compute_units),
            "leave --gpu out, or name the right one");
      board = &named;
    }
    if (&gpu != &gpus_.front() && board != gpu_.board) board = nullptr;
    gpu_.board = board;
  }

  void read_link(const xml_node& xgmi, int from) {
    auto written = xml_.required(xgmi, "count");
    auto target = xml_.required(xgmi, "target"), target_class = xml_.required(xgmi, "tclass");
    auto count = static_cast<int>(parse_integer(written, 1, kMostXgmiLinks));
    if (!target_class.text.starts_with("0x03") && !target_class.text.starts_with("0x1200"))
      throw InputError(target_class.span, fmt::format("xGMI to a device of class '{}'", target_class.text),
                       "RCCL's files have it between GPUs: 0x03.... and 0x120000");
    auto bus = bus_number(target);
    auto found = std::ranges::find(gpus_, bus, &XmlGpu::bus);
    if (found == gpus_.end())
      throw InputError(target.span, fmt::format("no GPU is at {}", target.text),
                       "a dump has only the GPUs of its run: run with all GPUs of the node");
    auto to = static_cast<int>(found - gpus_.begin());
    if (to == from) throw InputError(target.span, "xGMI from a GPU to itself", "is the file whole?");
    if (!links_.try_emplace({from, to}, Ends{count, target.span}).second)
      throw InputError(target.span, fmt::format("the xGMI to {} is given twice", target.text),
                       "several links are one <xgmi> with their count");
  }

  void join() {
    for (const auto& [ends, link] : links_) {
      auto back = links_.find({ends.second, ends.first});
      int count = back == links_.end() ? 0 : back->second.count;
      if (count != link.count)
        throw InputError(link.place,
                         fmt::format("{} there, and {} back", counted(link.count, "xGMI link"), count),
                         "a link has two ends: is the file whole?");
      if (ends.first < ends.second) node_.nvlinks.push_back({ends.first, ends.second, count});
    }
  }

  void note_missing() {
    if (gpus_.size() == 1) return;
    if (links_.empty()) {
      node_.notes.emplace_back("the file holds no xGMI: the GPUs are joined by PCIe here");
      return;
    }
    std::vector<std::string> without;
    for (int gpu = 0; gpu < static_cast<int>(gpus_.size()); ++gpu)
      if (std::ranges::none_of(links_, [&](const auto& link) { return link.first.first == gpu; }))
        without.push_back(fmt::format("gpu{}", gpu));
    if (!without.empty())
      node_.notes.push_back(
          fmt::format("no xGMI in the file to {}, and others have some", fmt::join(without, ", ")));
  }

  struct Ends {
    int count;
    SourceSpan place;
  };
  const XmlText& xml_;
  const TopologyImport& import_;
  const std::vector<XmlGpu>& gpus_;
  ImportedNode& node_;
  AmdGpu gpu_;
  std::string said_by_;
  std::map<std::pair<int, int>, Ends> links_;
};

}  // namespace

bool is_of_amd(const XmlText& xml, const std::vector<XmlGpu>& gpus) {
  bool first = is_amd(xml, gpus.front());
  for (const auto& gpu : gpus)
    if (is_amd(xml, gpu) != first)
      throw InputError(xml.place(gpu.pci), "GPUs of AMD and of NVIDIA in one node",
                       "a collective joins GPUs of one vendor: keep those that are one job's");
  return first;
}

void add_xgmi(const XmlText& xml, const TopologyImport& import, const std::vector<XmlGpu>& gpus,
              ImportedNode& node) {
  check_is_amd(import, node.vertices[gpus.front().vertex].place);
  XgmiReader(xml, import, gpus, node).read();
}

}  // namespace ddpsim
