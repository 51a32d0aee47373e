#include "sim/report/study_row.hpp"

#include <nlohmann/json.hpp>

#include "sim/base/names.hpp"
#include "sim/report/json_parts.hpp"

namespace ddpsim {
namespace {

using json::Json;

constexpr Names<StudyFailure, 2> kFailureNames{
    {{"input", StudyFailure::input}, {"machine", StudyFailure::machine}}};

Json head_json(const StudyPoint& point) {
  Json row;
  row["point"] = point.number;
  row["points"] = point.of;
  row["key"] = point.key;
  row["axes"] = json::axes(point.axes, point.values);
  return row;
}

std::string line_of(const Json& row) {
  return row.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Reads the keys at the top that come before the metrics; a row's first ones are all there is to know.
class HeadReader : public nlohmann::json_sax<Json> {
 public:
  StudyRowHead head;
  int seen = 0;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t number) override {
    if (depth_ != 1) return true;
    if (key_ == "point") head.number = number, ++seen;
    if (key_ == "points") head.of = number, ++seen;
    return true;
  }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t& text) override {
    if (depth_ != 1) return true;
    if (key_ == "key") head.key = text, ++seen;
    if (key_ == "failed")
      for (const auto& [name, failure] : kFailureNames)
        if (name == text) head.failure = failure;
    return true;
  }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return ++depth_; }
  bool key(string_t& key) override {
    if (depth_ == 1) key_ = key;
    return true;
  }
  bool end_object() override { return --depth_, true; }
  bool start_array(std::size_t) override { return ++depth_; }
  bool end_array() override { return --depth_, true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  int depth_ = 0;
  std::string key_;
};

}  // namespace

std::string study_row(const StudyPoint& point, const IterationMetrics& metrics) {
  auto row = head_json(point);
  json::add_metrics(metrics, row);
  return line_of(row);
}

std::string study_row(const StudyPoint& point, StudyFailure failure, std::string_view message) {
  auto row = head_json(point);
  row["failed"] = name_in(kFailureNames, failure);
  row["error"] = message;
  return line_of(row);
}

std::optional<StudyRowHead> read_study_row(std::string_view line) {
  HeadReader reader;
  if (!Json::sax_parse(line.begin(), line.end(), &reader) || reader.seen != 3) return std::nullopt;
  if (reader.head.number >= reader.head.of) return std::nullopt;
  return std::move(reader.head);
}

}  // namespace ddpsim
