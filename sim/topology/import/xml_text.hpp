#pragma once
// pugixml, with the place in the text of every element and attribute.
#include <memory>
#include <optional>
#include <string>

#include <pugixml.hpp>

#include "sim/base/source.hpp"

namespace ddpsim {

class XmlText {
 public:
  // Reads and parses a file; `what` names the expected content. Throws InputError where it is no XML.
  XmlText(const std::string& path, std::string_view what);

  [[nodiscard]] const pugi::xml_document& document() const { return document_; }
  [[nodiscard]] SourceSpan place(pugi::xml_node element) const;  // of its name

  // An attribute's value and where it stands; nullopt where the element has no such attribute.
  [[nodiscard]] std::optional<Located> attribute(pugi::xml_node element, const char* name) const;
  [[nodiscard]] Located required(pugi::xml_node element, const char* name) const;

 private:
  [[nodiscard]] SourceSpan span(std::ptrdiff_t offset, int length) const;

  std::shared_ptr<const SourceFile> source_;
  std::string original_, text_;  // as it is in the file; parsed in place
  pugi::xml_document document_;
};

}  // namespace ddpsim
