#include <algorithm>
#include <sstream>
#include <unordered_map>

#include <fmt/core.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "sim/base/limits.hpp"
#include "sim/base/names.hpp"
#include "sim/config/value.hpp"

namespace ddpsim::config {
namespace {

InputError too_deep(const SourceSpan& place) {
  return {place, fmt::format("nested deeper than {} levels", kDeepestNesting), "flatten it"};
}

// Turns yaml-cpp nodes into Values; `origin` is where the text starts inside its file (0-based offsets).
class Converter {
 public:
  explicit Converter(SourceSpan origin) : origin_(std::move(origin)) {}

  Value convert(const YAML::Node& node, int depth = 0) {
    Value value;
    value.span = place(node.Mark(), 1);
    if (depth > kDeepestNesting) throw too_deep(value.span);
    if (++count_ > kMostYamlValues)
      throw InputError(value.span, fmt::format("more than {} values", kMostYamlValues),
                       "do aliases multiply here?");
    switch (node.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null:
        break;
      case YAML::NodeType::Scalar:
        value.kind = Value::Kind::scalar;
        value.scalar = node.Scalar();
        value.is_quoted = node.Tag() == "!";
        value.span = place(node.Mark(), static_cast<int>(std::max<std::size_t>(1, value.scalar.size())));
        break;
      case YAML::NodeType::Sequence:
        value.kind = Value::Kind::sequence;
        for (const auto& item : node) value.items.push_back(convert(item, depth + 1));
        break;
      case YAML::NodeType::Map:
        value.kind = Value::Kind::map;
        convert_entries(value, node, depth);
        break;
    }
    return value;
  }

  SourceSpan place(const YAML::Mark& mark, int length) const {
    if (mark.line < 0) return origin_;
    if (mark.line == 0) return {origin_.file, origin_.line, origin_.column + mark.column, length};
    return {origin_.file, origin_.line + mark.line, mark.column + 1, length};
  }

 private:
  void convert_entries(Value& map, const YAML::Node& node, int depth) {
    std::unordered_map<std::string, int> lines;  // of the keys so far
    for (const auto& pair : node) {
      const YAML::Node& key = pair.first;
      if (!key.IsScalar())
        throw InputError(place(key.Mark(), 1), "a key must be plain text", "write 'key: value'");
      int length = static_cast<int>(std::max<std::size_t>(1, key.Scalar().size()));
      Entry entry{key.Scalar(), place(key.Mark(), length), {}};
      auto [first, is_new] = lines.emplace(entry.key, entry.key_span.line);
      if (!is_new)
        throw InputError(entry.key_span, fmt::format("key '{}' appears twice", entry.key),
                         fmt::format("the first one is on line {}; remove one", first->second));
      entry.value = convert(pair.second, depth + 1);
      // Where nothing stands, yaml-cpp's mark is that of whatever comes next.
      if (entry.value.kind == Value::Kind::null) entry.value.span = entry.key_span;
      map.entries.push_back(std::move(entry));
    }
  }

  SourceSpan origin_;
  std::size_t count_ = 0;
};

constexpr std::string_view kBlankOrBreak = " \t\r\n";

bool is_indented_with_tab(const SourceSpan& place) {
  if (!place.file || static_cast<std::size_t>(place.line) > place.file->lines.size()) return false;
  const auto& line = place.file->lines[static_cast<std::size_t>(place.line) - 1];
  return line.substr(0, line.find_first_not_of(kBlankOrBreak)).find('\t') != std::string::npos;
}

// Hears where the content of each document starts, and nothing else.
class DocumentStarts : public YAML::EventHandler {
 public:
  std::vector<YAML::Mark> marks;

  void OnDocumentStart(const YAML::Mark&) override { in_content_ = false; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { note(mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { note(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t, const std::string&) override {
    note(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    note(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    note(mark);
  }
  void OnMapEnd() override {}

 private:
  void note(const YAML::Mark& mark) {
    if (!in_content_) marks.push_back(mark);
    in_content_ = true;
  }

  bool in_content_ = false;
};

struct Documents {
  YAML::Node first;
  std::vector<YAML::Mark> starts;  // of the first two
};

// YAML::LoadAll would never come to an end, nor would its memory, where a document starts with ','.
Documents load_documents(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentStarts starts;
  for (int i = 0; i < 2; ++i)
    if (!parser.HandleNextDocument(starts)) break;
  if (starts.marks.size() == 2 && starts.marks[0].pos == starts.marks[1].pos)
    throw YAML::ParserException(starts.marks[0], "no value can start like this");
  return {YAML::Load(text), std::move(starts.marks)};
}

Documents load(const std::string& text, const Converter& converter) {
  try {
    // yaml-cpp takes a quote that is never closed for closed where the text ends with a line end.
    return load_documents(text.substr(0, text.find_last_not_of(kBlankOrBreak) + 1));
  } catch (const YAML::DeepRecursion& error) {
    throw too_deep(converter.place(error.mark, 1));
  } catch (const YAML::Exception& error) {
    auto place = converter.place(error.mark, 1);
    throw InputError(place, fmt::format("not valid YAML: {}", error.msg),
                     is_indented_with_tab(place) ? "indent with blanks; YAML takes no tabs there"
                                                 : "check indentation, colons and brackets");
  }
}

}  // namespace

const Entry* Value::find(std::string_view key) const {
  auto it = std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.key == key; });
  return it == entries.end() ? nullptr : &*it;
}

Entry* Value::find(std::string_view key) {
  return const_cast<Entry*>(std::as_const(*this).find(key));
}

std::string_view kind_name(Value::Kind kind) {
  constexpr Names<Value::Kind, 4> kNames{{{"nothing", Value::Kind::null},
                                          {"a single value", Value::Kind::scalar},
                                          {"a list", Value::Kind::sequence},
                                          {"a map", Value::Kind::map}}};
  return name_in(kNames, kind);
}

Value parse_yaml(const LoadedText& text, std::string_view what) {
  Converter converter({text.source, 1, 1, 1});
  auto documents = load(text.text, converter);
  if (documents.starts.empty() || documents.first.IsNull())
    throw InputError(whole_file(text.source), fmt::format("holds no value (expected {})", what),
                     "is everything commented out?");
  if (documents.starts.size() > 1)
    throw InputError(converter.place(documents.starts[1], 1), "a second document starts here",
                     "one document a file");
  Value root = converter.convert(documents.first);
  if (root.kind != Value::Kind::map)
    throw InputError(root.span, fmt::format("{} is a map of keys, not {}", what, kind_name(root.kind)),
                     "is it the right file?");
  return root;
}

Value load_yaml(const std::string& path, std::string_view what) {
  return parse_yaml(load_text(path, what, std::size_t{4} << 20), what);
}

Value parse_yaml_value(const Located& text) {
  Converter converter(text.span);
  auto documents = load(text.text, converter);
  if (documents.starts.size() != 1)
    throw InputError(text.span, "one value is expected after '='", "write key.path=value");
  Value value = converter.convert(documents.first);
  if (value.kind == Value::Kind::null) value.span = text.span;
  return value;
}

std::string to_flow_text(const Value& value) {
  YAML::Emitter out;
  auto emit = [&out](auto& self, const Value& v) -> void {
    switch (v.kind) {
      case Value::Kind::null:
        out << YAML::Null;
        break;
      case Value::Kind::scalar:
        out << v.scalar;
        break;
      case Value::Kind::sequence:
        out << YAML::Flow << YAML::BeginSeq;
        for (const auto& item : v.items) self(self, item);
        out << YAML::EndSeq;
        break;
      case Value::Kind::map:
        out << YAML::Flow << YAML::BeginMap;
        for (const auto& entry : v.entries) {
          out << YAML::Key << entry.key << YAML::Value;
          self(self, entry.value);
        }
        out << YAML::EndMap;
        break;
    }
  };
  emit(emit, value);
  return out.c_str();
}

std::string text_of(const Value& value) {
  return value.kind == Value::Kind::scalar ? value.scalar : to_flow_text(value);
}

}  // namespace ddpsim::config
