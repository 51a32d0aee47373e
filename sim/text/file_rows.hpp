#pragma once
// The keys of files, for what is derived from them: docs/reference is held to these.
#include "sim/keys/table.hpp"

namespace ddpsim::file_rows {

const keys::Section& gpu();
const keys::Section& transformer();  // kind: transformer
const keys::Section& layer();        // of kind: model
const keys::Section& software();
const keys::Section& shares();            // an entry of software's `gpus`
const keys::Section& attention_shares();  // those of them that an attention kernel has
keys::Section nccl_platform();            // a topology's `nccl`
keys::Section physics_calibration();

using Codec = std::shared_ptr<const keys::Codec>;
Codec weather();
Codec nccl_calibration();
// Topology files by kind, and what the last two are made of.
Codec ring();
Codec cluster();
Codec graph();
Codec node();
Codec interconnect(int gpus);
Codec nics();
Codec fabric();
Codec other_nodes();
Codec links();          // of a graph, both ways
Codec one_way_links();  // of a graph

}  // namespace ddpsim::file_rows
