#include "validate/launch/rank_failure.hpp"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <string_view>

#include <fmt/core.h>

#include "sim/base/backend_missing.hpp"
#include "sim/base/program_exit.hpp"
#include "sim/base/source.hpp"

namespace ddpsim::validate {
namespace {

constexpr std::string_view kError = "error: ";

std::string trimmed(const std::string& text) {
  auto first = text.find_first_not_of(" \r\n"), last = text.find_last_not_of(" \r\n");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

// "error: ...", "internal error: ..." or "job.json:3:1: error: ...".
bool is_error_message(std::string_view line) {
  return line.starts_with(kError) || line.starts_with("internal error: ") ||
         line.find(": error: ") != std::string_view::npos;
}

std::string without_prefix(const std::string& message) {
  return message.starts_with(kError) ? message.substr(kError.size()) : message;
}

std::string during(const std::string& activity) {
  return "while " + (activity.empty() ? "starting" : activity);
}

// ": what it wrote", if it did.
std::string last_words(const RankProcess& process) {
  auto complaint = complaint_in(process.output());
  return complaint.empty() ? "" : ": " + without_prefix(complaint);
}

template <class Error>
std::exception_ptr error(Error thrown) {
  return std::make_exception_ptr(std::move(thrown));
}

RankFailure exited(const RankProcess& process, int code, const std::string& activity) {
  auto complaint = complaint_in(process.output());
  if (complaint.empty())
    return {Cause::likely, error(RunFailed(fmt::format("{} ended with exit code {}, without a word, {}",
                                                       process.ranks().name(), code, during(activity))))};
  if (code == kBadInput) return {Cause::likely, error(InputError::rendered(complaint))};
  if (code == kNotAvailable) return {Cause::likely, error(BackendMissing(without_prefix(complaint)))};
  return {code == kRunFailed ? Cause::doubtful : Cause::likely,
          error(RunFailed(fmt::format("{} failed {}: {}", process.ranks().name(), during(activity),
                                      without_prefix(complaint))))};
}

}  // namespace

std::string complaint_in(const std::string& output) {
  constexpr int kLastLines = 5;
  auto text = trimmed(output);
  std::size_t last_lines = std::string::npos;
  int lines = 0;
  for (auto end = text.size(); !text.empty();) {
    auto newline = end == 0 ? std::string::npos : text.rfind('\n', end - 1);
    auto begin = newline == std::string::npos ? 0 : newline + 1;
    if (is_error_message(std::string_view(text).substr(begin, end - begin))) return text.substr(begin);
    if (++lines <= kLastLines) last_lines = begin;
    if (newline == std::string::npos) break;
    end = newline;
  }
  return text.empty() ? text : text.substr(last_lines);
}

RankFailure failure_by_end(const RankProcess& process, ProcessEnd end, const std::string& activity) {
  const auto who = process.ranks().name();
  if (end.how == ProcessEnd::How::exited) return exited(process, end.number, activity);
  if (end.how == ProcessEnd::How::stopped)
    return {Cause::certain, error(RunFailed(fmt::format("{} was stopped (SIG{}) {}", who,
                                                        sigabbrev_np(end.number), during(activity))))};
  bool gave_up = end.number == SIGABRT || end.number == SIGPIPE;
  return {gave_up ? Cause::doubtful : Cause::certain,
          error(RunFailed(fmt::format("{} was killed by signal {} ({}) {}{}", who, end.number,
                                      strsignal(end.number), during(activity), last_words(process))))};
}

RankFailure failure_by_silence(const RankProcess& process, Seconds silence, const std::string& activity) {
  return {Cause::certain,
          error(RunFailed(fmt::format("{} has shown no sign of life for {:g} s {}", process.ranks().name(),
                                      std::round(silence.value() * 10) / 10, during(activity))))};
}

RankFailure failure_to_begin(const RankProcess& process, Seconds waited) {
  return {Cause::certain,
          error(RunFailed(fmt::format("{} has not begun within {:g} s{}", process.ranks().name(),
                                      std::round(waited.value() * 10) / 10, last_words(process))))};
}

const RankFailure& first_cause(const std::vector<RankFailure>& failures) {
  return *std::min_element(failures.begin(), failures.end(),
                           [](const auto& a, const auto& b) { return a.cause < b.cause; });
}

}  // namespace ddpsim::validate
