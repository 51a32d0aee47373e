#include "sim/mesh/mesh.hpp"

#include <algorithm>
#include <map>

namespace ddpsim {
namespace {

// Numbers for keys, in the order in which they come.
template <class Key>
class Numbers {
 public:
  int of(const Key& key) { return known_.try_emplace(key, static_cast<int>(known_.size())).first->second; }
  [[nodiscard]] std::size_t size() const { return known_.size(); }

 private:
  std::map<Key, int> known_;
};

}  // namespace

int Mesh::ranks() const {
  int ranks = 1;
  for (const auto& axis : axes_) ranks *= axis.size;
  return ranks;
}

std::vector<std::vector<int>> Mesh::groups(std::size_t axis) const {
  int stride = 1;
  for (std::size_t a = 0; a < axis; ++a) stride *= axes_[a].size;
  std::vector<std::vector<int>> groups;
  int size = axes_[axis].size;
  for (int rank = 0; rank < ranks(); ++rank) {
    if (rank / stride % size > 0) continue;
    auto& group = groups.emplace_back();
    for (int i = 0; i < size; ++i) group.push_back(rank + i * stride);
  }
  return groups;
}

std::vector<int> stable_labels(std::span<const std::vector<int>> groups, std::vector<int> labels,
                               std::span<const double> kind_of_rank) {
  std::vector<std::vector<int>> groups_of(kind_of_rank.size());
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (int rank : groups[g]) groups_of[static_cast<std::size_t>(rank)].push_back(static_cast<int>(g));
  for (std::size_t before = 0;;) {
    Numbers<std::pair<double, std::vector<int>>> kinds;
    std::vector<int> kind(kind_of_rank.size());
    for (std::size_t rank = 0; rank < kind.size(); ++rank) {
      auto of = groups_of[rank];
      for (auto& group : of) group = labels[static_cast<std::size_t>(group)];
      kind[rank] = kinds.of({kind_of_rank[rank], std::move(of)});
    }
    Numbers<std::pair<int, std::vector<int>>> fresh;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      std::vector<int> members;
      for (int rank : groups[g]) members.push_back(kind[static_cast<std::size_t>(rank)]);
      std::sort(members.begin(), members.end());
      labels[g] = fresh.of({labels[g], std::move(members)});
    }
    if (fresh.size() == before) return labels;
    before = fresh.size();
  }
}

}  // namespace ddpsim
