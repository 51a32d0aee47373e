#pragma once
// Importer of a pair of tables: parameters per layer, and gradient times per layer, of a GPT-2.
//
// How a layer's time is spread over its tensors: layers follow each other without gaps, lm_head, final
// LayerNorm, then the blocks from the last to the first. The modules of a layer run one after the other in
// the reverse of forward order; a module's share of the layer's time is its share of the layer's elements.
// Weight and bias of a module are outputs of one autograd node: both are ready at its end. No time is
// recorded for the embeddings: wpe and wte are ready when block 0 is done. A tied embedding is one gradient,
// ready when both its uses are done, so last; an untied lm_head.weight is ready after the lm_head's time. The
// spread is the tables' standard deviations added in quadrature, layer by layer.
#include <string>

#include "sim/trace/import/importer.hpp"
#include "sim/trace/layer_trace.hpp"

namespace ddpsim {

struct LayerTimesImport {
  std::string sizes_path;          // CSV: Name,"No. Params"
  std::string times_path;          // CSV: Name,min,max,mean,std,median in seconds
  std::string statistic = "mean";  // or "median"; means of layers add up to the mean of the whole pass
  bool tied_embedding = true;      // lm_head shares the token embedding's weight
  DType dtype = DType::float32;
  TraceMetadata metadata;  // model is filled in when absent; notes on the rule above are appended
};

// Throws InputError when the tables do not describe one of the four GPT-2 sizes, or a time is missing or not
// a time.
LayerTrace import_layer_times(const LayerTimesImport& import);

TraceImporter layer_times_importer();

}  // namespace ddpsim
