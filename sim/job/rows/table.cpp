#include "sim/job/rows/table.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/suggest.hpp"
#include "sim/config/overrides.hpp"
#include "sim/job/rows/rows.hpp"
#include "sim/keys/types.hpp"
#include "sim/strategies/families.hpp"

namespace ddpsim {
namespace {

using namespace keys;

const When kModel{[](const Job& job) { return job.workload.model.kind != Value::Kind::null; },
                  "workload.model"};
const When kPipeline{[](const Job& job) { return job.parallelism.pipeline > 1; },
                     "parallelism.pipeline above 1"};
const When kTensor{[](const Job& job) { return job.parallelism.tensor > 1; }, "parallelism.tensor above 1"};
const When kContext{[](const Job& job) { return job.parallelism.context > 1; },
                    "parallelism.context above 1"};

// A name, or that of one whose file it names: {program: FILE}.
Type<ChosenStrategy> strategy_said() {
  using V = ChosenStrategy;
  std::vector<OneOf<V>::Form> forms;
  for (const auto* strategy : strategies()) {
    if (!strategy->traits.is_of_file) {
      forms.push_back(is_word<V>(std::string(strategy->name()), {strategy}));
      continue;
    }
    Rows<std::string> file("strategy");
    file.whole(strategy->name(), text(), "File of the strategy").required();
    forms.push_back(is_like<V, std::string>(
        nested(file),
        [strategy](V& to, std::string from) {
          to = {strategy, std::move(from)};
        },
        [strategy](const V& from) { return from == strategy ? std::optional(from.file) : std::nullopt; },
        std::string(strategy->name())));
  }
  auto names = strategies_that([](const auto&) { return true; });
  return one_of<V>("a strategy is a name, or a program",
                   fmt::format("one of {}; or {{program: FILE}}", fmt::join(names, ", ")), std::move(forms));
}

}  // namespace

const Section& job_table() {
  static const Section table = [] {
    Rows<Job> rows("scenario");
    rows.key<&Job::workload>("workload", job::workload_rows(),
                             "What is trained: a recorded trace, or a model")
        .required()
        .key<&Job::optimizer>("optimizer", job::optimizer_rows(), "What steps the parameters")
        .when(kModel)
        .key<&Job::cluster>("cluster", job::cluster_rows(), "GPUs and what joins them")
        .required()
        .key<&Job::collective>("collective", job::collective_rows(), "How gradients are reduced")
        .key<&Job::strategy>("strategy", strategy_said(), "How gradients are reduced, or parameters sharded");
    add_strategy_rows(rows);
    rows.key<&Job::host>("host", job::host_rows(), "The machine around the GPUs")
        .key<&Job::parallelism>("parallelism", job::parallelism_rows(), "GPUs that share a copy of the model")
        .key<&Job::pipeline>("pipeline", job::pipeline_rows(), "The pipeline")
        .when(kPipeline)
        .key<&Job::tensor>("tensor", job::tensor_rows(), "Tensor parallelism")
        .when(kTensor)
        .key<&Job::context>("context", job::context_rows(), "Context parallelism")
        .when(kContext)
        .key<&Job::expert>("expert", maybe(job::expert_rows()), "Expert parallelism")
        .key<&Job::batch>("batch", job::batch_rows(), "Samples per step")
        .key<&Job::physics>("physics", job::physics_rows(),
                            "What real machines do besides; none: the textbook")
        .key<&Job::spread>("spread", maybe(job::spread_rows()), "How much GPUs differ")
        .key<&Job::failures>("failures", maybe(job::failures_rows()), "GPUs that fail, and checkpoints")
        .key<&Job::variability>("variability", maybe(job::variability_rows()), "Iterations that differ")
        .key<&Job::evidence>("evidence", maybe(text()),
                             "How far predictions may be off: a file; none: bare numbers")
        .usually("default")
        .key<&Job::engine>("engine", job::engine_rows(), "How it is simulated")
        .key<&Job::validation>("validation", job::validation_rows(), "Real runs ('ddpsim validate')");
    return Section(rows);
  }();
  return table;
}

namespace {
void check_misplaced(const config::Entry& entry);

// A recorded script is its own strategy, where the job names no other.
void settle_strategy(GivenJob& given) {
  if (given.has("strategy")) return;
  given.job.strategy = {};
  if (given.job.workload.recording.empty()) return;
  for (const auto* strategy : strategies())
    if (strategy->traits.is_of_recording) given.job.strategy = {strategy};
}

// A recording says it, too: whoever knows that reads the job again with it.
bool leaves_world_size(const Value& root) {
  return config::find_at(root, "workload.recording") && config::find_at(root, "cluster") &&
         !config::find_at(root, "cluster.world_size");
}

GivenJob read(const Value& root, bool is_partial) {
  check_misplaced_keys(root);
  GivenJob given;
  given.root = root;
  given.places.put("", {root.span, root.span});
  read_section(job_table(), root, &given.job, {given.places, "", is_partial || leaves_world_size(root)});
  settle_strategy(given);
  return given;
}
}  // namespace

GivenJob read_job(const Value& root) {
  return read(root, false);
}
GivenJob read_partial_job(const Value& root) {
  return read(root, true);
}

void read_again(GivenJob& given, const std::set<std::string_view>& keys) {
  auto usual = job_table().fresh();
  for (auto key : keys) {
    const auto* entry = given.root.find(key);
    check_misplaced(*entry);
    const auto* row = job_table().find(key);
    if (!row) throw InputError(entry->key_span, fmt::format("unknown key '{}'", key));
    given.places.forget(key);
    given.places.put(std::string(key), {entry->key_span, entry->value.span});
    row->codec->assign(row->member(usual.get()), row->member(&given.job));
    row->codec->read(entry->value, row->member(&given.job),
                     {given.places, std::string(key), leaves_world_size(given.root)});
  }
  settle_strategy(given);
}

Value write_job(const Job& job) {
  auto written = write_section(job_table(), &job);
  if (!job.workload.recording.empty() && job.strategy == ChosenStrategy())  // which is not its default
    written.entries.push_back({"strategy", {}, config::scalar_value(std::string(job.strategy->name()), {})});
  return written;
}

namespace {

void place(Value& value, const std::string& path, const Places& places) {
  if (!value.span.file) value.span = places.at(path);
  for (std::size_t i = 0; i < value.items.size(); ++i)
    place(value.items[i], fmt::format("{}[{}]", path, i), places);
  for (auto& [key, span, below] : value.entries)
    place(below, path.empty() ? key : fmt::format("{}.{}", path, key), places);
}

// Of what was written of a section; what then is as it would be without a word, goes too.
void leave_out_unused(const Section& section, const Job& job, Value& written) {
  std::vector<config::Entry> kept;
  for (auto& entry : written.entries) {
    const auto* row = section.find(entry.key);
    if (row && row->when && !row->when->applies(job)) continue;
    if (row && entry.value.kind == Value::Kind::map) {
      auto shapes = row->codec->shapes();
      std::erase_if(shapes, [](const Shape& shape) { return shape.section == nullptr; });
      if (shapes.size() == 1) leave_out_unused(*shapes.front().section, job, entry.value);
      const auto& usual = section.usual[static_cast<std::size_t>(row - section.rows.data())];
      if (!row->is_required && entry.value == usual) continue;
    }
    kept.push_back(std::move(entry));
  }
  written.entries = std::move(kept);
}

}  // namespace

Value write_given(const GivenJob& given) {
  auto written = write_job(given.job);
  place(written, "", given.places);
  return written;
}

Value write_used(const Job& job) {
  auto written = write_job(job);
  leave_out_unused(job_table(), job, written);
  return written;
}

Value write_used(const GivenJob& given) {
  auto written = write_used(given.job);
  place(written, "", given.places);
  return written;
}

bool counts(const Job& job, std::string_view path) {
  const auto* section = &job_table();
  for (std::size_t begin = 0; section;) {
    auto end = std::min(path.find_first_of(".[", begin), path.size());
    const auto* row = section->find(path.substr(begin, end - begin));
    if (!row) return true;  // of a map that another format describes
    if (row->when && !row->when->applies(job)) return false;
    if (end == path.size()) return true;
    section = nullptr;
    for (const auto& shape : row->codec->shapes())
      if (shape.section && !section) section = shape.section;
    begin = end + 1;
  }
  return true;
}

std::optional<ReductionSize> reduction_size(const Job& job) {
  std::optional<ReductionSize> size;
  each_row(job_table(), [&](const std::string& path, const Row& row) {
    if (row.is_reduction_size && !size && counts(job, path))
      size = ReductionSize{path, {row.tries.begin(), row.tries.end()}};
  });
  return size;
}

bool is_reduction_size(std::string_view path) {
  bool found = false;
  each_row(job_table(), [&](const std::string& one, const Row& row) {
    found = found || (row.is_reduction_size && one == path);
  });
  return found;
}

std::vector<Trial> trials(const GivenJob& given) {
  std::vector<Trial> all;
  each_row(job_table(), [&](const std::string& path, const Row& row) {
    if (row.tries.empty() || row.is_reduction_size || !counts(given.job, path)) return;
    for (auto value : row.tries) {
      auto changed = given.root;
      try {
        config::apply_override(changed, fmt::format("{}={}", path, value));
        if (read_partial_job(changed).job == given.job) continue;
      } catch (const InputError&) {  // it contradicts what else is said
        continue;
      }
      all.push_back({path, std::string(value)});
    }
  });
  return all;
}

namespace {
struct Conditional {
  std::string path;
  const When* when;
};
// The rows that do not count in every job, a section before what is in it.
const std::vector<Conditional>& conditional_rows() {
  static const std::vector<Conditional> all = [] {
    std::vector<Conditional> rows;
    each_row(job_table(), [&](const std::string& path, const Row& row) {
      if (row.when) rows.push_back({path, row.when});
    });
    return rows;
  }();
  return all;
}
}  // namespace

std::vector<UnusedKey> unused_keys(const GivenJob& given) {
  std::vector<UnusedKey> unused;
  for (const auto& [path, when] : conditional_rows()) {
    if (!given.has(path) || when->applies(given.job)) continue;
    bool is_within = std::ranges::any_of(
        unused, [&path = path](const UnusedKey& above) { return path.starts_with(above.path + "."); });
    if (!is_within) unused.push_back({path, when->words, given.places.key_at(path)});
  }
  return unused;
}

namespace {

// Keys of the scenario and of its sections; what is deeper, the sections' rows know.
struct Known {
  std::set<std::string> paths;
  std::multimap<std::string, std::string> by_name, by_other_name;
};
const Known& known() {
  static const Known all = [] {
    Known result;
    std::set<std::string> of_strategies;  // sections with names of their own for the same
    each_row(job_table(), [&](const std::string& path, const Row& row) {
      auto dot = path.find('.');
      bool is_deep = path.find('[') != std::string::npos ||
                     (dot != std::string::npos && path.find('.', dot + 1) != std::string::npos);
      if (is_deep) return;
      result.paths.insert(path);
      for (auto name : row.other_names) result.by_other_name.emplace(name, path);
      if (dot == std::string::npos && row.when) of_strategies.insert(path);
      if (dot != std::string::npos && !of_strategies.contains(path.substr(0, dot)))
        result.by_name.emplace(row.name, path);
    });
    return result;
  }();
  return all;
}

void check_misplaced(const std::string& section, const config::Entry& entry) {
  if (known().paths.contains(section.empty() ? entry.key : section + "." + entry.key)) return;
  std::string meant;
  if (auto other = known().by_other_name.find(entry.key); other != known().by_other_name.end())
    meant = other->second;
  // A key of several sections says nothing of which.
  if (meant.empty() && known().by_name.count(entry.key) == 1) meant = known().by_name.find(entry.key)->second;
  if (meant.empty()) return;
  auto dot = meant.find('.');
  auto message = fmt::format("unknown key '{}'; did you mean '{}'?", entry.key, meant);
  if (meant.starts_with(section + "."))
    throw InputError(entry.key_span, message,
                     fmt::format("'{}' calls it '{}'", section, meant.substr(dot + 1)));
  throw InputError(entry.key_span, message,
                   fmt::format("'{}' goes into the section '{}'; on the command line --set {}=...",
                               meant.substr(dot + 1), meant.substr(0, dot), meant));
}

// A key of the scenario, and those right below it.
void check_misplaced(const config::Entry& entry) {
  check_misplaced("", entry);
  if (!job_table().find(entry.key) || entry.value.kind != Value::Kind::map) return;
  for (const auto& below : entry.value.entries) check_misplaced(entry.key, below);
}

}  // namespace

std::string key_path(const std::string& word) {
  if (known().paths.contains(word)) return word;
  for (const auto* names : {&known().by_other_name, &known().by_name}) {
    auto [first, last] = names->equal_range(word);
    if (first == last) continue;
    std::vector<std::string> paths;
    for (auto it = first; it != last; ++it) paths.push_back(it->second);
    if (paths.size() == 1) return paths.front();
    throw InputError(fmt::format("'{}' is one of {}", word, fmt::join(paths, ", ")),
                     fmt::format("name its section: {}={{\"{}\": ...}}",
                                 paths.front().substr(0, paths.front().find('.')), word));
  }
  std::vector<std::string> words;
  for (const auto& path : known().paths) words.push_back(path.substr(path.find('.') + 1));
  throw InputError(fmt::format("no key is called '{}'{}", word, did_you_mean(word, words)),
                   "docs/reference/scenario.md has all of them");
}

std::vector<std::string> key_paths() {
  std::set<std::string> paths;
  each_row(job_table(), [&](const std::string& path, const Row& row) {
    auto is_section = [](const Shape& shape) { return shape.kind == Shape::Kind::section; };
    if (path.find('[') == std::string::npos && !std::ranges::all_of(row.codec->shapes(), is_section))
      paths.insert(path);
  });
  return {paths.begin(), paths.end()};
}

void check_misplaced_keys(const Value& root) {
  if (root.kind != Value::Kind::map) return;
  for (const auto& entry : root.entries) check_misplaced(entry);
}

void check_axis(const std::string& path, const SourceSpan& place) {
  std::vector<const Section*> sections{&job_table()};  // any of which may have the next key
  std::string above;
  for (std::size_t begin = 0; begin <= path.size();) {
    auto end = std::min(path.find('.', begin), path.size());
    auto part = path.substr(begin, end - begin);
    std::vector<std::string> names;
    const Row* row = nullptr;
    for (const auto* section : sections) {
      for (const auto& one : section->rows) names.emplace_back(one.name);
      if (!row) row = section->find(part);
    }
    if (names.empty())
      throw InputError(place, fmt::format("'{}' has no key '{}'", above, part), "check the key path");
    if (!row)
      throw InputError(
          place, fmt::format("unknown key '{}'{}", part, did_you_mean(part, names)),
          fmt::format("'{}' knows {}", above.empty() ? "scenario" : above, fmt::join(names, ", ")));
    sections.clear();
    for (const auto& shape : row->codec->shapes()) {
      if (shape.kind == Shape::Kind::any_map) return;  // any key
      if (shape.section) sections.push_back(shape.section);
    }
    above += (above.empty() ? "" : ".") + part;
    begin = end + 1;
  }
}

}  // namespace ddpsim
