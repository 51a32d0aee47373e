#include "sim/trace/import/pytorch_profiler/event_reader.hpp"

#include <charconv>
#include <cmath>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/base/json_error.hpp"
#include "sim/base/limits.hpp"

namespace ddpsim::pytorch_profiler {
namespace {

constexpr std::size_t kMostDevices = 4096;
constexpr std::size_t kLongestQuote = 60;
// The year 2065 as a start and as long a duration: sums and differences of nanoseconds fit 63 bits.
constexpr std::int64_t kMostMicroseconds = 3'000'000'000'000'000;

// The characters of a CompressedText as an input iterator; the end is one without a text.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  explicit Cursor(CompressedText* text) : text_(text) {}
  reference operator*() const { return text_->current(); }
  Cursor& operator++() {
    text_->advance();
    return *this;
  }
  // Compared with the end only.
  bool operator!=(const Cursor&) const { return !text_->at_end(); }
  bool operator==(const Cursor&) const { return text_->at_end(); }

 private:
  CompressedText* text_;
};

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return value;
}

std::int64_t dimension(std::string_view text) {
  return whole_number(text).value_or(-1);
}

// Where in the file a value stands.
enum class Place {
  root,
  events,
  event,
  args,
  shapes,
  listed_shape,
  types,
  grid,
  devices,
  device,
  distributed,
  elsewhere
};

class Handler : public nlohmann::json_sax<nlohmann::json> {
 public:
  Handler(CompressedText& text, const std::function<void(const Event&)>& on_event)
      : text_(text), on_event_(on_event) {
    places_.reserve(kDeepestNesting);
  }

  TraceFacts read() {
    Cursor begin(&text_), end(nullptr);
    nlohmann::json::sax_parse(begin, end, this);
    if (!has_events_)
      throw text_.file_error("has no \"traceEvents\": it is not a trace of the PyTorch profiler",
                             kHowToExport);
    return std::move(facts_);
  }

  bool null() override { return scalar("", false); }
  bool boolean(bool) override { return scalar("", false); }
  bool number_integer(number_integer_t value) override { return scalar(fmt::format_int(value).str(), false); }
  bool number_unsigned(number_unsigned_t value) override {
    return scalar(fmt::format_int(value).str(), false);
  }
  bool number_float(number_float_t, const string_t& text) override { return scalar(text, false); }
  bool string(string_t& value) override { return scalar(value, true); }
  bool binary(binary_t&) override { return false; }  // not in JSON text
  bool key(string_t& name) override {
    text_.mark_token();
    if (place() != Place::elsewhere) key_.swap(name);
    return true;
  }
  bool start_object(std::size_t) override {
    text_.mark_token();
    open(object_here());
    return true;
  }
  bool start_array(std::size_t) override {
    text_.mark_token();
    open(array_here());
    return true;
  }
  bool end_object() override {
    text_.mark_token();
    if (place() == Place::event) finish_event();
    if (place() == Place::device && device_id_ && facts_.device_names.size() < kMostDevices)
      facts_.device_names[*device_id_] = device_name_;
    places_.pop_back();
    return true;
  }
  bool end_array() override {
    text_.mark_token();
    places_.pop_back();
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    auto [reason, cut] = describe_json_error(error.what());
    // What was read last may be long; its end counts.
    auto quoted = reason.find("last read: '");
    if (quoted != std::string::npos && reason.size() > quoted + 12 + kLongestQuote)
      reason = reason.substr(0, quoted + 12) + "..." + reason.substr(reason.size() - kLongestQuote);
    std::string hint = cut ? "is the file cut off?" : "is it a trace that the PyTorch profiler wrote?";
    if (!cut && has_events_ && !places_.empty())
      hint +=
          " Some versions of PyTorch write broken JSON with with_stack=True: "
          "record without it, or with a newer version";
    throw text_.error("not JSON: " + reason, hint);
  }

 private:
  static constexpr std::string_view kHowToExport =
      "give the file that prof.export_chrome_trace() or tensorboard_trace_handler() wrote";

  [[nodiscard]] Place place() const { return places_.empty() ? Place::elsewhere : places_.back(); }

  void open(Place place) {
    if (places_.size() == kDeepestNesting)
      throw text_.error(fmt::format("brackets are nested more than {} deep", kDeepestNesting), kHowToExport);
    places_.push_back(place);
  }

  // What the object that begins here is.
  Place object_here() {
    if (places_.empty()) return Place::root;
    switch (places_.back()) {
      case Place::root:
        reject_events("an object");
        return key_ == "distributedInfo" ? Place::distributed : Place::elsewhere;
      case Place::events:
        event_ = {};
        return Place::event;
      case Place::event:
        return key_ == "args" ? Place::args : Place::elsewhere;
      case Place::devices:
        device_id_.reset();
        device_name_.clear();
        return Place::device;
      default:
        return Place::elsewhere;
    }
  }

  Place array_here() {
    if (places_.empty()) return begin_events();
    switch (places_.back()) {
      case Place::root:
        if (key_ == "traceEvents") return begin_events();
        return key_ == "deviceProperties" ? Place::devices : Place::elsewhere;
      case Place::args:
        if (key_ == "Input Dims") return Place::shapes;
        if (key_ == "Input type") return Place::types;
        return key_ == "grid" || key_ == "block" ? Place::grid : Place::elsewhere;
      case Place::shapes:
        if (is_shape()) {
          if (event_.shapes.size() > 1) return Place::elsewhere;
          event_.first_list.emplace_back();
          return Place::listed_shape;
        }
        event_.shapes.emplace_back();
        return Place::shapes;
      default:
        return Place::elsewhere;
    }
  }

  // In "Input Dims" an array per input; that one holds the dimensions, or an array per tensor of a list.
  [[nodiscard]] bool is_shape() const { return places_[places_.size() - 2] == Place::shapes; }

  Place begin_events() {
    if (has_events_) throw text_.error("\"traceEvents\" stands there twice", "keep one of them");
    has_events_ = true;
    return Place::events;
  }

  void reject_events(std::string_view kind) {
    if (key_ == "traceEvents")
      throw text_.error(fmt::format("\"traceEvents\" is {}, not an array", kind), kHowToExport);
  }

  // A value that is no object and no array.
  bool scalar(std::string_view value, bool quoted) {
    text_.mark_token();
    if (!places_.empty()) take(value, quoted);  // else the whole file: read() finds no events
    return true;
  }

  void take(std::string_view value, bool quoted) {
    switch (places_.back()) {
      case Place::root:
        return reject_events("a value");
      case Place::event:
        return set_field(value);
      case Place::args:
        return set_argument(value);
      case Place::shapes:
        if (is_shape()) event_.shapes.back().push_back(dimension(value));
        return;
      case Place::listed_shape:
        return event_.first_list.back().push_back(dimension(value));
      case Place::types:
        event_.types.emplace_back(value);
        return;
      case Place::grid:
        return event_.launch_shape.push_back(dimension(value));
      case Place::device:
        return set_device(value, quoted);
      case Place::distributed:
        return set_distributed(value, quoted);
      default:
        return;
    }
  }

  void set_field(std::string_view value) {
    if (key_ == "ph") event_.phase = value;
    if (key_ == "cat") event_.category = value;
    if (key_ == "name") event_.name = value;
    if (key_ == "pid") event_.process = value;
    if (key_ == "tid") event_.thread = value;
    if (key_ == "ts") event_.start = value;
    if (key_ == "dur") event_.duration = value;
  }

  void set_argument(std::string_view value) {
    if (key_ == "correlation") event_.correlation = whole_number(value);
    if (key_ == "device") event_.device = whole_number(value);
    if (key_ == "stream") event_.stream = whole_number(value);
    if (key_ == "bytes") event_.bytes = whole_number(value);
    if (key_ == "In msg nelems") event_.elements = whole_number(value);
    if (key_ == "External id") event_.id = whole_number(value);
    if (key_ == "Group size") event_.group_size = whole_number(value);
    if (key_ == "Sequence number") event_.sequence_number = whole_number(value);
    if (key_ == "Fwd thread id") event_.forward_thread = whole_number(value);
    if (key_ == "shared memory") event_.shared_memory = whole_number(value);
    if (key_ == "dtype") event_.dtype = value;
    if (key_ == "Collective name") event_.collective = value;
  }

  void set_device(std::string_view value, bool quoted) {
    if (key_ == "id") device_id_ = whole_number(value);
    if (key_ == "name" && quoted) device_name_ = value;
  }

  void set_distributed(std::string_view value, bool quoted) {
    if (key_ == "world_size") facts_.world_size = whole_number(value);
    if (key_ == "nccl_version" && quoted) facts_.nccl_version = value;
  }

  void finish_event() {
    facts_.begin_or_end_events += event_.phase == "B" || event_.phase == "E";
    if (event_.phase != "X") return;
    ++facts_.complete_events;
    on_event_(event_);
  }

  CompressedText& text_;
  const std::function<void(const Event&)>& on_event_;
  TraceFacts facts_;
  std::vector<Place> places_;
  std::string key_;
  Event event_;
  bool has_events_ = false;
  std::optional<std::int64_t> device_id_;
  std::string device_name_;
};

}  // namespace

std::optional<Time> parse_microseconds(std::string_view text) {
  if (text.find_first_of("eE") != std::string_view::npos) {
    long double value = 0;  // holds nanoseconds since 1970
    auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || rest != text.data() + text.size() ||
        !(std::abs(value) < static_cast<long double>(kMostMicroseconds)))
      return std::nullopt;
    return Time(std::llround(value * 1000));
  }
  bool negative = text.starts_with('-');
  auto point = std::min(text.find('.'), text.size());
  auto whole = whole_number(text.substr(0, point));
  if (!whole || *whole > kMostMicroseconds || *whole < -kMostMicroseconds) return std::nullopt;
  std::string digits = "0000";  // of the fraction; the fourth one rounds
  for (std::size_t i = point + 1; i < text.size(); ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    if (i - point - 1 < digits.size()) digits[i - point - 1] = text[i];
  }
  std::int64_t fraction = (*whole_number(digits) + 5) / 10;
  return Time(*whole * 1000 + (negative ? -fraction : fraction));
}

TraceFacts read_events(CompressedText& text, const std::function<void(const Event&)>& on_event) {
  return Handler(text, on_event).read();
}

}  // namespace ddpsim::pytorch_profiler
