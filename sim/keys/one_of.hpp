#pragma once
// The codec of a value that has one of several shapes. For the rows of a table only.
#include <cctype>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "sim/base/suggest.hpp"
#include "sim/config/reader.hpp"
#include "sim/keys/typed_codec.hpp"

namespace ddpsim::keys {

// One of several shapes: words, and at most one single value, one list, and sections told apart by a key.
template <class V>
class OneOf final : public TypedCodec<V> {
 public:
  struct Form {
    std::string word;                    // or empty
    std::string first_key;               // of a section
    std::shared_ptr<const Codec> codec;  // none: a word
    std::function<void(const Value&, V&, const Cursor&)> set;
    std::function<std::optional<Value>(const V&)> print;  // none: it is another form
    Shape::Kind kind = Shape::Kind::word;                 // the codec's
  };
  // `what`: "this is no placement" where it is none of them; `hint`: what to write.
  OneOf(std::string what, std::string hint, std::vector<Form> forms)
      : what_(std::move(what)), hint_(std::move(hint)), forms_(std::move(forms)) {
    for (auto& form : forms_) {
      if (!form.word.empty()) words_.push_back(form.word);
      if (form.codec) form.kind = form.codec->shapes().front().kind;
    }
  }
  [[nodiscard]] std::vector<Shape> shapes() const override {
    std::vector<Shape> all;
    if (!words_.empty()) all.push_back({.kind = Shape::Kind::word, .words = words_});
    for (const auto& form : forms_)
      if (form.codec)
        for (auto& shape : form.codec->shapes()) all.push_back(std::move(shape));
    return all;
  }

 protected:
  void parse(const Value& from, V& to, const Cursor& at) const override {
    if (const auto* form = form_of(from)) return form->set(from, to, at);
    for (const auto& form : forms_)
      if (!form.first_key.empty() && config::is_word(from, form.first_key) &&
          did_you_mean(from.scalar, words_).empty())
        throw InputError(from.span, fmt::format("'{}' needs a value", form.first_key), hint_);
    // A word that is none of these is one that is misspelt, unless any text would do.
    config::check_word(from, words_, hint_.c_str());
    throw InputError(from.span, what_, hint_);
  }
  [[nodiscard]] std::optional<Value> print(const V& value) const override {
    for (const auto& form : forms_)
      if (auto printed = form.print(value)) return printed;
    return std::nullopt;
  }

 private:
  [[nodiscard]] const Form* form_of(const Value& from) const {
    for (const auto& form : forms_)
      if (form.codec ? is_value(from, form.kind) : config::is_word(from, form.word)) return &form;
    return from.kind == Value::Kind::map ? section_of(from) : nullptr;
  }
  // A list, or a single value that is none of the words.
  [[nodiscard]] bool is_value(const Value& from, Shape::Kind kind) const {
    if (is_section(kind)) return false;
    if (kind == Shape::Kind::list) return from.kind == Value::Kind::sequence;
    return from.kind == Value::Kind::scalar && !is_misspelt(from, kind);
  }
  static bool is_section(Shape::Kind kind) {
    return kind == Shape::Kind::section || kind == Shape::Kind::any_map;
  }
  // The last one whose first key is there; where it is of none, the first one.
  [[nodiscard]] const Form* section_of(const Value& from) const {
    const Form* section = nullptr;
    int sections = 0;
    for (const auto& form : forms_) {
      if (!form.codec || !is_section(form.kind)) continue;
      ++sections;
      if (!section || from.find(form.first_key)) section = &form;
    }
    if (sections > 1 && !from.entries.empty() && !from.find(section->first_key))
      throw InputError(from.entries.front().key_span,
                       fmt::format("unknown key '{}'", from.entries.front().key), hint_);
    return section;
  }
  // Whether it is meant as a word, and not as a number or a file.
  [[nodiscard]] bool is_misspelt(const Value& from, Shape::Kind kind) const {
    if (words_.empty() || kind == Shape::Kind::text) return false;
    const auto& text = from.scalar;
    return !text.empty() && std::isalpha(static_cast<unsigned char>(text.front())) != 0 &&
           text.find_first_of("./") == std::string::npos;
  }
  std::string what_, hint_;
  std::vector<Form> forms_;
  std::vector<std::string> words_;
};

// A word that stands for a value of V.
template <class V>
typename OneOf<V>::Form is_word(std::string name, V value) {
  return {name,
          {},
          nullptr,
          [value](const Value&, V& to, const Cursor&) { to = value; },
          [=](const V& v) { return v == value ? std::optional(scalar(name)) : std::nullopt; }};
}
// An alternative A of a std::variant V; `first_key` tells a section from others.
template <class V, class A>
typename OneOf<V>::Form is_a(Type<A> type, std::string first_key = {}) {
  auto codec = type.codec;
  return {{},
          std::move(first_key),
          codec,
          [codec](const Value& v, V& to, const Cursor& at) { codec->read(v, &to.template emplace<A>(), at); },
          [codec](const V& v) {
            return std::holds_alternative<A>(v) ? codec->write(&std::get<A>(v)) : std::nullopt;
          }};
}
// Of any V: `set` takes what was read, `get` gives it back, or none where V is another form.
template <class V, class A>
typename OneOf<V>::Form is_like(Type<A> type, std::function<void(V&, A)> set,
                                std::function<std::optional<A>(const V&)> get, std::string first_key = {}) {
  auto codec = type.codec;
  return {{},
          std::move(first_key),
          codec,
          [codec, set](const Value& v, V& to, const Cursor& at) {
            A value{};
            codec->read(v, &value, at);
            set(to, std::move(value));
          },
          [codec, get](const V& v) {
            auto value = get(v);
            return value ? codec->write(&*value) : std::nullopt;
          }};
}
template <class V>
Type<V> one_of(std::string what, std::string hint, std::vector<typename OneOf<V>::Form> forms) {
  return {std::make_shared<OneOf<V>>(std::move(what), std::move(hint), std::move(forms))};
}

// A word, or a value: none stands for the word. `hint`: "write auto, or a number of elements: 5e8".
template <class T>
Type<std::optional<T>> word_or(std::string word, Type<T> of, std::string hint) {
  using V = std::optional<T>;
  return one_of<V>(
      "neither", std::move(hint),
      {is_word<V>(std::move(word), std::nullopt),
       is_like<V, T>(
           std::move(of), [](V& to, T value) { to = std::move(value); }, [](const V& v) { return v; })});
}

}  // namespace ddpsim::keys
