#include "python/module/costs.hpp"

#include <memory>
#include <numeric>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "sim/base/limits.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/suggest.hpp"
#include "sim/study/collective_times.hpp"

namespace nb = nanobind;

namespace ddpsim::python {
namespace {

Located located(const std::string& argument, const std::string& text) {
  return {text, {make_source(argument, text), 1, 1, static_cast<int>(text.size())}};
}

Operation operation_of(const std::string& word) {
  if (auto operation = find_operation(word)) return *operation;
  auto words = operation_names();
  throw InputError(fmt::format("no collective of the name '{}'{}", word, did_you_mean(word, words)),
                   fmt::format("they are {}", fmt::join(words, ", ")));
}

std::optional<Backend> backend_of(const std::optional<std::string>& word) {
  if (!word) return std::nullopt;
  std::vector<std::string> words;
  for (const auto& row : kBackends) {
    if (row.name == *word) return row.backend;
    words.emplace_back(row.name);
  }
  throw InputError(fmt::format("no backend of the name '{}'{}", *word, did_you_mean(*word, words)),
                   fmt::format("they are {}", fmt::join(words, ", ")));
}

class Costs {
 public:
  double time(const std::string& operation, const nb::object& size, const nb::object& ranks,
              const std::string& topology, int stride, const std::optional<std::string>& backend) {
    return times_(topology, gpus(ranks, stride), operation_of(operation), bytes(size), backend_of(backend))
        .value();
  }

 private:
  Bytes bytes(const nb::object& size) {
    if (nb::isinstance<nb::str>(size)) {
      auto text = nb::cast<std::string>(size);
      auto [known, is_new] = sizes_.try_emplace(text);
      if (is_new) known->second = parse_bytes(located("size", text));
      return known->second;
    }
    double number = PyFloat_AsDouble(size.ptr());
    if (PyErr_Occurred()) throw nb::python_error();
    if (!(number >= 0) || number > kLargestByteCount.value())
      throw InputError(fmt::format("{} is no number of bytes", number), "from 0 to 8 PiB");
    return Bytes(number);
  }

  const std::vector<int>& gpus(const nb::object& ranks, int stride) {
    if (!PyIndex_Check(ranks.ptr())) {
      if (!nb::try_cast(ranks, own_)) throw nb::type_error("ranks is a whole number, or a list of GPUs");
      return own_;
    }
    auto whole = PyNumber_AsSsize_t(ranks.ptr(), PyExc_OverflowError);
    if (PyErr_Occurred()) throw nb::python_error();
    if (whole > kLargestWorldSize || whole < 1)
      throw InputError(fmt::format("no group has {} ranks", whole),
                       fmt::format("from 1 to {}", kLargestWorldSize));
    auto [count, step] = std::pair(static_cast<int>(whole), stride);
    auto& made = groups_[{count, step}];
    if (!made.empty()) return made;
    if (count < 1 || step < 1 || static_cast<std::int64_t>(count) * step > kLargestWorldSize)
      throw InputError(fmt::format("no cluster has {} ranks, each {} GPUs from the one before", count, step),
                       fmt::format("up to {} GPUs", kLargestWorldSize));
    made.resize(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) made[static_cast<std::size_t>(i)] = i * step;
    return made;
  }

  CollectiveTimes times_;
  std::unordered_map<std::string, Bytes> sizes_;
  std::map<std::pair<int, int>, std::vector<int>> groups_;
  std::vector<int> own_;
};

}  // namespace

void add_costs(nb::module_& m) {
  auto costs = std::make_shared<Costs>();
  m.def(
      "collective_time",
      [costs](const std::string& operation, const nb::object& size, const nb::object& ranks,
              const std::string& topology, int stride, const std::optional<std::string>& backend) {
        return costs->time(operation, size, ranks, topology, stride, backend);
      },
      nb::arg("operation"), nb::arg("size"), nb::arg("ranks"), nb::arg("topology"), nb::arg("stride") = 1,
      nb::arg("backend") = nb::none(),
      nb::sig("def collective_time(operation: str, size: int | float | str, ranks: int | "
              "collections.abc.Sequence[int], topology: str, stride: int = 1, backend: str | None = None) -> "
              "float"),
      "Seconds that a collective takes while nobody else uses the links.\n\n"
      "size: bytes, or text like \"64MiB\", of the buffer as nccl-tests counts it: of an all_gather or\n"
      "reduce_scatter all ranks' parts together, of an all_to_all what a rank sends to all ranks, of a\n"
      "gather or scatter what rank 0 holds.\n"
      "ranks: how many, each on the GPU `stride` after the one before; or the GPUs themselves.\n"
      "backend: nccl, gloo or mpi; by default nccl where the topology describes it, else plain rings.\n"
      "topology: a name of presets(\"topologies\"), or a path. What is found out of a group is kept:\n"
      "the first call takes milliseconds, later ones microseconds.");
}

}  // namespace ddpsim::python
