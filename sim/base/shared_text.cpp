#include "sim/base/shared_text.hpp"

#include <fmt/format.h>

fmt::format_context::iterator fmt::formatter<ddpsim::SharedText>::format(const ddpsim::SharedText& text,
                                                                         fmt::format_context& context) const {
  return fmt::formatter<std::string_view>::format(text.str(), context);
}
