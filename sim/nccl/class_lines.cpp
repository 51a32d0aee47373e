// Fitted to the half rows of github.com/ai-dynamo/aiconfigurator@095f58a (Apache-2.0), systems/data/*/comm:
// 2, 4 and 8 GPUs of one node, nccl-tests without checking results; NCCL 2.27.3 (A100) and 2.29.2. The
// latencies of the three ring operations are one set a machine. Not measured, and marked so: LL128 on
// Blackwell (the mean of the other two, times what LL's latency is of theirs), NVLS on a GB300 (a B300's),
// Simple's single rounds on A100 (they never bind there).
#include <array>
#include <cmath>

#include "sim/base/check.hpp"
#include "sim/nccl/lines.hpp"

namespace ddpsim::nccl {
namespace {

// What of a machine's lines differs by operation.
struct OwnOfOperation {
  double ll_memory, simple_link, simple_memory;
};

RingLines with(RingLines lines, const OwnOfOperation& own) {
  lines.ll_memory = own.ll_memory;
  lines.simple_link = own.simple_link;
  lines.simple_memory = own.simple_memory;
  return lines;
}

RingLines with_ll128(RingLines lines, double base, double step, double link) {
  lines.ll128_base = base;
  lines.ll128_step = step;
  lines.ll128_link = link;
  return lines;
}

ClassLines a100() {
  RingLines shared{.ll_base = 6.1650899,
                   .ll_step = 0.72697729,
                   .ll_rise = 0.73177763,
                   .ll_slope = 1.3231877,
                   .ll_memory = 0,
                   .ll128_base = 23.416808,
                   .ll128_step = 0.42179803,
                   .ll128_link = 0.50496655,
                   .round_base = 12,
                   .round_step = 6,
                   .round_link = 1.2,
                   .simple_base = 24.202958,
                   .simple_step = 5.8166234,
                   .simple_link = 0,
                   .simple_memory = 0,
                   .nvls_base = 30,
                   .nvls_link = 0.47,
                   .nvls_large_base = 80,
                   .nvls_large_link = 0.77};
  return {with(shared, {0.20505919, 1.0426659, 1.5613549}),
          with(shared, {0.29873096, 1.5088249, 1.403739}),
          with(shared, {0.3491292, 1.1818822, 2.1134917}),
          {9.3671, 1.2925, 2.5926, 0.227, 18.6557, 0.4654, 1.0825, 1.1408, 0.8892, 3.0765}};
}

ClassLines h100() {
  RingLines shared{.ll_base = 3.9757369,
                   .ll_step = 0.7447188,
                   .ll_rise = 0.34619212,
                   .ll_slope = 1.1285948,
                   .ll_memory = 0,
                   .ll128_base = 16.914211,
                   .ll128_step = 0.43211477,
                   .ll128_link = 0.66937032,
                   .round_base = 13.034989,
                   .round_step = 5.3884819,
                   .round_link = 1.2456175,
                   .simple_base = 15.295111,
                   .simple_step = 2.1641931,
                   .simple_link = 0,
                   .simple_memory = 0,
                   .nvls_base = 26.012688,
                   .nvls_link = 0.49841592,
                   .nvls_large_base = 69.476967,
                   .nvls_large_link = 0.77572551};
  return {with(shared, {0.26782566, 1.1433444, 1.5994832}),
          with(shared, {0.38724037, 1.4946555, 1.6608645}),
          with(shared, {0.47815978, 1.9243305, 1.4396567}),
          // LL over many channels: of the tables of NCCL 2.23.
          {5.6801, 0.5154, 5.8441, 0.2974, 8.5915, 0.0732, 0.7501, 1.8234, 0.8562, 5.2529}};
}

ClassLines b300() {
  RingLines shared{.ll_base = 4.885592,
                   .ll_step = 0.94193841,
                   .ll_rise = 0.56774093,
                   .ll_slope = 1.3749585,
                   .ll_memory = 0,
                   .ll128_base = 0,
                   .ll128_step = 0,
                   .ll128_link = 0,
                   .round_base = 14.081627,
                   .round_step = 9.3850824,
                   .round_link = 1.1151127,
                   .simple_base = 15.548285,
                   .simple_step = 1.1428236,
                   .simple_link = 0,
                   .simple_memory = 0,
                   .nvls_base = 36.202434,
                   .nvls_link = 0.4413181,
                   .nvls_large_base = 116.55598,
                   .nvls_large_link = 0.76015255};
  return {with_ll128(with(shared, {0.25629207, 1.1509066, 1.2508732}), 20.1, 1.06, 0.58),
          with_ll128(with(shared, {0.33458726, 1.6579152, 1.4268182}), 12.5, 1.57, 0.58),
          with_ll128(with(shared, {0.36805386, 2.2365719, 1.1823559}), 11.3, 1.44, 0.53),
          {7.3691, 0.9761, 6.6824, 0.25, 11.773, 0.613, 0.733, 1.2982, 11.871, 0.7837}};
}

ClassLines gb300() {
  auto like = b300().all_reduce;
  RingLines shared{.ll_base = 4.462245,
                   .ll_step = 0.85934088,
                   .ll_rise = 0.80832538,
                   .ll_slope = 1.5704436,
                   .ll_memory = 0,
                   .ll128_base = 0,
                   .ll128_step = 0,
                   .ll128_link = 0,
                   .round_base = 14.648005,
                   .round_step = 9.2165289,
                   .round_link = 1.0191346,
                   .simple_base = 15.388425,
                   .simple_step = 1.4838183,
                   .simple_link = 0,
                   .simple_memory = 0,
                   .nvls_base = like.nvls_base,
                   .nvls_link = like.nvls_link,
                   .nvls_large_base = like.nvls_large_base,
                   .nvls_large_link = like.nvls_large_link};
  return {with_ll128(with(shared, {0.25862399, 1.1431475, 1.2768387}), 20.1, 1.06, 0.58),
          with_ll128(with(shared, {0.32708804, 1.5988088, 1.4667184}), 12.5, 1.57, 0.58),
          with_ll128(with(shared, {0.36301636, 2.0875611, 1.2110694}), 11.3, 1.44, 0.53),
          {8.6111, 0.8417, 6.8101, 0.25, 12.9203, 0.1611, 0.7017, 1.4089, 11.2005, 0.8037}};
}

template <class Lines, class Parameters>
Lines geometric_mean(const Parameters& parameters, const Lines& a, const Lines& b, const Lines& c) {
  Lines mean{};
  for (const auto& p : parameters) mean.*p.value = std::cbrt(a.*p.value * (b.*p.value) * (c.*p.value));
  return mean;
}

ClassLines mean_of_generations() {
  auto a = a100(), h = h100(), b = b300();
  auto rings = [&](RingLines ClassLines::*operation) {
    return geometric_mean(kRingParameters, a.*operation, h.*operation, b.*operation);
  };
  return {rings(&ClassLines::all_reduce), rings(&ClassLines::all_gather), rings(&ClassLines::reduce_scatter),
          geometric_mean(kPeerParameters, a.all_to_all, h.all_to_all, b.all_to_all)};
}

struct ClassRow {
  NodeClass node_class;
  std::string_view text;
  BytesPerSecond link;
  ClassLines lines;
};

const ClassRow& row_of(NodeClass node_class) {
  static const std::array rows{
      ClassRow{NodeClass::ampere, "class A100, not this machine", BytesPerSecond(300e9), a100()},
      ClassRow{NodeClass::hopper, "class H100, not this machine", BytesPerSecond(450e9), h100()},
      ClassRow{NodeClass::blackwell, "class B300, not this machine", BytesPerSecond(900e9), b300()},
      ClassRow{NodeClass::grace_blackwell, "class GB300, not this machine", BytesPerSecond(900e9), gb300()},
      ClassRow{NodeClass::unknown, "mean of the classes A100, H100 and B300",
               BytesPerSecond(std::cbrt(300e9 * 450e9 * 900e9)), mean_of_generations()}};
  const auto& row = rows.at(static_cast<std::size_t>(node_class));
  DDPSIM_CHECK(row.node_class == node_class, "every class has lines");
  return row;
}

}  // namespace

const ClassLines& class_lines(NodeClass node_class) {
  return row_of(node_class).lines;
}

BytesPerSecond class_link(NodeClass node_class) {
  return row_of(node_class).link;
}

std::string_view class_text(NodeClass node_class) {
  return row_of(node_class).text;
}

NodeClass class_of(const Communicator& communicator) {
  const auto& its = traits_of(communicator.gpu);
  return communicator.cpu == Cpu::arm ? its.with_arm : its.node_class;
}

}  // namespace ddpsim::nccl
