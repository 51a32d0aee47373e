#include "sim/topology/import/xml_text.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>

namespace ddpsim {

XmlText::XmlText(const std::string& path, std::string_view what) {
  auto loaded = load_text(path, what, std::size_t{16} << 20);
  source_ = std::move(loaded.source);
  original_ = text_ = std::move(loaded.text);
  // In place, so that names and values are pointers into the text.
  auto result =
      document_.load_buffer_inplace(text_.data(), text_.size(), pugi::parse_default, pugi::encoding_utf8);
  if (result.status == pugi::status_no_document_element)
    throw InputError(whole_file(source_), fmt::format("holds no XML (expected {})", what),
                     "is it the right file?");
  if (!result) {
    auto last = static_cast<std::ptrdiff_t>(original_.find_last_not_of(" \t\r\n"));
    throw InputError(span(std::min(result.offset, last), 1),
                     fmt::format("no well-formed XML: {}", result.description()), "is the file cut off?");
  }
}

SourceSpan XmlText::place(pugi::xml_node element) const {
  return span(element.name() - text_.data(), static_cast<int>(std::strlen(element.name())));
}

std::optional<Located> XmlText::attribute(pugi::xml_node element, const char* name) const {
  auto found = element.attribute(name);
  if (!found) return std::nullopt;
  return Located{found.value(),
                 span(found.value() - text_.data(), static_cast<int>(std::strlen(found.value())))};
}

Located XmlText::required(pugi::xml_node element, const char* name) const {
  if (auto found = attribute(element, name)) return *std::move(found);
  throw InputError(place(element), fmt::format("<{}> lacks the attribute '{}'", element.name(), name),
                   "is it a file that NCCL wrote, or reads?");
}

SourceSpan XmlText::span(std::ptrdiff_t offset, int length) const {
  auto at = std::min(static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0)), original_.size());
  auto before = std::string_view(original_).substr(0, at);
  auto line = std::count(before.begin(), before.end(), '\n') + 1;
  auto begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return {source_, static_cast<int>(line), static_cast<int>(at - begin) + 1, std::max(length, 1)};
}

}  // namespace ddpsim
