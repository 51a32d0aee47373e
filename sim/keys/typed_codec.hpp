#pragma once
// What codecs of a type have in common.
#include <optional>
#include <string>

#include "sim/keys/table.hpp"

namespace ddpsim::keys {

Value scalar(std::string text);

template <class T>
class TypedCodec : public Codec {
 public:
  void read(const Value& from, void* to, const Cursor& at) const final {
    parse(from, *static_cast<T*>(to), at);
  }
  [[nodiscard]] std::optional<Value> write(const void* from) const final {
    return print(*static_cast<const T*>(from));
  }
  void assign(const void* from, void* to) const final { *static_cast<T*>(to) = *static_cast<const T*>(from); }

 protected:
  virtual void parse(const Value& from, T& to, const Cursor& at) const = 0;
  [[nodiscard]] virtual std::optional<Value> print(const T& value) const = 0;
};

}  // namespace ddpsim::keys
