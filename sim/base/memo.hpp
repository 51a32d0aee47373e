#pragma once
// What is found out once and kept: by a key of plain values, for as many threads as ask.
#include <map>
#include <mutex>
#include <optional>

namespace ddpsim {

template <class Key, class T>
class Memo {
 public:
  // What make() said when the key was first asked for; others who ask meanwhile wait. An exception is passed
  // on, and the next one tries again. The reference stays valid as long as this does.
  template <class Make>
  const T& of(const Key& key, const Make& make) {
    Entry& entry = entry_of(key);
    std::call_once(entry.once, [&] { entry.value.emplace(make()); });
    return *entry.value;
  }

 private:
  struct Entry {
    std::once_flag once;
    std::optional<T> value;
  };
  Entry& entry_of(const Key& key) {
    std::scoped_lock lock(mutex_);
    return entries_[key];
  }

  std::mutex mutex_;
  std::map<Key, Entry> entries_;
};

}  // namespace ddpsim
