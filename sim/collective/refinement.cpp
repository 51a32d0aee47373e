#include "sim/collective/refinement.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>

namespace ddpsim {
namespace {

using Signature = std::vector<int>;

struct SignatureHash {
  std::size_t operator()(const Signature& signature) const {
    std::uint64_t hash = signature.size();
    for (int word : signature)
      hash = (hash ^ static_cast<std::uint32_t>(word)) * 0x9E3779B97F4A7C15U + (hash >> 29U);
    return hash;
  }
};

// Equal signatures, equal colours.
class Palette {
 public:
  int color(const Signature& signature) {
    if (auto it = colors_.find(signature); it != colors_.end()) return it->second;
    int color = static_cast<int>(colors_.size());
    colors_.emplace(signature, color);
    return color;
  }
  [[nodiscard]] std::size_t size() const { return colors_.size(); }

 private:
  std::unordered_map<Signature, int, SignatureHash> colors_;
};

void append(Signature& signature, double value) {
  auto bits = std::bit_cast<std::uint64_t>(value);
  signature.push_back(static_cast<int>(bits & 0xFFFFFFFFU));
  signature.push_back(static_cast<int>(bits >> 32U));
}

// The colours from `begin` on as a set.
void make_set(Signature& signature, std::size_t begin) {
  auto first = signature.begin() + static_cast<std::ptrdiff_t>(begin);
  std::sort(first, signature.end());
  signature.erase(std::unique(first, signature.end()), signature.end());
}

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
  Signature signature;
  Palette edges, links, channels, groups;
  for (std::size_t e = 0; e < edges_.size(); ++e) {
    signature = {edges_[e]->piece.of, edge_levels_[e]};
    append(signature, edges_[e]->latency.value());
    edge_colors_.push_back(edges.color(signature));
  }
  // A background flow has a colour of its own.
  std::vector<Signature> flows(link_capacities_.size());
  for (std::size_t f = 0; f < traffic.background.size(); ++f)
    for (int link : traffic.background[f]) flows[link_number_.at(link)].push_back(static_cast<int>(f));
  for (std::size_t l = 0; l < flows.size(); ++l) {
    append(flows[l], link_capacities_[l].value());
    link_colors_.push_back(links.color(flows[l]));
  }
  for (const auto& ref : channels_) {
    const Channel& channel = *ref.channel;
    bool is_ring = channel.pattern == Pattern::ring;
    signature = {static_cast<int>(ref.stage), static_cast<int>(ref.operation), is_ring ? 1 : 0,
                 channel.part.of, is_ring ? static_cast<int>(channel.edges.size()) : channel.depth};
    channel_colors_.push_back(channels.color(signature));
  }
  for (const auto& group : traffic.groups) {
    signature = {group.label};
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
  Palette palette;
  std::vector<int> colors(edges_.size());
  Signature signature;
  for (std::size_t e = 0; e < edges_.size(); ++e) {
    signature = {edge_colors_[e], channel_colors_[channel_of_[e]]};
    for (std::size_t i = route_begin_[e]; i < route_begin_[e + 1]; ++i)
      signature.push_back(link_colors_[route_links_[i]]);
    std::sort(signature.begin() + 2, signature.end());
    colors[e] = palette.color(signature);
  }
  edge_colors_ = std::move(colors);
  edge_kinds_ = palette.size();
}

void Refinement::refine_links() {
  Palette palette;
  Signature signature;
  for (std::size_t l = 0; l < link_users_.size(); ++l) {
    signature = {link_colors_[l]};
    for (int edge : link_users_[l]) signature.push_back(edge_colors_[static_cast<std::size_t>(edge)]);
    std::sort(signature.begin() + 1, signature.end());
    link_colors_[l] = palette.color(signature);
  }
  link_kinds_ = palette.size();
}

void Refinement::refine_channels() {
  Palette palette;
  Signature signature;
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    signature = {channel_colors_[c], group_colors_[channels_[c].group]};
    for (std::size_t e = 0; e < channels_[c].channel->edges.size(); ++e)
      signature.push_back(edge_colors_[channels_[c].first_edge + e]);
    make_set(signature, 2);
    channel_colors_[c] = palette.color(signature);
  }
  channel_kinds_ = palette.size();
}

void Refinement::refine_groups() {
  Palette palette;
  Signature signature;
  for (std::size_t g = 0; g < group_channels_.size(); ++g) {
    signature = {group_colors_[g]};
    for (std::size_t channel : group_channels_[g]) signature.push_back(channel_colors_[channel]);
    make_set(signature, 1);
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
