#include "validate/harness/job_json.hpp"

#include "validate/harness/virtual_device.hpp"
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "sim/base/json_error.hpp"
#include "sim/base/source.hpp"

namespace ddpsim::validate {
namespace {

using Json = nlohmann::ordered_json;

// Labels stay behind: they mean nothing to a rank.
Json json_of(const Op& op) {
  if (op.kind == Op::Kind::collective)
    return {{"collective", operation_name(op.operation)}, {"bytes", op.bytes.value()}, {"after", op.after}};
  return {{"compute_s", op.duration.value()}, {"after", op.after}};
}

Operation operation_from(const std::string& word) {
  if (auto operation = find_operation(word)) return *operation;
  throw InputError(fmt::format("unknown collective '{}'", word), "");
}

Op op_from(const Json& json) {
  Op op;
  op.after = json.at("after").get<std::vector<std::size_t>>();
  if (json.contains("compute_s")) {
    op.duration = Seconds(json["compute_s"].get<double>());
  } else {
    op.kind = Op::Kind::collective;
    op.operation = operation_from(json.at("collective").get<std::string>());
    op.bytes = Bytes(json.at("bytes").get<double>());
  }
  return op;
}

constexpr std::string_view kReductions[] = {"none", "naive", "flat", "overlap",
                                            "ddp"};  // as in Reduction::Kind

Json json_of(const Reduction& reduction) {
  return {{"kind", kReductions[static_cast<std::size_t>(reduction.kind)]},
          {"first_bucket_cap_bytes", reduction.first_bucket_cap},
          {"bucket_cap_bytes", reduction.bucket_cap},
          {"gradient_as_bucket_view", reduction.gradient_as_bucket_view},
          {"accumulation_steps", reduction.accumulation_steps}};
}

Reduction reduction_from(const Json& json) {
  auto word = json.at("kind").get<std::string>();
  for (std::size_t kind = 0; kind < std::size(kReductions); ++kind)
    if (word == kReductions[kind])
      return {static_cast<Reduction::Kind>(kind), json.at("first_bucket_cap_bytes").get<std::size_t>(),
              json.at("bucket_cap_bytes").get<std::size_t>(), json.at("gradient_as_bucket_view").get<bool>(),
              json.at("accumulation_steps").get<int>()};
  throw InputError(fmt::format("unknown reduction '{}'", word), "");
}

Json json_of(const Step& step) {
  const auto& sampling = step.sampling;
  Json json{{"name", step.name},
            {"verify", step.verify},
            {"sampling",
             {{"warm_up", sampling.warm_up},
              {"least", sampling.least},
              {"most", sampling.most},
              {"precision", sampling.precision},
              {"budget_s", sampling.budget.value()},
              {"turn", sampling.turn}}},
            {"program", Json::array()},
            {"ranges", Json::array()}};
  for (const auto& op : step.program.ops) json["program"].push_back(json_of(op));
  for (const auto& range : step.ranges) json["ranges"].push_back({range.first, range.count});
  if (step.reduction) json["reduction"] = json_of(*step.reduction);
  if (step.before_last_backward) json["before_last_backward"] = *step.before_last_backward;
  return json;
}

Step step_from(const Json& json) {
  const auto& sampling = json.at("sampling");
  Step step{json.at("name").get<std::string>(),
            {},
            {},
            {sampling.at("warm_up").get<int>(), sampling.at("least").get<int>(),
             sampling.at("most").get<int>(), sampling.at("precision").get<double>(),
             Seconds(sampling.at("budget_s").get<double>()), sampling.at("turn").get<int>()},
            json.at("verify").get<bool>()};
  for (const auto& op : json.at("program")) step.program.ops.push_back(op_from(op));
  for (const auto& range : json.at("ranges"))
    step.ranges.push_back({range.at(0).get<std::size_t>(), range.at(1).get<std::size_t>()});
  if (auto collectives = step.collectives().size(); collectives != step.ranges.size())
    throw InputError(
        fmt::format("a step has {} collectives and ranges for {}", collectives, step.ranges.size()), "");
  if (json.contains("reduction")) step.reduction = reduction_from(json["reduction"]);
  if (json.contains("before_last_backward"))
    step.before_last_backward = json["before_last_backward"].get<std::size_t>();
  return step;
}

Json json_of(const StepSamples& samples) {
  Json json{{"name", samples.name},
            {"settled", samples.settled},
            {"backward_start_s", samples.backward_start.value()},
            {"totals_s", Json::array()},
            {"collectives", Json::array()}};
  for (auto total : samples.totals) json["totals_s"].push_back(total.value());
  for (const auto& one : samples.collectives)
    json["collectives"].push_back(
        {{"launch_s", one.launch.value()}, {"start_s", one.start.value()}, {"end_s", one.end.value()}});
  return json;
}

StepSamples samples_from(const Json& json) {
  StepSamples samples{json.at("name").get<std::string>(),
                      {},
                      {},
                      json.at("settled").get<bool>(),
                      Seconds(json.at("backward_start_s").get<double>())};
  for (const auto& total : json.at("totals_s")) samples.totals.emplace_back(total.get<double>());
  for (const auto& one : json.at("collectives"))
    samples.collectives.push_back({Seconds(one.at("launch_s").get<double>()),
                                   Seconds(one.at("start_s").get<double>()),
                                   Seconds(one.at("end_s").get<double>())});
  return samples;
}

void check_version(const Json& json, const char* key) {
  if (json.at(key) != 1)
    throw InputError(fmt::format("{} is {}, and this version reads 1", key, json.at(key).dump()), "");
}

// The file's JSON, made into something by `convert`; whatever is wrong with it becomes an InputError.
template <class Convert>
auto read_as(const std::string& path, std::string_view what, Convert convert) {
  auto text = load_text(path, what);
  try {
    return convert(Json::parse(text.text));
  } catch (const Json::exception& error) {
    throw InputError(whole_file(text.source),
                     fmt::format("not {}: {}", what, describe_json_error(error.what()).reason),
                     "it is written and read by the same version of ddpsim");
  } catch (const InputError& error) {
    throw error.at(whole_file(text.source));
  }
}

}  // namespace

std::string write_job(const Job& job) {
  Json json{{"ddpsim-job", 1},
            {"backend", job.backend},
            {"timeout_s", job.timeout.value()},
            {"real_time", job.real_time},
            {"collective_workers", job.collective_workers},
            {"slowdowns", Json::array()},
            {"steps", Json::array()}};
  for (const auto& [rank, slowdown] : job.slowdowns) json["slowdowns"].push_back({rank, slowdown});
  if (job.model)
    json["model"] = {
        {"name", job.model->name}, {"batch", job.model->batch}, {"sequence", job.model->sequence}};
  for (const auto& step : job.steps) json["steps"].push_back(json_of(step));
  return json.dump() + "\n";
}

Job read_job(const std::string& path) {
  return read_as(path, "a job", [](const Json& json) {
    check_version(json, "ddpsim-job");
    Job job{json.at("backend").get<std::string>(), {}, Seconds(json.at("timeout_s").get<double>()), {}};
    for (const auto& one : json.at("slowdowns"))
      job.slowdowns[one.at(0).get<int>()] = one.at(1).get<double>();
    job.real_time = json.at("real_time").get<bool>();
    job.collective_workers = json.at("collective_workers").get<int>();
    if (json.contains("model")) {
      const auto& model = json["model"];
      job.model = {model.at("name").get<std::string>(), model.at("batch").get<std::int64_t>(),
                   model.at("sequence").get<std::int64_t>()};
    }
    for (const auto& step : json.at("steps")) job.steps.push_back(step_from(step));
    return job;
  });
}

std::string write_run_result(const RunResult& result) {
  Json json{{"ddpsim-run", 1},
            {"backend", result.backend},
            {"world_size", result.world_size},
            {"environment", Json::object()},
            {"steps", Json::array()}};
  for (const auto& [key, value] : result.environment) json["environment"][key] = value;
  for (const auto& step : result.steps) json["steps"].push_back(json_of(step));
  if (!result.trace.empty()) json["trace"] = result.trace;
  return json.dump(1) + "\n";
}

RunResult read_run_result(const std::string& path) {
  return read_as(path, "a run's result", [](const Json& json) {
    check_version(json, "ddpsim-run");
    RunResult result{json.at("backend").get<std::string>(), json.at("world_size").get<int>(), {}, {}};
    for (const auto& [key, value] : json.at("environment").items())
      result.environment.emplace_back(key, value.get<std::string>());
    for (const auto& [key, value] : result.environment)
      if (value == kVirtualDevice)
        throw InputError(fmt::format("was made on '{}', which is no hardware", value),
                         "measure on a real machine");
    for (const auto& step : json.at("steps")) result.steps.push_back(samples_from(step));
    if (json.contains("trace")) result.trace = json["trace"].get<std::string>();
    return result;
  });
}

}  // namespace ddpsim::validate
