#include "sim/collective/refinement.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <utility>

namespace ddpsim {
namespace {

// The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9U;
  value = (value ^ (value >> 27U)) * 0x94D049BB133111EBU;
  return value ^ (value >> 31U);
}

// 128 bits that stand for a sequence of words and a multiset of colours: two that differ have the same with
// a probability of 1e-24 in a refinement of ten million objects.
class Signature {
 public:
  void put(std::uint64_t word) {
    low_ = mixed(low_ + word + 0x9E3779B97F4A7C15U);
    high_ = mixed((high_ ^ word) + 0xD1B54A32D192ED03U);
  }
  void put(double value) { put(std::bit_cast<std::uint64_t>(value)); }
  void put(int value) { put(static_cast<std::uint64_t>(value)); }
  // In any order.
  void add(int color) {
    auto word = static_cast<std::uint64_t>(color) + 1;
    low_sum_ += mixed(word * 0x9E3779B97F4A7C15U);
    high_sum_ += mixed(word * 0xD1B54A32D192ED03U);
  }
  [[nodiscard]] std::uint64_t low() const { return mixed(low_ + low_sum_); }
  [[nodiscard]] std::uint64_t high() const { return mixed(high_ + high_sum_) | 1U; }  // not 0

 private:
  std::uint64_t low_ = 0, high_ = 0, low_sum_ = 0, high_sum_ = 0;
};

// Equal signatures, equal colours.
class Palette {
 public:
  explicit Palette(std::size_t colors = 0) : places_(std::bit_ceil(2 * colors + 64)) {}
  int color(const Signature& signature) {
    if (2 * size_ >= places_.size()) grow();
    auto& place = find(signature.low(), signature.high());
    if (place.high == 0) place = {signature.low(), signature.high(), static_cast<int>(size_++)};
    return place.color;
  }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct Place {
    std::uint64_t low = 0, high = 0;  // high 0: free
    int color = 0;
  };
  Place& find(std::uint64_t low, std::uint64_t high) {
    auto i = low & (places_.size() - 1);
    while (places_[i].high != 0 && (places_[i].low != low || places_[i].high != high))
      i = (i + 1) & (places_.size() - 1);
    return places_[i];
  }
  void grow() {
    auto old = std::exchange(places_, std::vector<Place>(2 * places_.size()));
    for (const auto& place : old)
      if (place.high != 0) find(place.low, place.high) = place;
  }
  std::vector<Place> places_;
  std::size_t size_ = 0;
};

// Adds colours as a set.
class SetOfColors {
 public:
  explicit SetOfColors(std::size_t colors) : last_(colors, 0) {}
  void begin() { ++round_; }
  void add(Signature& signature, int color) {
    if (std::exchange(last_[static_cast<std::size_t>(color)], round_) != round_) signature.add(color);
  }

 private:
  std::vector<std::size_t> last_;  // round in which it was added
  std::size_t round_ = 0;
};

}  // namespace

Refinement::Refinement(const Traffic& traffic) {
  group_channels_.resize(traffic.groups.size());
  for (std::size_t g = 0; g < traffic.groups.size(); ++g) {
    const auto& stages = traffic.groups[g].schedule->stages;
    for (std::size_t s = 0; s < stages.size(); ++s)
      for (const auto& channel : stages[s].channels) {
        group_channels_[g].push_back(channels_.size());
        for (const auto& edge : channel.edges) {
          edges_.push_back(&edge);
          channel_of_.push_back(channels_.size());
        }
        auto levels = channel.pattern == Pattern::pipeline ? pipeline_levels(channel)
                                                           : std::vector<int>(channel.edges.size(), 0);
        edge_levels_.insert(edge_levels_.end(), levels.begin(), levels.end());
        channels_.push_back({g, s, &channel, stages[s].operation, edges_.size() - channel.edges.size()});
      }
  }
  number_links(traffic);
  color_initially(traffic);
  while (refine()) {
  }
}

void Refinement::number_links(const Traffic& traffic) {
  auto number = [&](int link) {
    auto [it, is_new] = link_number_.try_emplace(link, link_capacities_.size());
    if (is_new) link_capacities_.push_back(traffic.capacity(link));
    return it->second;
  };
  route_begin_.reserve(edges_.size() + 1);
  for (const Edge* edge : edges_) {
    route_begin_.push_back(route_links_.size());
    for (int link : edge->route) route_links_.push_back(number(link));
  }
  route_begin_.push_back(route_links_.size());
  for (const auto& flow : traffic.background)
    for (int link : flow) number(link);
  link_users_.resize(link_capacities_.size());
  for (std::size_t e = 0; e < edges_.size(); ++e)
    for (std::size_t i = route_begin_[e]; i < route_begin_[e + 1]; ++i)
      link_users_[route_links_[i]].push_back(static_cast<int>(e));
}

void Refinement::color_initially(const Traffic& traffic) {
  Palette edges, links, channels, groups;
  for (std::size_t e = 0; e < edges_.size(); ++e) {
    Signature signature;
    signature.put(edges_[e]->piece.of);
    signature.put(edges_[e]->piece.count);
    signature.put(edge_levels_[e]);
    signature.put(edges_[e]->latency.value());
    edge_colors_.push_back(edges.color(signature));
  }
  // A background flow has a colour of its own.
  std::vector<Signature> flows(link_capacities_.size());
  for (std::size_t f = 0; f < traffic.background.size(); ++f)
    for (int link : traffic.background[f]) flows[link_number_.at(link)].put(static_cast<int>(f));
  for (std::size_t l = 0; l < flows.size(); ++l) {
    flows[l].put(link_capacities_[l].value());
    link_colors_.push_back(links.color(flows[l]));
  }
  for (const auto& ref : channels_) {
    const Channel& channel = *ref.channel;
    bool is_ring = channel.pattern == Pattern::ring;
    Signature signature;
    for (int word : {static_cast<int>(ref.stage), static_cast<int>(ref.operation), is_ring ? 1 : 0,
                     channel.part.of, is_ring ? static_cast<int>(channel.edges.size()) : channel.depth})
      signature.put(word);
    channel_colors_.push_back(channels.color(signature));
  }
  for (const auto& group : traffic.groups) {
    Signature signature;
    signature.put(group.label);
    group_colors_.push_back(groups.color(signature));
  }
}

std::size_t Refinement::colors() const {
  return edge_kinds_ + link_kinds_ + channel_kinds_ + group_kinds_;
}

// Whether anything was told apart that was not before.
bool Refinement::refine() {
  std::size_t before = colors();
  refine_edges();
  refine_links();
  refine_channels();
  refine_groups();
  return colors() != before;
}

void Refinement::refine_edges() {
  Palette palette(edge_kinds_);
  for (std::size_t e = 0; e < edges_.size(); ++e) {
    Signature signature;
    signature.put(edge_colors_[e]);
    signature.put(channel_colors_[channel_of_[e]]);
    for (std::size_t i = route_begin_[e]; i < route_begin_[e + 1]; ++i)
      signature.add(link_colors_[route_links_[i]]);
    edge_colors_[e] = palette.color(signature);
  }
  edge_kinds_ = palette.size();
}

void Refinement::refine_links() {
  Palette palette(link_kinds_);
  for (std::size_t l = 0; l < link_users_.size(); ++l) {
    Signature signature;
    signature.put(link_colors_[l]);
    for (int edge : link_users_[l]) signature.add(edge_colors_[static_cast<std::size_t>(edge)]);
    link_colors_[l] = palette.color(signature);
  }
  link_kinds_ = palette.size();
}

void Refinement::refine_channels() {
  Palette palette(channel_kinds_);
  SetOfColors colors(edge_kinds_);
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    Signature signature;
    signature.put(channel_colors_[c]);
    signature.put(group_colors_[channels_[c].group]);
    colors.begin();
    for (std::size_t e = 0; e < channels_[c].channel->edges.size(); ++e)
      colors.add(signature, edge_colors_[channels_[c].first_edge + e]);
    channel_colors_[c] = palette.color(signature);
  }
  channel_kinds_ = palette.size();
}

void Refinement::refine_groups() {
  Palette palette(group_kinds_);
  SetOfColors colors(channel_kinds_);
  for (std::size_t g = 0; g < group_channels_.size(); ++g) {
    Signature signature;
    signature.put(group_colors_[g]);
    colors.begin();
    for (std::size_t channel : group_channels_[g]) colors.add(signature, channel_colors_[channel]);
    group_colors_[g] = palette.color(signature);
  }
  group_kinds_ = palette.size();
}

std::vector<Refinement::LinkUse> Refinement::uses(std::size_t edge) const {
  std::vector<LinkUse> uses;
  for (std::size_t i = route_begin_[edge]; i < route_begin_[edge + 1]; ++i) {
    std::size_t link = route_links_[i];
    int link_class = link_colors_[link];
    if (std::any_of(uses.begin(), uses.end(), [&](const auto& use) { return use.link_class == link_class; }))
      continue;
    auto times = std::count_if(link_users_[link].begin(), link_users_[link].end(), [&](int user) {
      return edge_colors_[static_cast<std::size_t>(user)] == edge_colors_[edge];
    });
    uses.push_back({link_class, static_cast<int>(times)});
  }
  std::sort(uses.begin(), uses.end(), [](auto a, auto b) { return a.link_class < b.link_class; });
  return uses;
}

std::vector<int> Refinement::link_classes(const std::vector<int>& links) const {
  std::map<int, std::size_t> times;  // by link class: how often each such link is listed
  for (int link : links)
    times[link_colors_[link_number_.at(link)]] =
        static_cast<std::size_t>(std::count(links.begin(), links.end(), link));
  std::vector<int> classes;
  for (auto [link_class, count] : times) classes.insert(classes.end(), count, link_class);
  return classes;
}

std::vector<BytesPerSecond> Refinement::capacities() const {
  std::vector<BytesPerSecond> capacities(link_kinds_);
  for (std::size_t l = 0; l < link_colors_.size(); ++l)
    capacities[static_cast<std::size_t>(link_colors_[l])] = link_capacities_[l];
  return capacities;
}

}  // namespace ddpsim
