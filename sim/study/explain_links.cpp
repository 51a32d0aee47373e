#include "sim/study/explain_links.hpp"

#include <algorithm>
#include <optional>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/quantity.hpp"
#include "sim/engine/most_loaded_link.hpp"
#include "sim/engine/scaled_all_reduces.hpp"
#include "sim/job/rows/override_rows.hpp"
#include "sim/keys/types.hpp"
#include "sim/text/cluster_overrides.hpp"

namespace ddpsim {
namespace {

// Times a link's bandwidth, which must remain a number to simulate with.
constexpr double kAsGoodAsInfinite = 1e6;

bool uses_nccl(const Scenario& scenario) {
  return scenario.communication && !scenario.communication->nccl.empty();
}

bool uses_library(const Scenario& scenario) {
  return scenario.communication && scenario.communication->library;
}

// Links are known to the cluster, but not which of them gathers load most.
bool shards_over_links(const Scenario& scenario) {
  return scenario.strategy_plan && scenario.communication && !uses_library(scenario);
}

// What says how long all-reduces take, where it is not links.
std::string who_says(const Scenario& scenario) {
  if (!uses_library(scenario)) return "a measured table";
  return fmt::format("{}'s model", backend_words(scenario.communication->library->backend()));
}

// `of_links`: where links say what all-reduces take; else so much of each all-reduce.
Change scaled(const Scenario& scenario, std::string name, const LinkScale& of_links,
              const AllReduceScale& of_all_reduces) {
  Change change{std::move(name)};
  if (scenario.measured_table || uses_nccl(scenario) || uses_library(scenario))
    change.then = [of_all_reduces](Scenario& s) { scale_all_reduces(s, of_all_reduces); };
  else
    change.links = of_links;
  return change;
}

// Of all all-reduces together. They may be over at once, and then nothing is left to measure.
Seconds time_left(WhatIf& what_if, const Change& change) try {
  return what_if.simulate(change).communication;
} catch (const InputError&) {
  return {};
}

void explain_parts(std::ostream& out, WhatIf& what_if, const Scenario& scenario,
                   const IterationMetrics& metrics) {
  if (scenario.measured_table && !scenario.measured_table->grows()) {
    out << "  what of it is latency is not known: the table's times fall with size, as in a replay of "
           "recorded ones\n";
    return;
  }
  auto no_latency = time_left(what_if, scaled(scenario, "", {1, 0}, {0, 1}));
  out << fmt::format("  of {} of {} {} would remain without latency", format_seconds(metrics.communication),
                     scenario.strategy_plan ? "collectives" : "all-reduces", format_seconds(no_latency));
  bool is_whole = scenario.fidelity == Fidelity::closed_form && scenario.communication &&
                  scenario.communication->is_settled();
  if (uses_nccl(scenario) && !is_whole) {
    out << " (with infinite bandwidth is not tried: NCCL's model knows it of a group alone, in closed "
           "form)\n";
    return;
  }
  auto no_bytes = time_left(what_if, scaled(scenario, "", {kAsGoodAsInfinite, 1}, {1, 0}));
  out << fmt::format(", {} with infinite bandwidth: {} bounds them\n", format_seconds(no_bytes),
                     no_latency < no_bytes ? "latency" : "bandwidth");
}

// Of a group alone: of how many all-reduces the links, and not NCCL's model, say what they take.
std::string bound_by_links(const Scenario& scenario) {
  std::size_t bound = 0, all = 0;
  for (const auto& model : scenario.communication->nccl)
    for (auto bytes : all_reduces_of(scenario.plan)) {
      ++all;
      bound += model->cost().choose(bytes).time < model->choose(bytes).time;
    }
  if (bound == 0) return "; NCCL's own times bound them all";
  return bound == all ? "; it bounds them all"
                      : fmt::format("; it bounds {} of {} of them, NCCL's own times the others", bound, all);
}

void explain_link(std::ostream& out, const Scenario& scenario) {
  if (shards_over_links(scenario)) return;
  auto most = most_loaded_link(scenario);
  if (!most) {
    out << fmt::format("  {} says what they take, so that no link is known to bound them\n",
                       who_says(scenario));
    return;
  }
  const auto& communication = *scenario.communication;
  out << fmt::format("  {} keep the most loaded link, {}{}, busy for {}{}\n",
                     communication.groups.size() == 1 ? "they" : "those of all groups",
                     communication.cluster->link_name(most->link),
                     most->as_loaded == 1 ? "" : fmt::format(" (one of {} as loaded)", most->as_loaded),
                     format_seconds(most->busy), communication.is_settled() ? bound_by_links(scenario) : "");
}

// `cluster.overrides` as it is, but that this link has twice the bandwidth. An entry for several links, this
// one among them, becomes one for each of the others.
std::string overrides_with_wider(const WhatIf& what_if, const Cluster& cluster, int link) {
  std::vector<job::Override> entries;
  auto given = read_partial_job(what_if.root());
  for (std::size_t i = 0; i < given.job.cluster.overrides.size(); ++i) {
    const auto& entry = given.job.cluster.overrides[i];
    auto known = link_override(entry, given.at(fmt::format("cluster.overrides[{}]", i)));
    auto links = known ? cluster.links_named(known->link, known->span) : std::vector<int>();
    if (std::ranges::find(links, link) == links.end()) {
      entries.push_back(entry);
      continue;
    }
    for (int other : links)
      if (other != link) {
        auto& one = entries.emplace_back(entry);
        one.node.reset();
        one.link = cluster.link_name(other);
      }
  }
  auto [bandwidth, latency] = cluster.link(link);
  entries.push_back(
      {.node = {}, .link = cluster.link_name(link), .bandwidth = 2 * bandwidth, .latency = latency});
  auto rows = keys::list(job::override_rows(job::Overridden::links_and_nodes));
  return fmt::format("cluster.overrides={}", config::to_flow_text(*rows.codec->write(&entries)));
}

}  // namespace

void explain_all_reduces(std::ostream& out, WhatIf& what_if, const Scenario& scenario,
                         const IterationMetrics& metrics) {
  explain_parts(out, what_if, scenario, metrics);
  explain_link(out, scenario);
}

void add_link_changes(const WhatIf& what_if, const Scenario& scenario, std::vector<Change>& changes,
                      std::vector<LeftOut>& left_out) {
  if (shards_over_links(scenario)) {
    changes.push_back({.name = "all links of twice the bandwidth", .links = {2, 1}});
    left_out.push_back(
        {"the most loaded link alone, and latencies", "what each bounds is known of all-reduces only"});
    return;
  }
  if (scenario.communication && scenario.communication->is_alone()) return;
  auto most = most_loaded_link(scenario);
  if (!most) {
    left_out.push_back({"links of more bandwidth or less latency",
                        fmt::format("{} says what all-reduces take", who_says(scenario))});
    return;
  }
  const auto& cluster = *scenario.communication->cluster;
  changes.push_back({.name = "all links of twice the bandwidth", .links = {2, 1}});
  changes.push_back(scaled(scenario, "all latencies halved", {1, 0.5}, {0.5, 1}));
  changes.push_back({fmt::format("{} alone of twice the bandwidth", cluster.link_name(most->link)),
                     {overrides_with_wider(what_if, cluster, most->link)}});
}

std::string note_on_links(const Scenario& scenario) {
  if (!uses_nccl(scenario)) return "";
  return "under NCCL's model wider links are searched for channels anew, with its constants and curves as "
         "they are, and latency is the time of an empty message";
}

}  // namespace ddpsim
