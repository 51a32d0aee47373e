#pragma once
// The files that jobs name, and what was worked out of them: each is read, and each answer found, once, by
// however many jobs and threads it is asked for.
#include <atomic>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <typeindex>
#include <utility>
#include <vector>

#include "sim/base/memo.hpp"
#include "sim/collective/measured_cost.hpp"
#include "sim/compute/software.hpp"
#include "sim/gpu/gpu_description.hpp"
#include "sim/job/rows/table.hpp"
#include "sim/model/transformer_modules.hpp"
#include "sim/nccl/calibration.hpp"
#include "sim/text/gpu_entries.hpp"
#include "sim/text/presets.hpp"
#include "sim/text/topology_file.hpp"
#include "sim/topology/scaled_links.hpp"
#include "sim/trace/layer_trace.hpp"

namespace ddpsim {

// Sections and keys of a job's text, as parts of keys: jobs that say the same have the same answer.
using JobTexts = std::vector<config::Value>;
JobTexts texts_of(const GivenJob& given, std::initializer_list<std::string_view> paths);

// A GPU and its file, by which it is told from others; neither: it is not known.
struct KnownGpu {
  std::string file = {};
  std::shared_ptr<const GpuDescription> description = {};

  explicit operator bool() const { return description != nullptr; }
  const GpuDescription& operator*() const { return *description; }
  const GpuDescription* operator->() const { return description.get(); }
  [[nodiscard]] const GpuDescription* get() const { return description.get(); }
  bool operator==(const KnownGpu& other) const { return file == other.file; }
  auto operator<=>(const KnownGpu& other) const { return file <=> other.file; }
};

class Files {
 public:
  // `path` is the scenario's file: paths inside it are relative to its folder, those given by --set to the
  // current one. `links`: what the links are in a what-if.
  explicit Files(std::string path, const LinkScale& links = {}) : path_(std::move(path)), links_(links) {}

  [[nodiscard]] const LinkScale& links() const { return links_; }

  // What to open for a path of a job, or for a preset's name or a path. Throw InputError where there is no
  // such file.
  [[nodiscard]] std::string path_of(const Located& path) const;
  std::string path_of(PresetKind kind, const Located& name_or_path);
  NamedModel model(const Located& name_or_path);

  // Of paths to open. Throw InputError.
  KnownGpu gpu(const std::string& path);
  std::shared_ptr<const LayerTrace> trace(const std::string& path);
  std::shared_ptr<const MeasuredTable> measured_table(const std::string& path);
  std::shared_ptr<const nccl::Calibration> calibration(const std::string& path);
  const Software& software(const std::string& path, const GpuNames& gpu);

  // Parts of models.
  [[nodiscard]] KnownParts& parts() { return parts_; }

  // What make() said when it was first asked with that key. A Key is plain values with an order, names the
  // type of what it is asked for (Key::Value), and has a name that no other key has. Key::kept(value) says
  // roughly how many bytes it holds, where that is much.
  template <class Key, class Make>
  const typename Key::Value& once(const Key& key, const Make& make) {
    return memo_of<Key>().of(key, [&] {
      typename Key::Value value = make();
      if constexpr (requires { Key::kept(value); }) {
        kept_bytes_ += Key::kept(value);
        ++kept_;
      }
      return value;
    });
  }
  // Whether new files are better for a new job: of several jobs, some 200 MB.
  [[nodiscard]] bool keeps_much() const { return kept_ > kOfOneJob && kept_bytes_ > 200'000'000; }

 private:
  template <class Key>
  Memo<Key, typename Key::Value>& memo_of() {
    using Of = Memo<Key, typename Key::Value>;
    std::scoped_lock lock(mutex_);
    auto& memo = memos_[typeid(Key)];
    if (!memo) memo = std::make_shared<Of>();
    return *static_cast<Of*>(memo.get());
  }

  static constexpr std::size_t kOfOneJob = 6;  // answers that hold much

  std::string path_;
  LinkScale links_;
  KnownParts parts_;
  std::mutex mutex_;
  std::map<std::type_index, std::shared_ptr<void>> memos_;  // by the type of the key
  std::atomic<std::size_t> kept_bytes_ = 0, kept_ = 0;
};

// The cluster's topology: its file, and what is different from it. Throws InputError.
struct TopologyKey {
  using Value = std::shared_ptr<const Topology>;
  std::string file;
  TopologyChanges changes;
  auto operator<=>(const TopologyKey&) const = default;
};
TopologyKey topology_key(Files& files, const GivenJob& given);
std::shared_ptr<const Topology> find_topology(Files& files, const GivenJob& given);
// `cluster.gpu`, else what the cluster's topology names.
KnownGpu find_gpu(Files& files, const GivenJob& given);

}  // namespace ddpsim
