#include "sim/report/topology_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "sim/report/csv_parts.hpp"
#include "sim/report/json_parts.hpp"

namespace ddpsim {
namespace {

using json::Json;

Json link_json(const LinkFigures& link) {
  return {
      {"name", link.name}, {"bandwidth_Bps", link.bandwidth.value()}, {"latency_s", link.latency.value()}};
}

Json link_or_null(const std::optional<LinkFigures>& link) {
  return link ? link_json(*link) : Json(nullptr);
}

}  // namespace

std::string topology_json(const TopologyReport& report) {
  Json all;
  all["topology"] = report.topology;
  all["gpus"] = report.gpus;
  all["nodes"] = report.nodes;
  all["links"] = report.links;
  all["narrowest_link"] = link_or_null(report.narrowest);
  all["widest_link"] = link_or_null(report.widest);
  all["bisection_Bps"] = report.bisection.value();
  auto& between = all["between_nodes"];
  if (const auto& route = report.between_nodes) {
    between["bandwidth_Bps"] = route->bandwidth.value();
    between["latency_s"] = route->latency.value();
    between["bottleneck"] = route->bottleneck;
    auto& links = between["links"] = Json::array();
    for (const auto& link : route->links) links.push_back(link_json(link));
  }
  auto& pairs = all["pairs"] = Json::array();
  for (const auto& pair : report.pairs)
    pairs.push_back({{"from", pair.from}, {"to", pair.to}, {"joined_by", pair.joined_by}});
  return json::text_of(all);
}

std::string topology_csv(const TopologyReport& report) {
  auto text = csv::line_of({"from", "to", "joined_by"});
  for (const auto& pair : report.pairs) text += csv::line_of({pair.from, pair.to, pair.joined_by});
  return text;
}

std::string rings_json(const std::string& topology, const std::vector<RingReport>& rings) {
  Json all;
  all["topology"] = topology;
  all["world_size"] = rings.empty() ? 0 : rings.front().gpus.size();
  auto& list = all["rings"] = Json::array();
  for (const auto& ring : rings)
    list.push_back({{"gpus", ring.gpus},
                    {"narrowest_hop",
                     {{"from", ring.from},
                      {"to", ring.to},
                      {"bandwidth_Bps", ring.bandwidth.value()},
                      {"link", ring.link}}}});
  return json::text_of(all);
}

std::string rings_csv(const std::vector<RingReport>& rings) {
  auto text = csv::line_of({"ring", "gpus", "narrowest_from", "narrowest_to", "bandwidth_Bps", "link"});
  for (std::size_t i = 0; i < rings.size(); ++i)
    text += csv::line_of({fmt::format("{}", i), fmt::format("{}", fmt::join(rings[i].gpus, " ")),
                          fmt::format("{}", rings[i].from), fmt::format("{}", rings[i].to),
                          csv::number(rings[i].bandwidth.value()), rings[i].link});
  return text;
}

}  // namespace ddpsim
