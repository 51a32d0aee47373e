#include "sim/nccl/times_from.hpp"

#include "sim/base/check.hpp"
#include "sim/base/names.hpp"

namespace ddpsim::nccl {
namespace {

constexpr Names<TimesFrom, 8> kSourceTexts{{{"calibrated", TimesFrom::own},
                                            {"calibrated for another algorithm", TimesFrom::other_algorithm},
                                            {"calibrated for another operation", TimesFrom::other_operation},
                                            {"calibrated on fewer GPUs", TimesFrom::fewer_gpus},
                                            {"calibrated on other sizes only", TimesFrom::other_sizes},
                                            {"what the links give", TimesFrom::links},
                                            {"NCCL's own estimate", TimesFrom::tuner},
                                            {"NCCL's own estimate, uncalibrated", TimesFrom::symmetric}}};

template <class Lines, class Parameters>
bool is_mostly_identified(const Lines& lines, const Parameters& parameters,
                          const std::vector<bool>& identified,
                          const std::function<Seconds(const Lines&)>& time) {
  if (identified.empty()) return true;
  DDPSIM_CHECK(identified.size() == parameters.size(), "identified parameters are those of the lines");
  double known = 0, all = 0;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    double part = elasticity(lines, parameters[p].value, time);
    all += part;
    if (identified[p]) known += part;
  }
  return 2 * known > all;
}

TimesFrom times_on(const NodeLines& lines, bool is_measured, int ranks, Bytes bytes) {
  if (lines.from == LinesFrom::node_class || !is_measured) return TimesFrom::node_class;
  auto from = lines.from == LinesFrom::own ? TimesFrom::own : TimesFrom::other_operation;
  return measured_times(from, lines.fitted_to, ranks, bytes);
}

}  // namespace

std::string_view source_text(TimesFrom source, const Communicator& communicator) {
  if (source == TimesFrom::node_class) return class_text(class_of(communicator));
  return name_in(kSourceTexts, source);
}

std::string_view kind_name(TimesFrom source, const Communicator& communicator) {
  switch (source) {
    case TimesFrom::other_sizes:
      return is_nvlink_node(communicator) ? "class" : "tuner";
    case TimesFrom::node_class:
      return "class";
    case TimesFrom::links:
      return "links";
    case TimesFrom::tuner:
    case TimesFrom::symmetric:
      return "tuner";
    default:
      return "calibrated";
  }
}

TimesFrom measured_times(TimesFrom from, const std::vector<FittedRows>& fitted_to, int ranks, Bytes bytes) {
  if (!has_size(fitted_to, bytes)) return TimesFrom::other_sizes;
  int largest = largest_ranks(fitted_to);
  return largest > 0 && ranks > largest ? TimesFrom::fewer_gpus : from;
}

TimesFrom times_on_ring_lines(const NodeLines& lines, int ranks, Bytes bytes,
                              const std::function<Seconds(const RingLines&)>& time) {
  return times_on(lines, is_mostly_identified(lines.ring, kRingParameters, lines.ring_identified, time),
                  ranks, bytes);
}

TimesFrom times_on_peer_lines(const NodeLines& lines, int ranks, Bytes bytes,
                              const std::function<Seconds(const PeerLines&)>& time) {
  return times_on(lines, is_mostly_identified(lines.peers, kPeerParameters, lines.peers_identified, time),
                  ranks, bytes);
}

}  // namespace ddpsim::nccl
