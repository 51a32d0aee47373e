#pragma once
// Text that does not change, of which copies share one: names that thousands of traces have in common.
#include <concepts>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace ddpsim {

class SharedText {
 public:
  SharedText() = default;
  SharedText(std::string text) : text_(std::make_shared<const std::string>(std::move(text))) {}
  SharedText(const char* text) : SharedText(std::string(text)) {}

  [[nodiscard]] const std::string& str() const {
    static const std::string none;
    return text_ ? *text_ : none;
  }
  operator const std::string&() const { return str(); }
  operator std::string_view() const { return str(); }
  [[nodiscard]] bool empty() const { return str().empty(); }

  friend bool operator==(const SharedText& a, const SharedText& b) {
    return a.text_ == b.text_ || a.str() == b.str();
  }
  template <class Text>
  requires(std::convertible_to<const Text&, std::string_view> && !std::same_as<Text, SharedText>) friend bool
  operator==(const SharedText& a, const Text& b) {
    return a.str() == std::string_view(b);
  }
  friend std::ostream& operator<<(std::ostream& out, const SharedText& text) { return out << text.str(); }

 private:
  std::shared_ptr<const std::string> text_;
};

}  // namespace ddpsim

template <>
struct fmt::formatter<ddpsim::SharedText> : fmt::formatter<std::string_view> {
  fmt::format_context::iterator format(const ddpsim::SharedText& text, fmt::format_context& context) const;
};
