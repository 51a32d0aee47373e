#include "sim/config/located_json.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "sim/base/json_error.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kDeepest = 32;
constexpr const char* kSpace = " \t\r\n";

// Reads the text and leaves in `*seen` how far the parser has come.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor(const char* at, const char** seen) : at_(at), seen_(seen) {}
  reference operator*() const { return *at_; }
  Cursor& operator++() {
    *seen_ = ++at_;
    return *this;
  }
  bool operator==(const Cursor& other) const { return at_ == other.at_; }
  bool operator!=(const Cursor& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** seen_;
};

class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Builder(const LoadedText& text) : text_(text), seen_(text.text.data()) {
    for (auto at = text.text.find('\n'); at != std::string::npos; at = text.text.find('\n', at + 1))
      line_starts_.push_back(at + 1);
  }

  JsonValue parse() {
    Cursor begin(text_.text.data(), &seen_), end(text_.text.data() + text_.text.size(), &seen_);
    nlohmann::json::sax_parse(begin, end, this);
    return std::move(root_);
  }

  std::vector<JsonValue> parse_lines() {
    const auto& all = text_.text;
    std::vector<JsonValue> values;
    for (auto at = all.find_first_not_of(kSpace); at != std::string::npos;
         at = all.find_first_not_of(kSpace, consumed())) {
      seen_ = all.data() + at;
      Cursor begin(seen_, &seen_), end(all.data() + all.size(), &seen_);
      nlohmann::json::sax_parse(begin, end, this, nlohmann::json::input_format_t::json, false);
      values.push_back(std::exchange(root_, {}));
    }
    return values;
  }

  // The callbacks come when the last character of their token has been read; of a number, the one after it.
  bool null() override { return add({JsonValue::Kind::null, {"", span(consumed() - 4, 4)}, {}}); }
  bool boolean(bool value) override {
    std::string text = value ? "true" : "false";
    return add({JsonValue::Kind::boolean, {text, span(consumed() - text.size(), text.size())}, {}});
  }
  bool number_integer(number_integer_t) override { return number(); }
  bool number_unsigned(number_unsigned_t) override { return number(); }
  bool number_float(number_float_t, const string_t&) override { return number(); }
  bool string(string_t& value) override { return add({JsonValue::Kind::string, quoted(value), {}}); }
  bool binary(binary_t&) override { return false; }  // not in JSON text
  bool key(string_t& name) override {
    key_ = quoted(name);
    for (const auto& [other, value] : open_.back().second.members)
      if (other.text == name)
        throw InputError(key_.span, fmt::format("'{}' appears twice", name), "remove one");
    return true;
  }
  bool start_object(std::size_t) override { return open(JsonValue::Kind::object); }
  bool start_array(std::size_t) override { return open(JsonValue::Kind::array); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    auto [reason, cut] = describe_json_error(error.what());
    auto last = text_.text.find_last_not_of(kSpace);
    throw InputError(
        span(cut ? last : consumed() - (consumed() > 0), 1), "not JSON: " + reason,
        cut ? "is the file cut off?" : "is a comma, a bracket or a quote missing, or one too many?");
  }

 private:
  [[nodiscard]] std::size_t consumed() const { return static_cast<std::size_t>(seen_ - text_.text.data()); }

  [[nodiscard]] SourceSpan span(std::size_t offset, std::size_t length) const {
    auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
    return {text_.source, static_cast<int>(after - line_starts_.begin()),
            static_cast<int>(offset - *std::prev(after)) + 1, static_cast<int>(length)};
  }

  bool number() {
    const auto& text = text_.text;
    auto last = text.find_last_of("0123456789", consumed() - 1);
    auto begin = text.find_last_not_of("+-.0123456789eE", last) + 1;
    return add(
        {JsonValue::Kind::number, {text.substr(begin, last + 1 - begin), span(begin, last + 1 - begin)}, {}});
  }

  // A string that has just ended, with the span of what is between its quotes.
  [[nodiscard]] Located quoted(const std::string& value) const {
    const auto& text = text_.text;
    std::size_t end = consumed() - 1, begin = end;
    auto escaped = [&](std::size_t quote) {
      std::size_t slashes = 0;
      while (slashes < quote && text[quote - 1 - slashes] == '\\') ++slashes;
      return slashes % 2 == 1;
    };
    do begin = text.rfind('"', begin - 1);
    while (escaped(begin));
    return {value, span(begin + 1, std::max<std::size_t>(end - begin - 1, 1))};
  }

  bool add(JsonValue value) {
    if (open_.empty())
      root_ = std::move(value);
    else if (auto& [name, parent] = open_.back(); parent.kind == JsonValue::Kind::object)
      parent.members.push_back({std::move(key_), std::move(value)});
    else
      parent.members.push_back({Located{}, std::move(value)});
    return true;
  }

  bool open(JsonValue::Kind kind) {
    auto bracket = span(consumed() - 1, 1);
    if (open_.size() == kDeepest)
      throw InputError(bracket, fmt::format("more than {} levels of brackets", kDeepest),
                       "is it the right file?");
    open_.emplace_back(std::move(key_), JsonValue{kind, {"", bracket}, {}});
    key_ = {};
    return true;
  }

  bool close() {
    auto [name, value] = std::move(open_.back());
    open_.pop_back();
    key_ = std::move(name);
    return add(std::move(value));
  }

  const LoadedText& text_;
  const char* seen_;
  std::vector<std::size_t> line_starts_{0};
  std::vector<std::pair<Located, JsonValue>> open_;  // with the name each has in its parent
  Located key_;
  JsonValue root_;
};

}  // namespace

const JsonValue* JsonValue::find(std::string_view name) const {
  for (const auto& [key, value] : members)
    if (kind == Kind::object && key.text == name) return &value;
  return nullptr;
}

const JsonValue& JsonValue::at(std::string_view name) const {
  if (const auto* value = find(name)) return *value;
  throw InputError(text.span,
                   fmt::format("no '{}' in this {}", name, kind == Kind::object ? "object" : "place"),
                   "is the file whole?");
}

const Located& JsonValue::cell() const {
  if (!is_scalar()) throw InputError(text.span, "a number or a text is wanted here", "is it the right file?");
  return text;
}

JsonValue parse_json(const LoadedText& text) {
  return Builder(text).parse();
}

std::vector<JsonValue> parse_json_lines(const LoadedText& text) {
  return Builder(text).parse_lines();
}

}  // namespace ddpsim
