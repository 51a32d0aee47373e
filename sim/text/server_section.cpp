// The keys `host`, `data_parallel` and `parameter_server`.
#include "sim/base/limits.hpp"
#include "sim/config/reader.hpp"
#include "sim/text/sections.hpp"

namespace ddpsim {

using config::MapReader;
using config::Value;

HostSection read_host_section(const Value* value) {
  HostSection host;
  if (!value) return host;
  MapReader reader(*value, "host");
  host.copy_bandwidth = reader.optional("copy_bandwidth", config::as_bandwidth);
  host.adam_rate = reader.optional("adam_rate", config::as_number(1e3, 1e15)).value_or(kUsualAdamRate);
  reader.finish();
  return host;
}

DataParallelSection read_data_parallel_section(const Value* value) {
  DataParallelSection section;
  if (!value) return section;
  MapReader reader(*value, "data_parallel");
  section.inputs = reader.optional("inputs", config::as_bytes);
  section.outputs = reader.optional("outputs", config::as_bytes);
  section.loss = reader.optional("loss", config::as_seconds);
  section.host_forward = reader.optional("host_forward", config::as_seconds);
  reader.finish();
  return section;
}

ServerOptions read_parameter_server_section(const Value* value) {
  ServerOptions options;
  options.update_rate = kUsualAdamRate;
  if (!value) return options;
  MapReader reader(*value, "parameter_server");
  options.servers =
      static_cast<int>(reader.optional("servers", config::as_integer(1, kLargestWorldSize)).value_or(1));
  options.dedicated =
      reader
          .optional("placement",
                    config::as_word(config::Words<bool>{{"colocated", false}, {"dedicated", true}}))
          .value_or(false);
  options.synchronous = reader.optional("synchronous", config::as_bool).value_or(true);
  options.update_rate =
      reader.optional("update_rate", config::as_number(1e3, 1e15)).value_or(options.update_rate);
  reader.finish();
  return options;
}

}  // namespace ddpsim
