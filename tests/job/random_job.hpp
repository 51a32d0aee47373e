#pragma once
// Scenarios drawn from the key table: every row has values of its type, sometimes one that is none.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/job/rows/table.hpp"

namespace ddpsim::testing {

class RandomJob {
 public:
  explicit RandomJob(unsigned seed) : random_(seed) {}

  // A section is there once in `rare` times, and a key of it every second time.
  config::Value draw(unsigned rare) {
    rare_ = rare;
    return section(job_table(), true);
  }

  unsigned below(std::size_t limit) { return static_cast<unsigned>(random_() % limit); }

 private:
  static config::Value scalar(std::string text) {
    config::Value value;
    value.kind = config::Value::Kind::scalar;
    value.scalar = std::move(text);
    return value;
  }

  config::Value section(const keys::Section& of, bool is_root = false) {
    config::Value map;
    map.kind = config::Value::Kind::map;
    for (const auto& row : of.rows)
      if (row.is_required || below(is_root ? rare_ : 2 + below(6)) == 0)
        map.entries.push_back({std::string(row.name), {}, value(*row.codec)});
    return map;
  }

  config::Value value(const keys::Codec& codec) {
    auto shapes = codec.shapes();
    return value(shapes[below(shapes.size())]);
  }

  // Small numbers as often as large ones.
  double number(double least, double most) {
    double part = below(1000) / 999.0;
    if (below(2) == 0) most = std::min(most, least + 16);
    return least + (most - least) * part * part * part;
  }

  config::Value value(const keys::Shape& shape) {
    using Kind = keys::Shape::Kind;
    switch (shape.kind) {
      case Kind::boolean:
        return scalar(below(2) == 0 ? "true" : "false");
      case Kind::integer:
        return scalar(fmt::format("{:.0f}", number(*shape.least, *shape.most)));
      case Kind::number: {
        double drawn = number(*shape.least, *shape.most);
        return scalar(*shape.most > 1e12 ? fmt::format("{:.0f}", drawn) : fmt::format("{}", drawn));
      }
      case Kind::quantity: {
        auto unit = shape.example.substr(shape.example.find_first_not_of("0123456789."));
        return scalar(fmt::format("{}{}", 1 + below(100), unit));
      }
      case Kind::count:
        return scalar(fmt::format("{}B", 1 + below(100)));
      case Kind::version:
        return scalar("2.27");
      case Kind::text:
        return scalar(fmt::format("name{}", below(3)));
      case Kind::word:
        return scalar(shape.words[below(shape.words.size())]);
      case Kind::section:
        return section(*shape.section);
      case Kind::list: {
        config::Value list;
        list.kind = config::Value::Kind::sequence;
        for (unsigned n = 1 + below(3); n > 0; --n) list.items.push_back(value(*shape.item));
        return list;
      }
      case Kind::any_map: {
        config::Value map;
        map.kind = config::Value::Kind::map;
        map.entries.push_back({"kind", {}, scalar("transformer")});
        return map;
      }
    }
    return {};
  }

  std::mt19937 random_;
  unsigned rare_ = 1;
};

}  // namespace ddpsim::testing
