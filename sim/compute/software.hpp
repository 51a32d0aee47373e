#pragma once
// What a framework of an era reaches of a GPU's data sheet: a file of software/
// (docs/reference/gpu-model-software.md, "Software"). The law that uses it: docs/model.md, "Compute times by
// law".
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/gpu/precision.hpp"

namespace ddpsim {

// What a framework keeps of a step besides its states: docs/model.md, "Memory".
struct MemoryUse {
  double fragmentation = 1.05;         // reserved over handed out, of what comes and goes within a step
  std::optional<Bytes> overhead = {};  // outside the allocator; none: context, libraries, communicators
  double logit_bytes = 12;             // of each logit, at the peak of the loss
  double gated_values = 4;    // of a gated feed-forward layer's width a token; 3: it activates in one kernel
  bool expands_keys = false;  // keys and values are copied to all heads
  bool dropout = false;       // its masks are kept
  bool transformer_engine = false;  // whose products have workspaces of their own
  bool operator==(const MemoryUse&) const = default;
};

// What a framework adds to a block with experts.
struct ExpertUse {
  // The host's time for each such block and micro-batch, and for each expert of a rank, a third of it
  // forward; without waiting for counts, where experts have a capacity. None: its launches are counted.
  std::optional<Seconds> host = {}, host_capacity = {};
  Seconds host_each = {};
  double traffic = 1;       // of permuting, sorting, probabilities, activation and copies, over the least
  bool flash_sinks = true;  // attention with sinks has a kernel that keeps scores to itself
  bool operator==(const ExpertUse&) const = default;
};

struct Software {
  std::string name = {};
  // Shares of a GPU's peak that large aligned matrix products and the attention kernel's own products
  // sustain.
  double gemm = 0, attention = 0;
  std::optional<double> gemm_fp32 = {}, gemm_tf32 = {};  // of products in these types, where they differ
  double narrow_heads = 1;  // factor on attention's share for each time that a head is half of 128 wide
  // Tokens by which causal attention's kernel computes longer rows: tiles that the diagonal cuts, and their
  // uneven lengths.
  double attention_ramp = 0;
  double elementwise =
      1;                 // factor on the traffic of element-wise kernels; 1: norms and activations are fused
  Seconds host = {};     // to launch a kernel
  double queue = 3.86;   // exponent: how far launches run ahead; 1 not at all, infinite perfectly
  double memory = 0.85;  // share of the memory bandwidth that element-wise kernels reach
  double k_ramp = 150;   // start and end of a product's tile, as elements of k
  double unaligned = 0.331;           // factor on a product's rate where m, n or k is no multiple of 8
  double unaligned_attention = 0.10;  // the same of attention, where the width of a head is none
  double fp8_cast = 5;                // bytes moved per element that is quantised
  double loss_bytes = 34;             // bytes moved per logit, forward and backward
  double rotary_bytes = 0;            // the same per value of queries and keys, by rotary embeddings
  double weight_cast = 0;             // the same per weight in float32, by autocast's copies
  double optimizer_bytes = 34;        // bytes moved per parameter, gradient clipping with it
  double optimizer_operations = 0;    // of the step per parameter, products of matrices; of no file
  bool flash = true;                  // attention whose scores never reach memory
  bool causal_skip = true;            // that leaves out the masked half
  bool early_stop = false;            // recomputation ends before the block's last product
  bool repeats_keys = false;  // keys and values are repeated for every query head before ranks exchange them
  // Mean error of the measured steps that it was not fitted to; none: nobody measured it, or they were
  // fitted.
  std::optional<double> judged_error = {};
  // Share of tensor-parallel collectives that runs under products; none: nobody measured it.
  std::optional<double> tensor_hidden = {};
  bool is_for_gpu = true;         // its shares were fitted on this GPU; else they are those of another
  bool is_for_chip = false;       // that one has the same chip
  std::string derived_from = {};  // whose shares they are, where no step of such a GPU was fitted
  bool is_kernel_for_gpu = true;  // the same of the attention kernel's
  std::string fitted_on = {};     // that GPU: "A100"
  int ranks = 8;                  // of the steps it was fitted to, which waited for the slowest of so many
  double spread = 0;  // of those GPUs' speed, standard deviation over median: how slow that one was
  std::vector<Precision> types = {};  // that its shares were fitted or judged in; none: any
  // Up to which it was fitted or judged; 0: not known.
  struct Scope {
    int gpus = 0, tensor = 0;  // the job's; of a tensor-parallel group
    bool operator==(const Scope&) const = default;
  } scope = {};
  MemoryUse memory_use = {};
  ExpertUse expert = {};

  bool operator==(const Software&) const = default;
};

// The share of its peak that products in a type sustain: what a fit of it changes.
inline double& products_share(Software& software, Precision precision) {
  if (precision == Precision::float32 && software.gemm_fp32) return *software.gemm_fp32;
  if (precision == Precision::tfloat32 && software.gemm_tf32) return *software.gemm_tf32;
  return software.gemm;
}
inline double products_share(const Software& software, Precision precision) {
  return products_share(const_cast<Software&>(software), precision);  // NOLINT: only read
}

}  // namespace ddpsim
