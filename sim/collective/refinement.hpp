#pragma once
// Colour refinement over everything that uses a cluster's links (see fold.hpp).
#include <cstddef>
#include <unordered_map>
#include <vector>

#include "sim/collective/fold.hpp"

namespace ddpsim {

// Objects of each kind that got the same colour behave alike. Colours count from 0 in order of appearance.
class Refinement {
 public:
  explicit Refinement(const Traffic& traffic);

  struct ChannelRef {
    std::size_t group;
    std::size_t stage;
    const Channel* channel;
    Operation operation;
    std::size_t first_edge;  // its edges are numbered on from here
  };
  [[nodiscard]] const std::vector<ChannelRef>& channels() const { return channels_; }
  [[nodiscard]] int group_color(std::size_t group) const { return group_colors_[group]; }
  [[nodiscard]] int channel_color(std::size_t channel) const { return channel_colors_[channel]; }
  [[nodiscard]] int edge_color(std::size_t edge) const { return edge_colors_[edge]; }
  [[nodiscard]] int edge_level(std::size_t edge) const { return edge_levels_[edge]; }

  struct LinkUse {
    int link_class;
    int times;  // edges of this colour on each such link
  };
  // One entry a link class on the edge's route, ascending.
  [[nodiscard]] std::vector<LinkUse> uses(std::size_t edge) const;
  // Of a background flow: one link for all links alike, as often as each of them is listed; ascending.
  [[nodiscard]] std::vector<int> link_classes(const std::vector<int>& links) const;
  // By link class.
  [[nodiscard]] std::vector<BytesPerSecond> capacities() const;

 private:
  void number_links(const Traffic& traffic);
  void color_initially(const Traffic& traffic);
  bool refine();
  void refine_edges();
  void refine_links();
  void refine_channels();
  void refine_groups();
  [[nodiscard]] std::size_t colors() const;

  std::vector<ChannelRef> channels_;
  std::vector<const Edge*> edges_;
  std::vector<int> edge_levels_;                      // in a pipeline
  std::vector<std::size_t> channel_of_;               // by edge
  std::unordered_map<int, std::size_t> link_number_;  // of a link id
  std::vector<BytesPerSecond> link_capacities_;
  std::vector<std::vector<int>> link_users_;  // edges, by link
  std::vector<std::size_t> route_begin_;      // by edge, into route_links_
  std::vector<std::size_t> route_links_;      // link numbers
  std::vector<std::vector<std::size_t>> group_channels_;
  std::vector<int> edge_colors_, link_colors_, channel_colors_, group_colors_;
  std::size_t edge_kinds_ = 0, link_kinds_ = 0, channel_kinds_ = 0, group_kinds_ = 0;
};

}  // namespace ddpsim
