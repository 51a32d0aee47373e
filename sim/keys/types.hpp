#pragma once
// Codecs: quantities and numbers with their range, words, what may be unsaid, lists, sections, and one of
// several shapes. For the rows of a table only.
#include <cstdint>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "sim/base/names.hpp"
#include "sim/base/units.hpp"
#include "sim/config/reader.hpp"
#include "sim/keys/one_of.hpp"
#include "sim/keys/typed_codec.hpp"

namespace ddpsim::keys {

// One value, whose text `parse` reads.
template <class T>
class Scalar final : public TypedCodec<T> {
 public:
  Scalar(std::function<T(const Value&)> parse, std::function<std::string(const T&)> print, Shape shape)
      : parse_(std::move(parse)), print_(std::move(print)), shape_(std::move(shape)) {}
  [[nodiscard]] std::vector<Shape> shapes() const override { return {shape_}; }

 protected:
  void parse(const Value& from, T& to, const Cursor&) const override { to = parse_(from); }
  [[nodiscard]] std::optional<Value> print(const T& value) const override { return scalar(print_(value)); }

 private:
  std::function<T(const Value&)> parse_;
  std::function<std::string(const T&)> print_;
  Shape shape_;
};
template <class T>
Type<T> scalar_type(std::function<T(const Value&)> parse, std::function<std::string(const T&)> print,
                    Shape shape) {
  return {std::make_shared<Scalar<T>>(std::move(parse), std::move(print), std::move(shape))};
}

enum class Dimension { size, bandwidth, flops_rate, time, share, count, release };
Shape shape_of(Dimension dimension);
enum class AtZero { allowed, refused };
Type<bool> boolean();
Type<Bytes> size();
Type<BytesPerSecond> bandwidth();
Type<FlopsPerSecond> flops_rate();
Type<Seconds> time(AtZero zero = AtZero::allowed);
Type<double> number(double least, double most);
Type<double> percentage();                        // "5%" is 0.05
Type<double> count();                             // "15T" is 1.5e13, "300B" 3e11; above 0
Type<std::int64_t> elements(std::int64_t least);  // 5e8 is one
Type<std::string> text();
Type<std::uint64_t> seed();
Type<Value> any();  // a map that another format describes, or text
template <class I = int>
Type<I> whole(std::int64_t least, std::int64_t most) {
  return scalar_type<I>([=](const Value& v) { return static_cast<I>(config::as_integer(least, most)(v)); },
                        [](const I& i) { return fmt::format("{}", i); },
                        {Shape::Kind::integer, static_cast<double>(least), static_cast<double>(most)});
}
// The first word of a value is the one that is written.
template <class T>
Type<T> word(config::Words<T> words) {
  std::vector<std::string> names;
  for (const auto& [name, meaning] : words) names.push_back(name);
  auto parse = [words, names](const Value& v) { return words[config::word_index(v, names)].second; };
  auto print = [words](const T& value) {
    for (const auto& [name, meaning] : words)
      if (meaning == value) return name;
    return std::string("?");
  };
  return scalar_type<T>(parse, print, {Shape::Kind::word, {}, {}, names});
}
template <class T, std::size_t n>
Type<T> word(const Names<T, n>& names) {
  return word<T>(config::words_of(names));
}

// One of the names, for who passes it on as it is.
template <class T, std::size_t n>
Type<std::string> name_of(const Names<T, n>& names) {
  config::Words<std::string> words;
  for (const auto& [name, meaning] : names) words.emplace_back(name, name);
  return word(std::move(words));
}

// Absent: nothing was said, and the default depends on other keys.
template <class T>
class Maybe final : public TypedCodec<std::optional<T>> {
 public:
  explicit Maybe(Type<T> of) : of_(std::move(of.codec)) {}
  [[nodiscard]] std::vector<Shape> shapes() const override { return of_->shapes(); }

 protected:
  void parse(const Value& from, std::optional<T>& to, const Cursor& at) const override {
    of_->read(from, &to.emplace(), at);
  }
  [[nodiscard]] std::optional<Value> print(const std::optional<T>& value) const override {
    return value ? of_->write(&*value) : std::nullopt;
  }

 private:
  std::shared_ptr<const Codec> of_;
};
template <class T>
Type<std::optional<T>> maybe(Type<T> of) {
  return {std::make_shared<Maybe<T>>(std::move(of))};
}

// What a list says that has too few items.
struct Few {
  std::size_t least = 0;
  std::string message = {}, hint = {};
};
template <class T>
class List final : public TypedCodec<std::vector<T>> {
 public:
  List(Type<T> of, Few few) : of_(std::move(of.codec)), few_(std::move(few)) {}
  [[nodiscard]] std::vector<Shape> shapes() const override {
    return {{.kind = Shape::Kind::list, .least = static_cast<double>(few_.least), .item = of_.get()}};
  }

 protected:
  void parse(const Value& from, std::vector<T>& to, const Cursor& at) const override {
    const auto& items = config::items_of(from);
    if (items.size() < few_.least) throw InputError(from.span, few_.message, few_.hint);
    to.resize(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      auto in = at.item(i);
      in.places.put(in.path, {items[i].span, items[i].span});
      of_->read(items[i], &to[i], in);
    }
  }
  [[nodiscard]] std::optional<Value> print(const std::vector<T>& all) const override {
    Value list;
    list.kind = Value::Kind::sequence;
    for (const auto& item : all)
      if (auto written = of_->write(&item)) list.items.push_back(*std::move(written));
    return list;
  }

 private:
  std::shared_ptr<const Codec> of_;
  Few few_;
};
template <class T>
Type<std::vector<T>> list(Type<T> of, Few few = {}) {
  return {std::make_shared<List<T>>(std::move(of), std::move(few))};
}

// One value, or a list of them.
template <class T>
class OneOrList final : public TypedCodec<std::vector<T>> {
 public:
  explicit OneOrList(const Type<T>& of) : of_(of.codec), list_(of, {}) {}
  [[nodiscard]] std::vector<Shape> shapes() const override {
    auto all = of_->shapes();
    all.push_back(list_.shapes().front());
    return all;
  }

 protected:
  void parse(const Value& from, std::vector<T>& to, const Cursor& at) const override {
    if (from.kind == Value::Kind::sequence) return list_.read(from, &to, at);
    to.resize(1);
    of_->read(from, to.data(), at);
  }
  [[nodiscard]] std::optional<Value> print(const std::vector<T>& all) const override {
    return all.size() == 1 ? of_->write(all.data()) : list_.write(&all);
  }

 private:
  std::shared_ptr<const Codec> of_;
  List<T> list_;
};
template <class T>
Type<std::vector<T>> one_or_list(const Type<T>& of) {
  return {std::make_shared<OneOrList<T>>(of)};
}

template <class S>
class Nested final : public TypedCodec<S> {
 public:
  explicit Nested(Section section) : section_(std::move(section)) {}
  [[nodiscard]] std::optional<Value> write_all(const void* from) const override {
    return keys::write_all(section_, from);
  }
  [[nodiscard]] std::vector<Shape> shapes() const override {
    return {{.kind = Shape::Kind::section, .section = &section_}};
  }

 protected:
  void parse(const Value& from, S& to, const Cursor& at) const override {
    read_section(section_, from, &to, at);
  }
  [[nodiscard]] std::optional<Value> print(const S& value) const override {
    auto written = write_section(section_, &value);
    return written;
  }

 private:
  Section section_;
};
template <class S>
Type<S> nested(Rows<S>& rows) {
  return {std::make_shared<Nested<S>>(rows)};
}

// A section with other keys for each word of its key `kind`.
template <class S, class K>
class ByKind final : public TypedCodec<S> {
 public:
  ByKind(K S::*kind, std::vector<std::pair<K, Section>> sections)
      : kind_(kind), sections_(std::move(sections)) {
    for (const auto& [kind_value, section] : sections_)
      words_.push_back(section.find("kind")->codec->shapes().front().words.front());
  }
  [[nodiscard]] std::vector<Shape> shapes() const override {
    std::vector<Shape> all;
    for (const auto& [kind, section] : sections_)
      all.push_back({.kind = Shape::Kind::section, .section = &section});
    return all;
  }

 protected:
  void parse(const Value& from, S& to, const Cursor& at) const override {
    config::MapReader reader(from, std::string(sections_.front().second.name));
    auto which =
        reader.required("kind", [this](const Value& value) { return config::word_index(value, words_); });
    to.*kind_ = sections_[which].first;
    read_section(sections_[which].second, from, &to, at);
  }
  [[nodiscard]] std::optional<Value> print(const S& value) const override {
    for (const auto& [kind, section] : sections_)
      if (kind == value.*kind_) return write_section(section, &value);
    return std::nullopt;
  }

 private:
  K S::*kind_;
  std::vector<std::pair<K, Section>> sections_;
  std::vector<std::string> words_;
};
template <class S, class K>
Type<S> by_kind(K S::*kind, std::vector<std::pair<K, Section>> sections) {
  return {std::make_shared<ByKind<S, K>>(kind, std::move(sections))};
}

// A V that is written as an A; `make` may refuse it, at the value. Without `parts` nobody writes it.
template <class V, class A>
class Made final : public TypedCodec<V> {
 public:
  Made(Type<A> of, std::function<V(A, const Value&)> make, std::function<A(const V&)> parts)
      : of_(std::move(of.codec)), make_(std::move(make)), parts_(std::move(parts)) {}
  [[nodiscard]] std::vector<Shape> shapes() const override { return of_->shapes(); }

 protected:
  void parse(const Value& from, V& to, const Cursor& at) const override {
    A parts{};
    of_->read(from, &parts, at);
    to = make_(std::move(parts), from);
  }
  [[nodiscard]] std::optional<Value> print(const V& value) const override {
    if (!parts_) return std::nullopt;
    A parts = parts_(value);
    return of_->write(&parts);
  }

 private:
  std::shared_ptr<const Codec> of_;
  std::function<V(A, const Value&)> make_;
  std::function<A(const V&)> parts_;
};
template <class V, class A>
Type<V> made_of(Type<A> of, std::function<V(A, const Value&)> make, std::function<A(const V&)> parts = {}) {
  return {std::make_shared<Made<V, A>>(std::move(of), std::move(make), std::move(parts))};
}
template <class T>
Type<T> checked(Type<T> of, std::function<void(const T&, const Value&)> check) {
  return made_of<T, T>(
      std::move(of), [check](T value, const Value& from) { return check(value, from), value; },
      [](const T& value) { return value; });
}
template <class T>
Type<T> above_zero(Type<T> of, std::string message, std::string hint) {
  return checked<T>(std::move(of), [=](const T& value, const Value& from) {
    if (value == T()) throw InputError(from.span, message, hint);
  });
}

// A value that stands alone in its file, or in a list of another format. Throws InputError.
template <class T>
T read_alone(const Type<T>& type, const Value& from, Places& places) {
  places.put("", {from.span, from.span});
  T value{};
  type.codec->read(from, &value, {places});
  return value;
}
template <class T>
T read_alone(const Type<T>& type, const Value& from) {
  Places places;
  return read_alone(type, from, places);
}

}  // namespace ddpsim::keys
