#pragma once
// `kind: software` files (docs/reference/gpu-model-software.md, "Software").
#include <string>
#include <string_view>
#include <vector>

#include "sim/compute/software.hpp"
#include "sim/evidence/evidence.hpp"
#include "sim/text/gpu_entries.hpp"

namespace ddpsim {

// From where to where the shares of products lie in the files of software/.
// Ends the name of what `ddpsim calibrate --step` writes.
inline constexpr std::string_view kCalibrated = " calibrated";
inline constexpr Range kShippedGemm{0.52, 0.834};

// What the file says of this GPU, by the entry of `gpus` for it. Throws InputError.
Software read_software(const std::string& path, const GpuNames& gpu);

// The GPUs of its entries, in the order of the file.
std::vector<std::string> software_gpus(const std::string& path);

// What its calibration says besides of how sure predictions by it are; as it was, where it says nothing.
Evidence read_software_evidence(const std::string& path, Evidence known);

// A file that read_software reads back, for that GPU; `comment` stands at its top.
std::string write_software(const Software& software, const std::string& gpu, const std::string& comment,
                           const Evidence& measured = {});

}  // namespace ddpsim
