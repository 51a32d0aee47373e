#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/config/reader.hpp"
#include "sim/ddp/ddp_rules.hpp"
#include "sim/text/sections.hpp"

namespace ddpsim {
namespace {

using config::as_bool;
using config::as_bytes;
using config::as_integer;
using config::as_list;
using config::as_string;
using config::as_word;
using config::MapReader;
using config::Value;
using config::Words;

TorchVersion as_torch_version(const Value& value) {
  auto text = as_string(value);
  if (auto version = parse_torch_version(text)) return *version;
  throw InputError(value.span, fmt::format("'{}' is not a PyTorch version", text), "write it like \"2.6\"");
}

// A size, a list of them, or false.
std::vector<Bytes> as_broadcasts(const Value& value) {
  config::check_word(value, {"true", "false"}, "write false, a size like 212kB, or a list of sizes");
  if (config::is_word(value, "false")) return {};
  if (config::is_word(value, "true"))
    throw InputError(value.span,
                     "broadcast_buffers is on wherever the trace says how large the model's buffers are",
                     "give their size, like 212kB, or false");
  auto sizes =
      value.kind == Value::Kind::sequence ? as_list(as_bytes)(value) : std::vector<Bytes>{as_bytes(value)};
  for (auto size : sizes)
    if (size < Bytes(1))
      throw InputError(value.span, "a broadcast of no bytes", "write false where no buffers are broadcast");
  return sizes;
}

PowerSgd read_power_sgd(const Value& value) {
  MapReader reader(value, "ddp.comm_hook.powersgd");
  PowerSgd options;
  options.rank = static_cast<int>(reader.optional("rank", as_integer(1, 65536)).value_or(options.rank));
  options.start_iteration = static_cast<int>(
      reader.optional("start_iteration", as_integer(0, 1'000'000'000)).value_or(options.start_iteration));
  options.min_compression_rate = reader.optional("min_compression_rate", config::as_number(0, 1e9))
                                     .value_or(options.min_compression_rate);
  options.error_feedback = reader.optional("use_error_feedback", as_bool).value_or(options.error_feedback);
  options.warm_start = reader.optional("warm_start", as_bool).value_or(options.warm_start);
  reader.finish();
  return options;
}

// A word, or PowerSGD with its parameters.
void read_comm_hook(const Value& value, DdpOptions& options) {
  if (value.kind == Value::Kind::map) {
    MapReader reader(value, "ddp.comm_hook");
    options.comm_hook = CommHook::power_sgd;
    options.power_sgd = read_power_sgd(reader.require("powersgd"));
    reader.finish();
    return;
  }
  Words<CommHook> hooks{{"none", CommHook::none},
                        {"fp16", CommHook::fp16},
                        {"bf16", CommHook::bf16},
                        {"powersgd", CommHook::power_sgd}};
  options.comm_hook = as_word(hooks)(value);
}

}  // namespace

DdpOptions read_ddp_section(const Value* value) {
  DdpOptions options;
  if (!value) return options;
  MapReader reader(*value, "ddp");
  Words<BucketRule> rules{{"torch", BucketRule::torch},
                          {"close_before_exceeding", BucketRule::close_before_exceeding}};
  options.rule = reader.optional("rule", as_word(rules)).value_or(BucketRule::torch);
  options.bucket_cap = reader.optional("bucket_cap", as_bytes);
  options.first_bucket_cap = reader.optional("first_bucket_cap", as_bytes);
  if (const Value* caps = reader.find("bucket_caps")) {
    options.bucket_caps = as_list(as_bytes)(*caps);
    if (options.bucket_caps.empty())
      throw InputError(caps->span, "bucket_caps is an empty list", "list at least one cap, or remove it");
  }
  options.accumulation_steps = static_cast<int>(
      reader.optional("accumulation_steps", as_integer(1, kMostAccumulationSteps)).value_or(1));
  options.gradient_as_bucket_view = reader.optional("gradient_as_bucket_view", as_bool).value_or(false);
  options.find_unused_parameters = reader.optional("find_unused_parameters", as_bool).value_or(false);
  options.static_graph = reader.optional("static_graph", as_bool).value_or(false);
  options.set_last_bucket_cap = reader.optional("set_last_bucket_cap", as_bool).value_or(false);
  Words<DdpIteration> iterations{
      {"first", DdpIteration::first}, {"second", DdpIteration::second}, {"steady", DdpIteration::steady}};
  options.iteration = reader.optional("iteration", as_word(iterations)).value_or(DdpIteration::steady);
  if (const Value* hook = reader.find("comm_hook")) read_comm_hook(*hook, options);
  options.compiled = reader.optional("compiled", as_bool).value_or(false);
  options.process_groups = static_cast<int>(reader.optional("process_groups", as_integer(1, 64)).value_or(1));
  options.broadcast_buffers = reader.optional("broadcast_buffers", as_broadcasts);
  options.torch = reader.optional("torch", as_torch_version).value_or(TorchVersion{});
  reader.finish();
  return options;
}

}  // namespace ddpsim
