#include "sim/text/model_file.hpp"

#include <unordered_map>

#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/keys/types.hpp"
#include "sim/text/file_rows.hpp"

namespace ddpsim::model_keys {
namespace {

using namespace keys;

struct Layer {
  std::string name = {};
  std::int64_t repeat = 1;
  LayerPass forward = {};
  bool is_lookup = false;
  std::optional<Value> tensors = {};
};

// Layers that follow each other as often as it says.
struct Group {
  std::string name = {};
  std::int64_t repeat = 1;
  std::vector<Layer> layers = {};
};

struct ModelFile {
  std::string name = {};
  std::int64_t sequence = 0;
  Value layers = {};
};

Type<std::string> name() {
  return checked<std::string>(text(), [](const std::string& name, const Value& value) {
    if (name.find_first_of(std::string_view("\0\r\n", 3)) != std::string::npos)
      throw InputError(value.span, "a name of several lines", "write it on one line");
  });
}

auto times() {
  return whole<std::int64_t>(1, kMostRepeats);
}

// Alone, or in a group that repeats it.
enum class Stands { alone, in_group };

Type<Layer> layer(Stands stands) {
  auto count = number(0, kLargestCount);
  constexpr auto pass = &Layer::forward;
  Rows<Layer> rows("layer");
  if (stands == Stands::alone) rows.key<&Layer::repeat>("repeat", times(), "How often");
  return nested(
      rows.needs<&Layer::name>("name", name(), "Of the layer")
          .key<pass, &LayerPass::flops_per_token>("flops_per_token", count, "Operations")
          .key<pass, &LayerPass::flops_per_token_and_position>("flops_per_token_and_position", count, "Too")
          .key<pass, &LayerPass::values_per_token>("values_per_token", count, "Read and written")
          .key<pass, &LayerPass::values_per_token_and_position>("values_per_token_and_position", count, "Too")
          .key<pass, &LayerPass::weights>("tied_weights", count, "Of another layer's tensors")
          .key<pass, &LayerPass::kernels>("kernels", whole(1, kMostKernels), "Launches")
          .key<&Layer::is_lookup>("lookup", boolean(), "Its weights are read row by row")
          .key<&Layer::tensors>("tensors", maybe(any()), "From names to elements"));
}

Type<Group> group() {
  return nested(Rows<Group>("layer")
                    .key<&Group::repeat>("repeat", times(), "How often")
                    .key<&Group::layers>("layers", list(layer(Stands::in_group)), "Of a repetition")
                    .needs<&Group::name>("name", name(), "In front of its layers'"));
}

Type<ModelFile> model_rows() {
  return nested(Rows<ModelFile>("model")
                    .kind("model")
                    .needs<&ModelFile::name>("name", name(), "Of the model")
                    .key<&ModelFile::sequence>("sequence", whole<std::int64_t>(1, 1e9), "Of every sample")
                    .needs<&ModelFile::layers>("layers", any(), "Layers and groups, in forward order"));
}

}  // namespace
}  // namespace ddpsim::model_keys

namespace ddpsim {
namespace {

using config::Value;

constexpr std::string_view kIndex = "{i}";

std::string with_index(std::string name, std::int64_t index) {
  for (auto at = name.find(kIndex); at != std::string::npos; at = name.find(kIndex))
    name.replace(at, kIndex.size(), std::to_string(index));
  return name;
}

class ModelReader {
 public:
  Model read(const Value& root) {
    static const auto rows = model_keys::model_rows();
    auto file = keys::read_alone(rows, root);
    model_.name = std::move(file.name);
    model_.sequence = file.sequence;
    for (const auto& item : config::items_of(file.layers)) add_item(item);
    if (places_.empty())
      throw InputError(file.layers.span, "the model has no tensors",
                       "give a layer 'tensors: {weight: 1000}'");
    return std::move(model_);
  }

 private:
  void add_item(const Value& item) {
    static const auto groups = model_keys::group();
    static const auto layers = model_keys::layer(model_keys::Stands::alone);
    if (const auto* below = item.find("layers")) {
      auto group = keys::read_alone(groups, item);
      for (std::int64_t i = 0; i < group.repeat; ++i)
        for (std::size_t l = 0; l < group.layers.size(); ++l)
          add_layer(group.layers[l], below->value.items[l].span, group.name + ".", i);
    } else {
      auto layer = keys::read_alone(layers, item);
      for (std::int64_t i = 0; i < layer.repeat; ++i) add_layer(layer, item.span, "", i);
    }
  }

  void add_layer(const model_keys::Layer& given, const SourceSpan& place, const std::string& prefix,
                 std::int64_t index) {
    if (model_.layers.size() == kMostLayers)
      throw InputError(place, fmt::format("more than {} layers", kMostLayers), "repeat less often");
    ModelLayer layer;
    layer.name = with_index(prefix + given.name, index);
    layer.forward = given.forward;
    double own_weights = given.tensors ? add_tensors(*given.tensors, layer) : 0;
    if (!given.is_lookup) layer.forward.weights += own_weights;
    layer.backward = twice(layer.forward);
    if (given.is_lookup) layer.backward.weights += own_weights;  // the whole gradient is filled
    model_.layers.push_back(std::move(layer));
  }

  // Tensors are registered in the order of the file; a layer's arrive in its reverse. Returns their elements.
  double add_tensors(const Value& tensors, ModelLayer& layer) {
    if (tensors.kind != Value::Kind::map || tensors.entries.empty())
      throw InputError(tensors.span, "'tensors' is a map from names to elements",
                       "write it like {weight: 589824, bias: 768}");
    static const auto names = model_keys::name();
    double sum = 0;
    for (const auto& entry : tensors.entries) {
      auto name = layer.name + "." +
                  keys::read_alone(names, {Value::Kind::scalar, entry.key_span, entry.key, {}, {}});
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

const keys::Section& file_rows::layer() {
  static const auto rows = model_keys::layer(model_keys::Stands::alone);
  return *rows.codec->shapes().front().section;
}

Model read_model(const std::string& path) {
  return ModelReader().read(config::load_yaml(path, "a model"));
}

}  // namespace ddpsim
