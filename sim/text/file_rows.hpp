#pragma once
// The keys of files, for what is derived from them: docs/formats.md is held to these.
#include "sim/keys/table.hpp"

namespace ddpsim::file_rows {

const keys::Section& gpu();
const keys::Section& transformer();  // kind: transformer
const keys::Section& layer();        // of kind: model
const keys::Section& software();
const keys::Section& shares();  // an entry of software's `gpus`

}  // namespace ddpsim::file_rows
