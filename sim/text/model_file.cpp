#include "sim/text/model_file.hpp"

#include <unordered_map>

#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/config/reader.hpp"

namespace ddpsim {
namespace {

using config::MapReader;
using config::Value;

constexpr std::string_view kIndex = "{i}";

enum class ModelKind { model };

std::string with_index(std::string name, std::int64_t index) {
  for (auto at = name.find(kIndex); at != std::string::npos; at = name.find(kIndex))
    name.replace(at, kIndex.size(), std::to_string(index));
  return name;
}

std::string as_name(const Value& value) {
  auto name = config::as_string(value);
  if (name.find_first_of(std::string_view("\0\r\n", 3)) != std::string::npos)
    throw InputError(value.span, "a name of several lines", "write it on one line");
  return name;
}

class ModelReader {
 public:
  Model read(const Value& root) {
    MapReader reader(root, "model");
    reader.required("kind", config::as_word(config::Words<ModelKind>{{"model", ModelKind::model}}));
    model_.name = reader.required("name", as_name);
    model_.sequence = reader.optional("sequence", config::as_integer(1, 1e9)).value_or(0);
    const Value& layers = reader.require("layers");
    reader.finish();
    for (const auto& item : config::items_of(layers)) read_item(item);
    if (places_.empty())
      throw InputError(layers.span, "the model has no tensors", "give a layer 'tensors: {weight: 1000}'");
    return std::move(model_);
  }

 private:
  // A layer, or a group of layers that follow each other as often as it says.
  void read_item(const Value& item) {
    MapReader reader(item, "layer");
    auto repeat = reader.optional("repeat", config::as_integer(1, kMostRepeats));
    const Value* group = reader.find("layers");
    if (group) {
      auto prefix = reader.required("name", as_name);
      reader.finish();
      for (std::int64_t i = 0; i < repeat.value_or(1); ++i)
        for (const auto& layer : config::items_of(*group))
          read_layer(MapReader(layer, "layer"), layer, prefix + ".", i);
    } else {
      for (std::int64_t i = 0; i < repeat.value_or(1); ++i) {
        MapReader layer(item, "layer");
        layer.find("repeat");
        read_layer(std::move(layer), item, "", i);
      }
    }
  }

  void read_layer(MapReader reader, const Value& place, const std::string& prefix, std::int64_t index) {
    if (model_.layers.size() == kMostLayers)
      throw InputError(place.span, fmt::format("more than {} layers", kMostLayers), "repeat less often");
    auto count = [&reader](std::string_view key) {
      return reader.optional(key, config::as_number(0, kLargestCount)).value_or(0);
    };
    ModelLayer layer;
    layer.name = with_index(prefix + reader.required("name", as_name), index);
    layer.forward.flops_per_token = count("flops_per_token");
    layer.forward.flops_per_token_and_position = count("flops_per_token_and_position");
    layer.forward.values_per_token = count("values_per_token");
    layer.forward.values_per_token_and_position = count("values_per_token_and_position");
    layer.forward.weights = count("tied_weights");
    layer.forward.kernels =
        static_cast<int>(reader.optional("kernels", config::as_integer(1, kMostKernels)).value_or(1));
    bool is_lookup = reader.optional("lookup", config::as_bool).value_or(false);
    double own_weights = 0;
    if (const Value* tensors = reader.find("tensors")) own_weights = read_tensors(*tensors, layer);
    reader.finish();
    if (!is_lookup) layer.forward.weights += own_weights;
    layer.backward = twice(layer.forward);
    if (is_lookup) layer.backward.weights += own_weights;  // the whole gradient is filled
    model_.layers.push_back(std::move(layer));
  }

  // Tensors are registered in the order of the file; a layer's arrive in its reverse. Returns their elements.
  double read_tensors(const Value& tensors, ModelLayer& layer) {
    if (tensors.kind != Value::Kind::map || tensors.entries.empty())
      throw InputError(tensors.span, "'tensors' is a map from names to elements",
                       "write it like {weight: 589824, bias: 768}");
    double sum = 0;
    for (const auto& entry : tensors.entries) {
      auto name = layer.name + "." + as_name({Value::Kind::scalar, entry.key_span, entry.key, {}, {}});
      auto elements =
          config::as_integer(1, static_cast<std::int64_t>(kLargestByteCount.value()))(entry.value);
      check_new(name, entry.key_span);
      sum += static_cast<double>(elements);
      layer.tensors.insert(layer.tensors.begin(), {name, elements, places_.size() - 1});
    }
    total_ += sum;
    if (total_ * bytes_per_element(DType::float64) > kLargestByteCount.value())
      throw InputError(tensors.span, "the tensors up to here are more than 8 PiB as float64",
                       "check the element counts");
    return sum;
  }

  void check_new(const std::string& name, const SourceSpan& span) {
    auto [first, is_new] = places_.emplace(name, span.line);
    if (!is_new)
      throw InputError(span, fmt::format("tensor '{}' appears twice", name),
                       first->second == span.line ? std::string("put {i} into the name of what is repeated")
                                                  : fmt::format("it is first on line {}", first->second));
  }

  Model model_;
  std::unordered_map<std::string, int> places_;  // line of each tensor by its name
  double total_ = 0;
};

}  // namespace

Model read_model(const std::string& path) {
  return ModelReader().read(config::load_yaml(path, "a model"));
}

}  // namespace ddpsim
