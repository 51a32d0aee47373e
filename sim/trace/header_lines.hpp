#pragma once
// The comment lines at the top of the files of this folder: "# key: value" with known keys, and remarks.
//
// A remark is a comment without a ':' or with blanks before its first ':'; a single unknown word before the
// ':' is an error, so that a misspelt key ("# foward: 3ms") is never mistaken for one.
#include <map>
#include <span>
#include <string>
#include <vector>

#include "sim/base/csv.hpp"

namespace ddpsim {

struct HeaderLines {
  std::map<std::string, Located, std::less<>> values;  // by key
  std::vector<std::string> remarks;

  [[nodiscard]] const Located* find(std::string_view key) const;  // null where it is absent
};

// Throws InputError for an unknown or doubled key, and a key without a value.
HeaderLines read_header_lines(const CsvTable& table, std::span<const std::string> known);

// Whether a line's text would be read back as a remark.
[[nodiscard]] bool is_remark(std::string_view text);

}  // namespace ddpsim
