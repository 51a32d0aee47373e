#pragma once
// The engine of the key table: a row per key says what it is called, how its value is read and written, and
// what it means. Reading, writing, the schema, completion, hints and notes on keys without effect are walks
// over the same rows. It knows values and their places, and nothing of training.
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/value.hpp"

namespace ddpsim {
struct Job;
}

namespace ddpsim::keys {

using config::Value;
struct Section;
class Codec;

// Where each given key stands, by its path ("cluster.groups[1].ranks"): what later checks point at.
class Places {
 public:
  struct Place {
    SourceSpan key, value;
  };
  // Of a key and of what is in it.
  void forget(std::string_view path);
  void put(std::string path, Place place) { places_.insert_or_assign(std::move(path), std::move(place)); }
  [[nodiscard]] bool has(std::string_view path) const { return places_.contains(path); }
  // The value's place, or the key's; where nothing is given, those of the closest section around it.
  [[nodiscard]] const SourceSpan& at(std::string_view path) const { return nearest(path).value; }
  [[nodiscard]] const SourceSpan& key_at(std::string_view path) const { return nearest(path).key; }
  [[nodiscard]] const std::map<std::string, Place, std::less<>>& all() const { return places_; }

 private:
  [[nodiscard]] const Place& nearest(std::string_view path) const;
  std::map<std::string, Place, std::less<>> places_;
};

// Where a reader is.
struct Cursor {
  Places& places;
  std::string path = {};
  bool is_partial = false;  // required keys may be missing, here and in the sections right below
  [[nodiscard]] Cursor in(std::string_view key) const;
  [[nodiscard]] Cursor item(std::size_t index) const;
  // The place of a key of this section; "": its own.
  [[nodiscard]] const SourceSpan& place(std::string_view key = {}) const;
  [[nodiscard]] bool has(std::string_view key) const { return places.has(in(key).path); }
};

// One of the things that a value may be.
struct Shape {
  enum class Kind {
    boolean,   // true, false
    integer,   // 8
    number,    // 0.03, 5e8
    quantity,  // 25MiB, 5us, 12.5GB/s, 5%
    count,     // 15T, 300B, 1.5e13
    text,      // a name, a file
    version,   // 2.6, which YAML reads as a number
    word,      // one of `words`
    section,   // a map with the keys of `section`
    list,      // of `item`
    any_map    // a map that another format describes
  };
  Kind kind;
  std::optional<double> least = {}, most = {};
  std::vector<std::string> words = {};
  const Section* section = nullptr;
  const Codec* item = nullptr;
  // Of a quantity or a release: "25MiB", and the regular expression of all of them.
  std::string_view example = {}, pattern = {};
};

// How values of a type are read, written and described.
class Codec {
 public:
  virtual ~Codec() = default;
  // Throws InputError at the value.
  virtual void read(const Value& from, void* to, const Cursor& at) const = 0;
  // None: nothing was said.
  [[nodiscard]] virtual std::optional<Value> write(const void* from) const = 0;
  // With the keys of a section that are as they would be without a word, too.
  [[nodiscard]] virtual std::optional<Value> write_all(const void* from) const { return write(from); }
  // As another value of the type is.
  virtual void assign(const void* from, void* to) const = 0;
  [[nodiscard]] virtual std::vector<Shape> shapes() const = 0;
};
template <class T>
struct Type {
  std::shared_ptr<const Codec> codec;
};

// Whether a key counts in a job.
struct When {
  bool (*applies)(const Job&);
  std::string_view words;  // of the jobs it counts in: "strategy zero3"
};

struct Row {
  std::string_view name;
  std::shared_ptr<const Codec> codec;
  std::function<void*(void* section)> member;
  std::string_view doc;
  std::string_view usual = {};                     // the default, in words, where it depends on other keys
  std::vector<std::string_view> other_names = {};  // what people call it
  std::string_view deepspeed = {};                 // what DeepSpeed's configuration calls it
  std::vector<std::string_view> tries = {};        // values worth trying
  bool is_reduction_size = false;                  // it says how much a strategy reduces at once
  const When* when = nullptr;                      // none: in every job
  bool is_required = false;                        // with `usual`: unless what that says holds
};

struct Section {
  std::string_view name;  // for messages
  std::vector<Row> rows;
  bool says_kind = false;                                      // its first row is `kind`
  std::shared_ptr<void> (*fresh)() = nullptr;                  // all defaults
  std::vector<std::optional<Value>> usual = {};                // how these are written, by row
  std::function<void(const void*, const Cursor&)> check = {};  // rules between its keys
  [[nodiscard]] const Row* find(std::string_view key) const;
};

// Of a key that says what it is in, and nothing else.
std::shared_ptr<const Codec> only(std::string_view word);

namespace detail {
template <class Member>
struct MemberOf;
template <class S, class T>
struct MemberOf<T S::*> {
  using Value = T;
};
template <auto first, auto... rest>
consteval auto last_of() {
  if constexpr (sizeof...(rest) == 0)
    return first;
  else
    return last_of<rest...>();
}
template <auto first, auto... rest, class S>
auto& member_of(S& s) {
  if constexpr (sizeof...(rest) == 0)
    return s.*first;
  else
    return member_of<rest...>(s.*first);
}
}  // namespace detail

// A section of a struct S, row by row: each says only what it has.
template <class S>
class Rows {
 public:
  using Text = std::string_view;
  explicit Rows(Text name) {
    section_.name = name;
    section_.fresh = [] { return std::shared_ptr<void>(std::make_shared<S>()); };
  }
  // A member, or a member of a member.
  template <auto... path>
  Rows& key(Text name,
            const Type<typename detail::MemberOf<decltype(detail::last_of<path...>())>::Value>& type,
            Text doc) {
    return add(
        name, type.codec, +[](void* s) -> void* { return &detail::member_of<path...>(*static_cast<S*>(s)); },
        doc);
  }
  template <auto... path>
  Rows& needs(Text name,
              const Type<typename detail::MemberOf<decltype(detail::last_of<path...>())>::Value>& type,
              Text doc) {
    return key<path...>(name, type, doc).required();
  }
  // What `member` finds, where keys follow from a list.
  template <class T>
  Rows& at(Text name, const Type<T>& type, std::function<T&(S&)> member, Text doc) {
    return add(
        name, type.codec, [member](void* s) -> void* { return &member(*static_cast<S*>(s)); }, doc);
  }
  // Of several members at once.
  Rows& whole(Text name, const Type<S>& type, Text doc) {
    return add(
        name, type.codec, +[](void* s) { return s; }, doc);
  }
  // The first key: what a file or a section is.
  Rows& kind(Text word) {
    section_.says_kind = true;
    add(
        "kind", only(word), +[](void* s) { return s; }, "Of file or section");
    return required();
  }
  Rows& required() { return last().is_required = true, *this; }
  Rows& usually(Text words) { return last().usual = words, *this; }
  Rows& also(std::initializer_list<Text> names) { return last().other_names = names, *this; }
  Rows& deepspeed(Text name) { return last().deepspeed = name, *this; }
  Rows& tries(std::initializer_list<Text> values) { return last().tries = values, *this; }
  // The key says how much a strategy reduces at once.
  Rows& tries_sizes(std::initializer_list<Text> values) {
    last().is_reduction_size = true;
    return tries(values);
  }
  Rows& when(const When& when) { return last().when = &when, *this; }
  // Of all rows so far that have none.
  Rows& all_when(const When& when) {
    for (auto& row : section_.rows)
      if (!row.when) row.when = &when;
    return *this;
  }
  Rows& check(void (*rule)(const S&, const Cursor&)) {
    section_.check = [rule](const void* s, const Cursor& at) { rule(*static_cast<const S*>(s), at); };
    return *this;
  }
  operator Section() {  // NOLINT: the end of the chain
    S usual{};
    for (const auto& row : section_.rows) section_.usual.push_back(row.codec->write(row.member(&usual)));
    return std::move(section_);
  }

 private:
  Rows& add(Text name, std::shared_ptr<const Codec> codec, std::function<void*(void*)> member, Text doc) {
    section_.rows.push_back(
        {.name = name, .codec = std::move(codec), .member = std::move(member), .doc = doc});
    return *this;
  }
  Row& last() { return section_.rows.back(); }
  Section section_;
};

// Throws InputError: for a key that is none first, because it is why another one is missing.
void read_section(const Section& section, const Value& value, void* to, const Cursor& at);
// Of a map that no other is around.
template <class S>
S read_root(const Section& section, const Value& root, Places& places) {
  places.put("", {root.span, root.span});
  S read{};
  read_section(section, root, &read, {places});
  return read;
}
template <class S>
S read_root(const Section& section, const Value& root) {
  Places places;
  return read_root<S>(section, root, places);
}
// All of it.
Value write_all(const Section& section, const void* from);
// What differs from the defaults.
Value write_section(const Section& section, const void* from);

// Every key on a line of its own, defaults too: a later release may have others.
std::string lines_of(const Section& section, const void* from, std::string_view indent = "");

// Every row, a section before what is in it. `path`: "cluster.overrides[].link".
void each_row(const Section& root, const std::function<void(const std::string& path, const Row&)>& see);

}  // namespace ddpsim::keys
