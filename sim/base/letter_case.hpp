#pragma once
// Upper and lower case of ASCII letters, whatever the locale.
#include <string>
#include <string_view>

namespace ddpsim {

constexpr char lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
constexpr char upper_case(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

inline std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = lower_case(c);
  return result;
}
inline std::string upper_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = upper_case(c);
  return result;
}

// "_all_gather_base" and "AllGatherBase" are both "allgatherbase".
inline std::string letters_of(std::string_view name) {
  std::string letters;
  for (char c : lower_case(name))
    if (c >= 'a' && c <= 'z') letters += c;
  return letters;
}

}  // namespace ddpsim
