#pragma once
// What a key of a scenario may be: for the JSON schema that editors complete scenarios with.
#include <string>
#include <vector>

namespace ddpsim {

struct ScenarioKey {
  enum class Kind {
    boolean,   // true, false
    integer,   // 8
    number,    // 0.03, 5e8
    quantity,  // 25MiB, 5us, 12.5GB/s, 5%
    text,      // a name, a file
    version,   // 2.6, which YAML reads as a number
    word,      // one of `words`
    section,   // a map with the keys that follow
    list,      // of what ITEM says: the key PATH[]
    any_map,   // a map that another format describes
    axes       // of a sweep: lists and ranges by the keys they change
  };
  std::string path;         // "ddp.bucket_cap"; "cluster.groups[].ranks" in the items of a list
  std::vector<Kind> kinds;  // any of them
  std::string description;  // plain text
  std::vector<std::string> words = {};
  bool is_required = false;
};

}  // namespace ddpsim
