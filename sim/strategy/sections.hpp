#pragma once
// One value of each of several types that only their owners know: what a job says to its strategies.
#include <any>
#include <map>
#include <typeindex>

namespace ddpsim {

class Sections {
 public:
  // As it usually is where nobody said anything.
  template <class T>
  [[nodiscard]] const T& of() const {
    static const T kUsual{};
    auto found = all_.find(typeid(T));
    return found == all_.end() ? kUsual : *std::any_cast<T>(&found->second.value);
  }
  template <class T>
  [[nodiscard]] T& of() {
    auto [found, is_new] = all_.try_emplace(typeid(T));
    if (is_new) found->second = {T{}, is_equal<T>};
    return *std::any_cast<T>(&found->second.value);
  }
  bool operator==(const Sections& other) const { return is_within(other) && other.is_within(*this); }

 private:
  struct Held {
    std::any value;
    bool (*is_equal)(const Sections&, const Sections&) = nullptr;
  };
  template <class T>
  static bool is_equal(const Sections& a, const Sections& b) {
    return a.of<T>() == b.of<T>();
  }
  [[nodiscard]] bool is_within(const Sections& other) const {
    for (const auto& [type, held] : all_)
      if (!held.is_equal(*this, other)) return false;
    return true;
  }
  std::map<std::type_index, Held> all_;
};

}  // namespace ddpsim
