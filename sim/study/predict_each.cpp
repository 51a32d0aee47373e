#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <type_traits>

#include "sim/base/check.hpp"
#include "sim/process/interrupts.hpp"
#include "sim/study/prediction.hpp"

namespace ddpsim {
namespace {

// A prediction on its way through a pipe between two images of this very program: plain bytes.
class Packer {
 public:
  template <class T>
  void put(const T& value) requires std::is_trivially_copyable_v<T> {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class T>
  void put(const std::vector<T>& values) {
    put(values.size());
    for (const auto& value : values) put(value);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  void get(T& value) requires std::is_trivially_copyable_v<T> {
    DDPSIM_CHECK(bytes_.size() >= sizeof value, "a worker's answer is whole");
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
  }
  template <class T>
  void get(std::vector<T>& values) {
    std::size_t size = 0;
    get(size);
    DDPSIM_CHECK(size <= bytes_.size(), "a worker's answer is whole");
    values.resize(size);
    for (auto& value : values) get(value);
  }

 private:
  std::string_view bytes_;
};

template <class Archive, class Ranks, class Visit>
void visit_fields(Archive& archive, Ranks& ranks, Visit visit) {
  visit(archive, ranks.rank);
  visit(archive, ranks.ranks);
  visit(archive, ranks.communicators);
  visit(archive, ranks.group_size);
  visit(archive, ranks.stage);
  visit(archive, ranks.slowdown);
  visit(archive, ranks.stragglers);
  visit(archive, ranks.compute);
  visit(archive, ranks.communication);
  visit(archive, ranks.backward_start);
  visit(archive, ranks.bucket_ready);
}

std::string pack(const Prediction& prediction) {
  Packer packer;
  packer.put(prediction.timeline.rank_classes.size());
  for (const auto& ranks : prediction.timeline.rank_classes)
    visit_fields(packer, ranks, [](Packer& to, const auto& field) { to.put(field); });
  packer.put(prediction.iterations);
  packer.put(prediction.unvaried);
  packer.put(prediction.simulated_flows);
  return packer.take();
}

Prediction unpack(std::string_view bytes) {
  Unpacker unpacker(bytes);
  std::size_t classes = 0;
  unpacker.get(classes);
  Prediction prediction;
  for (std::size_t i = 0; i < classes; ++i)
    visit_fields(unpacker, prediction.timeline.rank_classes.emplace_back(),
                 [](Unpacker& from, auto& field) { from.get(field); });
  unpacker.get(prediction.iterations);
  unpacker.get(prediction.unvaried);
  unpacker.get(prediction.simulated_flows);
  return prediction;
}

}  // namespace

void predict_each(std::size_t n, unsigned jobs, bool in_children,
                  const std::function<Prediction(std::size_t)>& task,
                  const std::function<void(std::size_t, Prediction)>& on_prediction, const OnLost& on_lost) {
  if (in_children)
    return run_in_forked_workers(
        n, jobs, [&](std::size_t i) { return pack(task(i)); },
        [&](std::size_t i, const std::string& bytes) { on_prediction(i, unpack(bytes)); }, on_lost);
  for (std::size_t i = 0; i < n; ++i) {
    check_interrupts();
    std::optional<Prediction> prediction;
    try {
      prediction = task(i);
    } catch (const std::bad_alloc&) {
      on_lost(i, EnvironmentError("out of memory", kMemoryHint));
      continue;
    }
    on_prediction(i, *std::move(prediction));
  }
}

}  // namespace ddpsim
