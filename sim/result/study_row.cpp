#include "sim/result/study_row.hpp"

#include <algorithm>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "sim/base/counted.hpp"
#include "sim/base/json_error.hpp"
#include "sim/base/names.hpp"
#include "sim/result/iteration_columns.hpp"
#include "sim/result/json_parts.hpp"

namespace ddpsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr Names<PointFailure, 3> kFailureNames{
    {{"input", PointFailure::input}, {"machine", PointFailure::machine}, {"defect", PointFailure::defect}}};

constexpr const char* kOtherFile = "is it the right file?";
constexpr std::string_view kAllColumns = "all", kMainColumns = "main";

Cell::Fields head_of(const StudyPoint& point, std::optional<PointFailure> failure = {}) {
  Cell::Fields row{{"point", point.number}, {"key", point.key}};
  if (failure) row.emplace_back("failed", failure_name(*failure));
  row.emplace_back("at", point.values);
  return row;
}

// Of the whole row, so that what is damaged behind its head is found, what stands in the row itself.
class RowReader : public nlohmann::json_sax<Json> {
 public:
  StudyRowHead head;
  std::string error;            // of JSON; empty: none
  std::size_t error_place = 0;  // bytes of the line up to there

  [[nodiscard]] bool is_row() const {
    return has_point_ && has_values_ && (head.failure ? has_error_ : has_iteration_);
  }

  bool number_unsigned(number_unsigned_t number) override {
    if (is("point")) head.number = number, has_point_ = true;
    return number_float(static_cast<number_float_t>(number), {});
  }
  bool number_float(number_float_t number, const string_t&) override {
    if (is("iteration_s")) has_iteration_ = number > 0;
    return true;
  }
  bool string(string_t& text) override {
    if (is("error")) has_error_ = true;
    if (depth_ == 2 && key_ == "at") ++head.values;
    if (!is("failed")) return true;
    for (const auto& [name, failure] : kFailureNames)
      if (name == text) head.failure = failure;
    return true;
  }
  bool start_object(std::size_t) override { return ++depth_, true; }
  bool end_object() override { return --depth_, true; }
  bool start_array(std::size_t) override {
    has_values_ = has_values_ || is("at");
    ++depth_;
    return true;
  }
  bool end_array() override { return --depth_, true; }
  bool key(string_t& key) override {
    if (depth_ == 1) key_ = key;
    return true;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool parse_error(std::size_t place, const std::string&, const nlohmann::detail::exception& what) override {
    error = describe_json_error(what.what()).reason;
    error_place = place;
    return false;
  }

 private:
  [[nodiscard]] bool is(std::string_view key) const { return depth_ == 1 && key_ == key; }

  int depth_ = 0;
  std::string key_;
  bool has_point_ = false, has_values_ = false, has_error_ = false, has_iteration_ = false;
};

}  // namespace

std::string_view failure_name(PointFailure failure) {
  return name_in(kFailureNames, failure);
}

std::string study_line(const StudyHead& head) {
  return json::line_of({{"study", head.study},
                        {"points", head.points},
                        {"axes", head.axes},
                        {"columns", head.all_columns ? kAllColumns : kMainColumns}});
}

StudyHead read_study_line(std::string_view line, const SourceSpan& place) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  try {
    auto json = Json::parse(line);
    StudyHead head{json.at("study"), json.at("points"), json.at("axes"), json.at("columns") == kAllColumns};
    if (head.points <= kMostStudyPoints && study_line(head) == fmt::format("{}\n", line)) return head;
  } catch (const Json::exception&) {
  }
  throw InputError(place, "a study's results do not begin with this line", kOtherFile);
}

std::string study_row(const StudyPoint& point, const IterationMetrics& metrics, bool all_columns) {
  auto row = head_of(point);
  json::append(row,
               all_columns ? fields(kIterationColumns, metrics) : study_fields(kIterationColumns, metrics));
  return json::line_of(row);
}

std::string study_row(const StudyPoint& point, PointFailure failure, std::string_view message) {
  auto row = head_of(point, failure);
  row.emplace_back("error", message);
  return json::line_of(row);
}

namespace {

Cell cell_of(const std::string& key, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>();
  if (!value.is_number()) return {};
  auto number = value.get<double>();
  if (key.ends_with("_per_s")) return number;
  if (key.ends_with("_s")) return Seconds(number);
  if (key.ends_with("_bytes")) return Bytes(number);
  if (key.ends_with("_Bps")) return BytesPerSecond(number);
  return value.is_number_integer() ? Cell(value.get<std::int64_t>()) : Cell(number);
}

}  // namespace

Cell StudyRow::figure(std::string_view key) const {
  auto found = std::ranges::find(figures, key, &std::pair<std::string, Cell>::first);
  return found == figures.end() ? Cell() : found->second;
}

StudyRow read_whole_study_row(std::string_view line) {
  StudyRow row;
  const auto json = Json::parse(line);
  for (const auto& item : json.items()) {
    const auto& key = item.key();
    const auto& value = item.value();
    if (key == "point")
      row.point = value.get<std::size_t>();
    else if (key == "at")
      row.values = value.get<std::vector<std::string>>();
    else if (key == "error")
      row.error = value.get<std::string>();
    else if (key != "key" && key != "failed" && !value.is_structured())
      row.figures.emplace_back(key, cell_of(key, value));
  }
  return row;
}

StudyRowHead read_study_row(std::string_view line, const SourceSpan& place) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  RowReader row;
  if (line.starts_with('{') && !Json::sax_parse(line.begin(), line.end(), &row))
    throw InputError(place.part(std::max(static_cast<int>(row.error_place), 1) - 1, 1),
                     fmt::format("this row is damaged, it is no JSON: {}", row.error),
                     "remove the line; 'ddpsim sweep --resume' runs its point again");
  if (!row.is_row()) throw InputError(place, "this is no row of a study's results", kOtherFile);
  return std::move(row.head);
}

StudyRowHead read_study_row(std::string_view line, const StudyHead& study, const SourceSpan& place) {
  auto row = read_study_row(line, place);
  if (row.number >= study.points)
    throw InputError(place, fmt::format("the study has {} points, and no point {}", study.points, row.number),
                     kOtherFile);
  if (row.values != study.axes.size())
    throw InputError(place,
                     fmt::format("this row has {}, and the study sweeps {}", counted(row.values, "value"),
                                 counted(study.axes.size(), "key")),
                     kOtherFile);
  return row;
}

}  // namespace ddpsim
