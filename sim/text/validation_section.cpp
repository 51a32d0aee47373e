#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/config/reader.hpp"
#include "sim/text/sections.hpp"

namespace ddpsim {
namespace {

using config::as_integer;
using config::as_word;
using config::MapReader;
using config::Value;
using config::Words;

// "5%" as 0.05.
double as_percentage(const Value& value) {
  auto text = config::as_string(value);
  if (!text.ends_with('%'))
    throw InputError(value.span, fmt::format("'{}' is not a percentage", text), "write it like 5%");
  return parse_number({text.substr(0, text.size() - 1), value.span}, 0, 1e6) / 100;
}

void read_testbed(const Value& value, ValidationSettings& settings) {
  MapReader reader(value, "validation.testbed", {"none"});
  settings.testbed_rate = reader.required("rate", config::as_bandwidth);
  settings.testbed_delay = reader.optional("delay", config::as_seconds);
  reader.finish();
}

void read_thresholds(const Value& value, ValidationSettings& settings) {
  MapReader reader(value, "validation.thresholds");
  settings.iteration_error = reader.optional("iteration_error", as_percentage);
  settings.regret = reader.optional("regret", as_percentage);
  reader.finish();
}

}  // namespace

ValidationSettings read_validation_section(const Value* value, const PathResolver& resolve) {
  ValidationSettings settings;
  if (!value) return settings;
  MapReader reader(*value, "validation");
  settings.backend =
      reader.optional("backend", as_word(config::words_of(kBackendNames))).value_or(settings.backend);
  Words<RealCompute> computes{{"replay", RealCompute::replay}, {"model", RealCompute::model}};
  settings.compute = reader.optional("compute", as_word(computes)).value_or(settings.compute);
  reader.optional("ranks", as_integer(2, kLargestWorldSize));  // of a real run only, which reads it first
  const Value* testbed = reader.find("testbed");
  bool none = testbed && testbed->kind == Value::Kind::scalar && testbed->scalar == "none";
  if (testbed && !none) read_testbed(*testbed, settings);
  if (const Value* measured = reader.find("measured")) settings.measured = resolve(*measured);
  if (const Value* thresholds = reader.find("thresholds")) read_thresholds(*thresholds, settings);
  reader.finish();
  return settings;
}

}  // namespace ddpsim
