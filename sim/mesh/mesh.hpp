#pragma once
// The ranks of a job as a grid: along each axis they form groups, and a rank is in one group of every axis.
#include <span>
#include <string>
#include <vector>

namespace ddpsim {

struct MeshAxis {
  std::string name;  // "shard"
  int size = 1;
};

// Consecutive ranks are neighbours on the first axis, as init_device_mesh's are on its last.
class Mesh {
 public:
  explicit Mesh(std::vector<MeshAxis> axes) : axes_(std::move(axes)) {}
  [[nodiscard]] int ranks() const;
  // Ranks, by group of the axis, groups by lowest rank.
  [[nodiscard]] std::vector<std::vector<int>> groups(std::size_t axis) const;

 private:
  std::vector<MeshAxis> axes_;
};

// Makes labels finer until groups of one label do the same at the same times: ranks are alike that have one
// kind and are in groups of the same labels, groups that had one label and hold as many ranks of each kind.
// Labels count from 0, in the order of the groups.
std::vector<int> stable_labels(std::span<const std::vector<int>> groups, std::vector<int> labels,
                               std::span<const double> kind_of_rank);

}  // namespace ddpsim
