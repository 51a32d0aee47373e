#pragma once
// The NVLinks in NCCL's topology XML, and those that an option adds where it holds none.
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/topology/import/imported_node.hpp"
#include "sim/topology/import/topology_import.hpp"
#include "sim/topology/import/xml_text.hpp"

namespace ddpsim {

struct XmlGpu {
  int vertex;
  pugi::xml_node element;  // <gpu>; null in a file without
  pugi::xml_node pci;      // what it is in
  std::uint64_t bus;
  std::optional<std::int64_t> dev;
};

// The hexadecimal digits of "0000:1b:00.0": two spellings of one address are one number.
std::uint64_t bus_number(const Located& text);

// Adds the NVLinks of `gpus`, the GPUs of `node` in the order of their numbers, and what kind of GPU they
// are. Throws InputError for links to nowhere, with one end only, of unknown or different rates, and for
// --nvlinks beside a file that has some.
void add_nvlinks(const XmlText& xml, const TopologyImport& import, const std::vector<XmlGpu>& gpus,
                 ImportedNode& node);

}  // namespace ddpsim
