// The key `failures`.
#include <fmt/core.h>

#include "sim/config/reader.hpp"
#include "sim/text/sections.hpp"

namespace ddpsim {

Failures read_failures_section(const config::Value& failures) {
  config::MapReader reader(failures, "failures");
  auto time = [](bool may_be_zero) {
    return [may_be_zero](const config::Value& value) {
      auto given = config::as_seconds(value);
      if (given < Seconds() || (given == Seconds() && !may_be_zero))
        throw InputError(value.span, "a time above 0 is expected", "write it like 10min");
      return given;
    };
  };
  for (const char* key : {"mtbf", "checkpoint", "restart", "interval"}) reader.find(key);
  reader.finish();
  Failures result;
  result.mtbf = time(false)(reader.require("mtbf"));
  result.checkpoint = time(false)(reader.require("checkpoint"));
  result.restart = time(true)(reader.require("restart"));
  result.interval = reader.optional("interval", time(false));
  return result;
}

}  // namespace ddpsim
