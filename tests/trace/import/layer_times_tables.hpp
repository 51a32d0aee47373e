#pragma once
// Tables for tests of the layer-times importer, built as text and kept in a folder that goes away with the
// object.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/core.h>

#include "sim/model/transformer.hpp"
#include "sim/trace/import/layer_times.hpp"

namespace ddpsim::testing {

// Block i takes block + i * step seconds in the mean, ten times that in the median.
struct MadeUpTimes {
  double lm_head = 1, ln_f = 0.5, block = 2, step = 0;
};

inline std::string sizes_table(const Transformer& model) {
  auto w = model.hidden;
  std::string text =
      fmt::format(",Name,No. Params\n0,Token embedding,{}\n1,Position embedding,{}\n", 50257 * w, 1024 * w);
  for (int i = 0; i < model.layers; ++i)
    text += fmt::format("{},Block {},{}\n", i + 2, i, 12 * w * w + 13 * w);
  return text + fmt::format("{},LayerNorm final,{}\n{},LM head,{}\n", model.layers + 2, 2 * w,
                            model.layers + 3, 50257 * w);
}

inline std::string times_row(const std::string& name, double mean, double std) {
  return fmt::format("{},{},{},{},{},{}\n", name, mean / 2, mean * 2, mean, std, mean * 10);
}

// Standard deviations: lm_head 0.3 s, ln_f 0.4 s, each block 1.2 s.
inline std::string times_table(const Transformer& model, const MadeUpTimes& times) {
  std::string text = "Name,min,max,mean,std,median\nbackward,0,0,0,0,0\n";
  for (int i = 0; i < model.layers; ++i)
    text += times_row(fmt::format("block_{} grad", i), times.block + times.step * i, 1.2);
  return text + times_row("forward", 20, 0.1) + times_row("lm_head grad", times.lm_head, 0.3) +
         times_row("ln_f grad", times.ln_f, 0.4) + times_row("step", 3, 0.1);
}

class LayerTimesTables {
 public:
  LayerTimesTables(const std::string& sizes, const std::string& times) {
    std::string pattern = (std::filesystem::temp_directory_path() / "ddpsim_trace_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    std::ofstream(folder_ / "sizes.csv") << sizes;
    std::ofstream(folder_ / "times.csv") << times;
    import.sizes_path = folder_ / "sizes.csv";
    import.times_path = folder_ / "times.csv";
  }
  ~LayerTimesTables() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  LayerTimesTables(const LayerTimesTables&) = delete;
  LayerTimesTables& operator=(const LayerTimesTables&) = delete;

  // The message without the name of this folder.
  [[nodiscard]] std::string without_folder(std::string message) const {
    auto prefix = folder_.string() + "/";
    for (auto at = message.find(prefix); at != std::string::npos; at = message.find(prefix))
      message.erase(at, prefix.size());
    return message;
  }

  LayerTimesImport import;

 private:
  std::filesystem::path folder_;
};

}  // namespace ddpsim::testing
