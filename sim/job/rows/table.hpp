#pragma once
// The key table of a scenario, and what follows from it.
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/job/job.hpp"
#include "sim/keys/table.hpp"

namespace ddpsim {

const keys::Section& job_table();

// A job, and where each of its keys was given.
struct GivenJob {
  Job job;
  keys::Places places;
  config::Value root;  // as it was given
  [[nodiscard]] bool has(std::string_view path) const { return places.has(path); }
  [[nodiscard]] const SourceSpan& at(std::string_view path) const { return places.at(path); }
  // A text of the job with its place.
  [[nodiscard]] Located located(const std::string& text, std::string_view path) const {
    return {text, at(path)};
  }
};

// `root`: with overrides applied and without its sweep. Throws InputError with the place and a hint.
GivenJob read_job(const config::Value& root);
// The same, of a root that may lack required keys.
GivenJob read_partial_job(const config::Value& root);

// Reads these keys and sections of the scenario ("strategy", "cluster") again, the only ones in which the
// root has changed since `given` was read. Where it throws InputError `given` is that root's job no longer,
// and read_job() says what comes first in the text.
void read_again(GivenJob& given, const std::set<std::string_view>& keys);

// What differs from the defaults; read_job() of it is the same job.
config::Value write_job(const Job& job);
// The same, each value with its place where the text has one.
config::Value write_given(const GivenJob& given);
// The same without what does not count in the job.
config::Value write_used(const Job& job);
config::Value write_used(const GivenJob& given);

// Sections and keys that are given and do not count in the job.
std::vector<UnusedKey> unused_keys(const GivenJob& given);

// Whether a key ("fsdp", "fsdp.unit") can make a difference to a job.
bool counts(const Job& job, std::string_view path);

// What says how much the job's strategy reduces at once, and what is worth trying there. None: everything at
// once, or each gradient alone.
struct ReductionSize {
  std::string path;
  std::vector<std::string> values;
};
std::optional<ReductionSize> reduction_size(const Job& job);
// Whether a key is such a one, of some strategy.
bool is_reduction_size(std::string_view path);

// Values of other keys that are worth trying, each of which makes another job.
struct Trial {
  std::string path, value;
};
std::vector<Trial> trials(const GivenJob& given);

// The key of a scenario that a word names by itself: "topology" is cluster.topology, "gpus" what others call
// cluster.world_size. Throws InputError for a word that names none, or several.
std::string key_path(const std::string& word);

// Every key that takes a value by itself, and is in no list: "cluster.nics.bandwidth".
std::vector<std::string> key_paths();

// Throws InputError for a key in the wrong section, or one that others call differently, of a scenario's
// value or of one with a single axis.
void check_misplaced_keys(const config::Value& root);

// Throws InputError for an axis that is no key.
void check_axis(const std::string& path, const SourceSpan& place);

}  // namespace ddpsim
