#include "sim/report/topology_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/report/csv_parts.hpp"
#include "sim/result/json_parts.hpp"

namespace ddpsim {
namespace {

const Columns<LinkFigures> kLinkColumns{{"name", &LinkFigures::name},
                                        {"bandwidth_Bps", &LinkFigures::bandwidth},
                                        {"latency_s", &LinkFigures::latency}};

using Pair = TopologyReport::Pair;
const Columns<Pair> kPairColumns{{"from", &Pair::from}, {"to", &Pair::to}, {"joined_by", &Pair::joined_by}};

Cell link(const std::optional<LinkFigures>& link) {
  return link ? Cell(fields(kLinkColumns, *link)) : Cell();
}

Cell route(const std::optional<TopologyReport::BetweenNodes>& route) {
  if (!route) return {};
  return Cell::Fields{{"bandwidth_Bps", route->bandwidth},
                      {"latency_s", route->latency},
                      {"bottleneck", route->bottleneck},
                      {"links", fields_of_each(kLinkColumns, route->links)}};
}

}  // namespace

std::string topology_json(const TopologyReport& report) {
  return json::text_of({{"topology", report.topology},
                        {"gpus", report.gpus},
                        {"nodes", report.nodes},
                        {"links", report.links},
                        {"narrowest_link", link(report.narrowest)},
                        {"widest_link", link(report.widest)},
                        {"bisection_Bps", report.bisection},
                        {"between_nodes", route(report.between_nodes)},
                        {"pairs", fields_of_each(kPairColumns, report.pairs)}});
}

std::string topology_csv(const TopologyReport& report) {
  return csv::table(kPairColumns, report.pairs);
}

std::string rings_json(const std::string& topology, const std::vector<RingReport>& rings) {
  Cell::List list;
  for (const auto& ring : rings)
    list.emplace_back(Cell::Fields{
        {"gpus", ring.gpus},
        {"narrowest_hop",
         Cell::Fields{
             {"from", ring.from}, {"to", ring.to}, {"bandwidth_Bps", ring.bandwidth}, {"link", ring.link}}}});
  return json::text_of({{"topology", topology},
                        {"world_size", rings.empty() ? 0 : rings.front().gpus.size()},
                        {"rings", list}});
}

std::string rings_csv(const std::vector<RingReport>& rings) {
  return csv::table(
      {{"ring", [&](const RingReport& ring) { return &ring - rings.data(); }},
       {"gpus", [](const RingReport& ring) { return fmt::format("{}", fmt::join(ring.gpus, " ")); }},
       {"narrowest_from", &RingReport::from},
       {"narrowest_to", &RingReport::to},
       {"bandwidth_Bps", &RingReport::bandwidth},
       {"link", &RingReport::link}},
      rings);
}

}  // namespace ddpsim
