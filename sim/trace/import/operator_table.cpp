#include "sim/trace/import/operator_table.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/core.h>

#include "sim/base/source.hpp"
#include "sim/trace/import/operator_table_reader.hpp"

namespace ddpsim {
namespace {

struct Parameter {
  std::string name;
  Located id;  // where a forward operator first takes it
  const TableTensor* tensor = nullptr;
  std::optional<std::size_t> yielded_by;  // the last backward operator that yields its gradient
  double ready = 0;                       // in microseconds
};

bool is_parameter(const TableTensor& tensor) {
  return (tensor.type == "weight" || tensor.type == "bias") && tensor.elements > 0;
}

class Profile {
 public:
  explicit Profile(OperatorTables tables) : tables_(std::move(tables)) {
    find_parameters();
    run_backward();
  }

  [[nodiscard]] const OperatorTables& tables() const { return tables_; }
  // In the order of their first use.
  [[nodiscard]] const std::vector<Parameter>& parameters() const { return parameters_; }

  [[nodiscard]] Seconds time_of(OperatorStage stage) const {
    double microseconds = 0;
    for (const auto& one : tables_.operators)
      if (one.stage == stage) microseconds += one.microseconds;
    return Seconds(microseconds / 1e6);
  }

  [[nodiscard]] bool has(OperatorStage stage) const {
    return std::any_of(tables_.operators.begin(), tables_.operators.end(),
                       [&](const auto& one) { return one.stage == stage; });
  }

  // Parameters in the order in which the optimizer lists them; nothing where none of its operators lists any.
  [[nodiscard]] std::optional<std::vector<std::size_t>> registration() const {
    const TableOperator* list = nullptr;
    std::map<std::size_t, std::size_t> places;  // place in the list -> parameter
    for (const auto& one : tables_.operators) {
      if (one.stage != OperatorStage::optimizer) continue;
      auto found = places_in(one);
      if (found.size() <= places.size()) continue;
      places = std::move(found);
      list = &one;
    }
    if (!list) return std::nullopt;
    check_list(*list, places);
    std::vector<std::size_t> order;
    for (const auto& [place, parameter] : places) order.push_back(parameter);
    return order;
  }

 private:
  void find_parameters() {
    std::map<std::string, int> of_kind;
    for (const auto& one : tables_.operators) {
      if (one.stage != OperatorStage::forward) continue;
      std::vector<std::size_t> taken;
      int number = of_kind[one.short_name()];
      for (const auto& id : one.inputs) {
        const auto& tensor = tables_.tensor(id);
        if (!is_parameter(tensor)) continue;
        auto [known, inserted] = by_id_.emplace(id.text, parameters_.size());
        if (inserted)
          parameters_.push_back(
              {fmt::format("{}.{}.{}", one.short_name(), number, tensor.type), id, &tensor, {}, 0});
        taken.push_back(known->second);
      }
      if (taken.empty()) continue;
      ++of_kind[one.short_name()];
      for (auto parameter : taken) users_[parameters_[parameter].tensor->storage].push_back(taken);
    }
    if (parameters_.empty())
      throw InputError(whole_file(tables_.trace), "has no forward operator that takes a weight or a bias",
                       "do the two files belong together?");
  }

  // Marks the parameters whose gradients this backward operator yields.
  void yield(std::size_t index, double now) {
    const auto& one = tables_.operators[index];
    auto puts_out = [&](std::int64_t elements) {
      return std::any_of(one.outputs.begin(), one.outputs.end(),
                         [&](const auto& id) { return tables_.tensor(id).elements == elements; });
    };
    for (const auto& id : one.inputs) {
      auto users = users_.find(tables_.tensor(id).storage);
      if (users == users_.end() || !puts_out(tables_.tensor(id).elements)) continue;
      for (const auto& taken : users->second)
        for (auto parameter : taken) {
          parameters_[parameter].yielded_by = index;
          parameters_[parameter].ready = now;
        }
    }
  }

  void run_backward() {
    double now = 0;
    for (std::size_t i = 0; i < tables_.operators.size(); ++i) {
      if (tables_.operators[i].stage != OperatorStage::backward) continue;
      now += tables_.operators[i].microseconds;
      yield(i, now);
    }
    if (now == 0)
      throw InputError(whole_file(tables_.trace), "has no backward operator that takes time",
                       "was it recorded on a GPU, with its backward pass?");
    for (const auto& parameter : parameters_)
      if (!parameter.yielded_by)
        throw InputError(
            parameter.id.span,
            fmt::format("no backward operator yields the gradient of {}, with {} elements", parameter.name,
                        parameter.tensor->elements),
            "one has to read the weight and to put out a tensor of its size; is the file cut off, "
            "or the parameter frozen?");
  }

  [[nodiscard]] std::map<std::size_t, std::size_t> places_in(const TableOperator& one) const {
    std::map<std::size_t, std::size_t> places;
    std::set<std::size_t> seen;
    for (std::size_t place = 0; place < one.inputs.size(); ++place) {
      auto found = by_id_.find(one.inputs[place].text);
      if (found != by_id_.end() && seen.insert(found->second).second) places.emplace(place, found->second);
    }
    return places;
  }

  // All parameters, side by side and nothing else: the list has as many of each further kind of tensor.
  void check_list(const TableOperator& list, const std::map<std::size_t, std::size_t>& places) const {
    std::set<std::size_t> listed;
    for (const auto& [place, parameter] : places) listed.insert(parameter);
    for (std::size_t parameter = 0; parameter < parameters_.size(); ++parameter)
      if (!listed.contains(parameter))
        throw InputError(parameters_[parameter].id.span,
                         fmt::format("{} is not among what the optimizer updates (line {})",
                                     parameters_[parameter].name, list.name.span.line),
                         "one of its operators has to list every weight and bias");
    auto expected = places.begin()->first;
    for (const auto& [place, parameter] : places) {
      if (place != expected)
        throw InputError(
            list.inputs[expected].span,
            fmt::format("the optimizer also updates tensor {}, which no forward operator takes as "
                        "weight or bias",
                        list.inputs[expected].text),
            "every parameter needs an operator that takes it");
      ++expected;
    }
    if (list.inputs.size() % parameters_.size() != 0)
      throw InputError(list.name.span,
                       fmt::format("lists {} tensors, no multiple of {} parameters", list.inputs.size(),
                                   parameters_.size()),
                       "every parameter needs a forward operator that takes it as weight or bias");
  }

  OperatorTables tables_;
  std::vector<Parameter> parameters_;
  std::map<std::string, std::size_t> by_id_;
  // By the memory of a parameter: the parameters of each forward operator that takes it.
  std::map<std::string, std::vector<std::vector<std::size_t>>> users_;
};

DType dtype_of(const Parameter& parameter, std::optional<DType> given) {
  int bytes = parameter.tensor->bytes_each;
  if (given) {
    if (bytes_per_element(*given) == bytes) return *given;
    throw InputError(parameter.tensor->span,
                     fmt::format("{} has {} bytes an element, and {} has {}", parameter.name, bytes,
                                 dtype_name(*given), bytes_per_element(*given)),
                     "leave --dtype out, or is it another file's?");
  }
  if (bytes == 4) return DType::float32;
  if (bytes == 8) return DType::float64;
  if (bytes == 2)
    throw InputError(parameter.tensor->span,
                     fmt::format("{} has 2 bytes an element: float16 or bfloat16?", parameter.name),
                     "say which with --dtype");
  throw InputError(parameter.tensor->span, fmt::format("{} has {} bytes an element", parameter.name, bytes),
                   "gradients have 2, 4 or 8");
}

std::vector<std::string> notes(const OperatorTableImport& import, bool registration_known) {
  auto file = [](const std::string& path) { return std::filesystem::path(path).filename().string(); };
  return {
      fmt::format("imported from {} and {}, taking Operator_cudatimenooverlap as microseconds:",
                  file(import.trace_path), file(import.tensors_path)),
      "what an operator's kernels take, added up. Operators follow each other without gaps.",
      "A gradient is ready at the end of the backward operator that reads the parameter's memory and puts",
      "out a tensor of its size; the bias with its weight, and before it.",
      "The tables have no names of parameters: conv2d.3.weight is the weight of the fourth conv2d.",
      registration_known ? "Parameters are registered in the order in which the optimizer lists them."
                         : "No optimizer operator lists the parameters: registration is the reverse of "
                           "arrival."};
}

}  // namespace

ImportedTrace import_operator_table(const OperatorTableImport& import) {
  Profile profile(read_operator_tables(import.trace_path, import.tensors_path));
  const auto& parameters = profile.parameters();
  // The bias before its weight, so backwards; then by the operator that yields them.
  std::vector<std::size_t> arrival = reverse_of_arrival(parameters.size());
  std::stable_sort(arrival.begin(), arrival.end(), [&](std::size_t a, std::size_t b) {
    return *parameters[a].yielded_by < *parameters[b].yielded_by;
  });
  ImportedTrace imported;
  auto& trace = imported.trace;
  std::vector<std::size_t> place(parameters.size());
  for (auto index : arrival) {
    const auto& parameter = parameters[index];
    place[index] = trace.gradients.size();
    trace.gradients.push_back({parameter.name,
                               parameter.tensor->elements,
                               dtype_of(parameter, import.dtype),
                               Seconds(parameter.ready / 1e6),
                               {}});
  }
  auto registration = profile.registration();
  trace.registration_order = reverse_of_arrival(parameters.size());
  trace.registration_guessed = !registration.has_value();
  if (registration)
    std::transform(registration->begin(), registration->end(), trace.registration_order.begin(),
                   [&](std::size_t parameter) { return place[parameter]; });
  trace.forward = profile.time_of(OperatorStage::forward);
  if (profile.has(OperatorStage::optimizer)) trace.optimizer = profile.time_of(OperatorStage::optimizer);
  trace.metadata = import.metadata;
  for (auto& note : notes(import, registration.has_value())) trace.metadata.notes.push_back(std::move(note));
  return imported;
}

TraceImporter operator_table_importer() {
  return {
      "operator-table",
      {"TRACE.csv", "TENSORS.csv"},
      "kernel times per operator and the tensors it uses, as TrioSim's tracer writes them",
      {"--dtype"},
      [](const ImportRequest& request) {
        return import_operator_table({request.inputs[0], request.inputs[1], request.dtype, request.metadata});
      }};
}

}  // namespace ddpsim
