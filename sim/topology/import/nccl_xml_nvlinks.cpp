// NCCL's src/graph/topo.cc: ncclTopoAddNvLinks, ncclTopoAddC2c.
#include "sim/topology/import/nccl_xml_nvlinks.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/quantity.hpp"
#include "sim/topology/import/amd_import.hpp"

namespace ddpsim {
namespace {

using pugi::xml_node;

constexpr int kMostNvlinks = 64;  // of one GPU to one target

class NvlinkReader {
 public:
  NvlinkReader(const XmlText& xml, const TopologyImport& import, const std::vector<XmlGpu>& gpus,
               ImportedNode& node)
      : xml_(xml), import_(import), gpus_(gpus), node_(node) {}

  void read() {
    to_switch_.assign(gpus_.size(), 0);
    for (int from = 0; from < static_cast<int>(gpus_.size()); ++from) {
      for (auto nvlink : gpus_[from].element.children("nvlink")) read_nvlink(nvlink, from);
      for (auto c2c : gpus_[from].element.children("c2c")) read_c2c(c2c, from);
    }
    join_pairs();
    if (std::any_of(to_switch_.begin(), to_switch_.end(), [](int links) { return links > 0; }))
      node_.to_nvswitch = std::move(to_switch_);
  }

  // A file for NCCL_TOPO_FILE has none, and a dump may lack them.
  void add_missing() {
    if (!to_itself_.empty())
      node_.notes.push_back(
          fmt::format("left out, as they lead from a GPU to itself: the NVLinks of {}", names(to_itself_)));
    bool none = node_.nvlinks.empty() && node_.to_nvswitch.empty();
    if (import_.nvlinks) {
      if (first_)
        throw InputError(*first_, "the file has NVLinks, and --nvlinks is for one without",
                         "leave --nvlinks out");
      return join_all_pairs(*import_.nvlinks);
    }
    if (gpus_.size() == 1) return;
    if (none) return note_none();
    std::vector<int> without;
    for (int gpu = 0; gpu < static_cast<int>(gpus_.size()); ++gpu)
      if (!has_nvlinks(gpu)) without.push_back(gpu);
    if (!without.empty())
      node_.notes.push_back(
          fmt::format("no NVLinks in the file to {}, and others have some", names(without)));
  }

  // As the file says of its first GPU, or the option.
  std::optional<nccl::Gpu> gpu_kind() {
    auto sm = sm_of(gpus_.front());
    auto known = sm ? nccl_gpu(*sm) : std::nullopt;
    return known ? known : import_.gpu;
  }

 private:
  void read_nvlink(const xml_node& nvlink, int from) {
    auto written = xml_.required(nvlink, "count");
    auto count = static_cast<int>(parse_integer(written, 1, kMostNvlinks));
    auto target_class = xml_.required(nvlink, "tclass");
    std::optional<int> peer;
    if (target_class.text.starts_with("0x03")) peer = gpu_at(xml_.required(nvlink, "target"));
    if (peer == from) {
      if (to_itself_.empty() || to_itself_.back() != from) to_itself_.push_back(from);
      return;
    }
    take_rate(gpus_[from], xml_.place(nvlink));
    if (!first_) first_ = xml_.place(nvlink);
    if (target_class.text.starts_with("0x068001")) {
      add_to_host(from, node_.nvlink * count, count, written);
    } else if (target_class.text.starts_with("0x0680")) {
      check_count(to_switch_[from] += count, written);
    } else if (peer) {
      std::pair ends(from, *peer);
      places_.try_emplace(ends, xml_.required(nvlink, "target").span);
      check_count(pairs_[ends] += count, written);
    } else {
      throw InputError(target_class.span, fmt::format("NVLinks to a device of class '{}'", target_class.text),
                       "NCCL knows 0x068000 (NVSwitch), 0x068001 (CPU) and 0x03.... (GPU)");
    }
  }

  void join_pairs() {
    for (const auto& [ends, count] : pairs_) {
      auto back = pairs_.find({ends.second, ends.first});
      if (back == pairs_.end() || back->second != count)
        throw InputError(
            places_.at(ends),
            fmt::format("{} NVLinks lead there, and {} back", count, back == pairs_.end() ? 0 : back->second),
            "a link has two ends: is the file whole?");
      if (ends.first < ends.second) node_.nvlinks.push_back({ends.first, ends.second, count});
    }
  }

  // As many as --nvlinks says for each pair to share, like NV# in the matrix of nvidia-smi.
  void join_all_pairs(int links) {
    const auto& place = node_.vertices[gpus_.front().vertex].place;
    auto count = static_cast<int>(gpus_.size());
    if (count == 1) throw InputError(place, "--nvlinks joins GPUs, and here is one", "leave --nvlinks out");
    for (const auto& gpu : gpus_) take_rate(gpu, node_.vertices[gpu.vertex].place);
    const auto& figures = *figures_of(gpus_.front());
    if (links > figures.most_nvlinks)
      throw InputError(
          place, fmt::format("a GPU of {} has {} NVLinks, not {}", figures.name, figures.most_nvlinks, links),
          "is --nvlinks right?");
    node_.nvlink_source += fmt::format(" {} to share between two GPUs: --nvlinks.", links);
    if (links * (count - 1) > figures.most_nvlinks) {
      node_.to_nvswitch.assign(gpus_.size(), links);
      return;
    }
    for (int a = 0; a < count; ++a)
      for (int b = a + 1; b < count; ++b) node_.nvlinks.push_back({a, b, links});
  }

  void note_none() {
    constexpr std::string_view kAdd =
        "no NVLink joins GPUs here; --nvlinks N adds N between all pairs, as NV# in the matrix of nvidia-smi";
    const auto* figures = figures_of(gpus_.front());
    if (!figures)
      node_.notes.push_back(
          fmt::format("the file holds no NVLinks, which NCCL finds when it runs: {}, with --gpu", kAdd));
    else if (figures->nvlinks_usual)
      node_.notes.push_back(fmt::format("the file holds no NVLinks, though {} GPUs have up to {}: {}",
                                        figures->name, figures->most_nvlinks, kAdd));
  }

  [[nodiscard]] bool has_nvlinks(int gpu) const {
    return (!node_.to_nvswitch.empty() && node_.to_nvswitch[gpu] > 0) ||
           std::any_of(node_.nvlinks.begin(), node_.nvlinks.end(),
                       [&](const NvlinkPair& pair) { return pair.a == gpu || pair.b == gpu; });
  }

  static std::string names(const std::vector<int>& gpus) {
    std::vector<std::string> names;
    for (int gpu : gpus) names.push_back(fmt::format("gpu{}", gpu));
    return fmt::format("{}", fmt::join(names, ", "));
  }

  [[nodiscard]] int gpu_at(const Located& target) const {
    auto bus = bus_number(target);
    auto found = std::find_if(gpus_.begin(), gpus_.end(), [&](const XmlGpu& gpu) { return gpu.bus == bus; });
    if (found == gpus_.end())
      throw InputError(target.span, fmt::format("no GPU is at {}", target.text),
                       "a dump has only the GPUs of its run: run with all GPUs of the node");
    return static_cast<int>(found - gpus_.begin());
  }

  [[nodiscard]] std::optional<int> sm_of(const XmlGpu& gpu) const {
    auto sm = xml_.attribute(gpu.element, "sm");
    if (!sm) return std::nullopt;
    return static_cast<int>(parse_integer(*sm, 1, 999));
  }

  // nullptr where neither the file nor the option says which GPU it is.
  [[nodiscard]] const nccl::GpuChip* figures_of(const XmlGpu& gpu) const {
    auto sm = sm_of(gpu);
    const auto* figures = sm ? gpu_figures_of_sm(*sm) : nullptr;
    return figures || !import_.gpu ? figures : &nccl::chip_of(*import_.gpu);
  }

  // The rate of NVLink, which is that of all GPUs of the node.
  void take_rate(const XmlGpu& gpu, const SourceSpan& element) {
    auto sm = xml_.attribute(gpu.element, "sm");
    const auto* figures = figures_of(gpu);
    auto place = sm ? sm->span : element;
    if (!figures) throw InputError(place, "how fast are the NVLinks of this GPU?", ask_for_gpu());
    if (figures->most_nvlinks == 0)
      throw InputError(place, fmt::format("{} GPUs have no NVLink", figures->name), "is the GPU right?");
    if (node_.nvlink.value() > 0 && figures->nvlink != node_.nvlink)
      throw InputError(place, "NVLinks of two rates in one node", "the GPUs of a node are alike");
    node_.nvlink = figures->nvlink;
    node_.multicast = figures->multicast;
    bool known = sm && gpu_figures_of_sm(*sm_of(gpu));
    node_.nvlink_source =
        fmt::format("{} GB/s per link and direction, as NVIDIA says of {} ({}).",
                    figures->nvlink.value() / 1e9, figures->name, known ? "sm " + sm->text : "--gpu");
  }

  // In megabytes a second and link.
  void read_c2c(xml_node c2c, int from) {
    auto written = xml_.required(c2c, "count");
    auto count = parse_integer(written, 1, kMostNvlinks);
    auto each = parse_integer(xml_.required(c2c, "bw"), 1, 100'000'000);
    add_to_host(from, BytesPerSecond(static_cast<double>(each * count) * 1e6), static_cast<int>(count),
                written);
  }

  void add_to_host(int from, BytesPerSecond bandwidth, int count, const Located& written) {
    if (node_.to_host.empty() || node_.to_host.back().gpu != from) node_.to_host.push_back({from, {}, 0});
    auto& links = node_.to_host.back();
    links.bandwidth += bandwidth;
    links.count += count;
    check_count(links.count, written);
  }

  static void check_count(int count, const Located& written) {
    if (count > kMostNvlinks)
      throw InputError(written.span, fmt::format("{} NVLinks to one target", count), "no GPU has so many");
  }

  const XmlText& xml_;
  const TopologyImport& import_;
  const std::vector<XmlGpu>& gpus_;
  ImportedNode& node_;
  std::map<std::pair<int, int>, int> pairs_;
  std::map<std::pair<int, int>, SourceSpan> places_;
  std::vector<int> to_switch_;
  std::optional<SourceSpan> first_;  // NVLinks that count
  std::vector<int> to_itself_;
};

}  // namespace

std::uint64_t bus_number(const Located& text) {
  std::string digits;
  for (char c : text.text)
    if (c != ':' && c != '.') digits += c;
  std::uint64_t number = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size())
    throw InputError(text.span, fmt::format("'{}' is no PCI address", text.text),
                     "write it like 0000:1b:00.0");
  return number;
}

void add_nvlinks(const XmlText& xml, const TopologyImport& import, const std::vector<XmlGpu>& gpus,
                 ImportedNode& node) {
  check_is_nvidia(import, node.vertices[gpus.front().vertex].place);
  NvlinkReader reader(xml, import, gpus, node);
  reader.read();
  reader.add_missing();
  node.gpu = reader.gpu_kind();
}

}  // namespace ddpsim
