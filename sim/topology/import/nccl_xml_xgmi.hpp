#pragma once
// AMD's GPUs in RCCL's topology XML, and the xGMI between them.
#include "sim/topology/import/nccl_xml_nvlinks.hpp"

namespace ddpsim {

// By `gcn`, by links that are xGMI, and by the vendor of the PCI device. Throws InputError where only some of
// the GPUs are.
bool is_of_amd(const XmlText& xml, const std::vector<XmlGpu>& gpus);

// Adds the links of `gpus`, the GPUs of `node` in the order of their numbers, and which GPUs they are. Throws
// InputError for links to nowhere or with one end only, GPUs of unknown or of several architectures, and for
// options that contradict the file.
void add_xgmi(const XmlText& xml, const TopologyImport& import, const std::vector<XmlGpu>& gpus,
              ImportedNode& node);

}  // namespace ddpsim
