#include "sim/report/study_row.hpp"

#include <nlohmann/json.hpp>

#include "sim/base/names.hpp"
#include "sim/report/json_parts.hpp"

namespace ddpsim {
namespace {

using json::Json;

constexpr Names<PointFailure, 3> kFailureNames{
    {{"input", PointFailure::input}, {"machine", PointFailure::machine}, {"defect", PointFailure::defect}}};

// The head comes first, so that whoever looks for a row need not read the rest.
Json head_json(const StudyPoint& point, std::optional<PointFailure> failure = {}) {
  Json row;
  row["point"] = point.number;
  row["points"] = point.of;
  row["study"] = point.study;
  row["key"] = point.key;
  if (failure) row["failed"] = failure_name(*failure);
  row["axes"] = json::axes(point.axes, point.values);
  return row;
}

std::string line_of(const Json& row) {
  return row.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Stops at the axes, which follow the head.
class HeadReader : public nlohmann::json_sax<Json> {
 public:
  StudyRowHead head;
  bool is_whole = false;

  bool number_unsigned(number_unsigned_t number) override {
    if (key_ == "point")
      head.number = number;
    else if (key_ == "points")
      head.of = number;
    else
      return false;
    return true;
  }
  bool string(string_t& text) override {
    if (key_ == "study") return head.study = text, true;
    if (key_ == "key") return true;
    for (const auto& [name, failure] : kFailureNames)
      if (key_ == "failed" && name == text) return head.failure = failure, true;
    return false;
  }
  bool start_object(std::size_t) override { return !is_open_ && (is_open_ = true); }
  bool key(string_t& key) override {
    key_ = key;
    if (key == "axes") is_whole = head.number < head.of && !head.study.empty();
    return key != "axes";
  }
  bool null() override { return false; }
  bool boolean(bool) override { return false; }
  bool number_integer(number_integer_t) override { return false; }
  bool number_float(number_float_t, const string_t&) override { return false; }
  bool binary(binary_t&) override { return false; }
  bool end_object() override { return false; }
  bool start_array(std::size_t) override { return false; }
  bool end_array() override { return false; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  bool is_open_ = false;
  std::string key_;
};

}  // namespace

std::string_view failure_name(PointFailure failure) {
  return name_in(kFailureNames, failure);
}

std::string study_row(const StudyPoint& point, const IterationMetrics& metrics) {
  auto row = head_json(point);
  json::add_metrics(metrics, row);
  return line_of(row);
}

std::string study_row(const StudyPoint& point, PointFailure failure, std::string_view message) {
  auto row = head_json(point, failure);
  row["error"] = message;
  return line_of(row);
}

std::optional<StudyRowHead> read_study_row(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (!line.ends_with('}')) return std::nullopt;  // cut within
  HeadReader reader;
  Json::sax_parse(line.begin(), line.end(), &reader);
  if (!reader.is_whole) return std::nullopt;
  return std::move(reader.head);
}

}  // namespace ddpsim
