// What dispatchers other than NCCL's take, by hand and against published rows.
#include "sim/compute/expert_dispatch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include <gtest/gtest.h>

#include "sim/base/csv.hpp"

namespace ddpsim::testing {
namespace {

ExpertShape shape_of(Dispatcher dispatcher, DispatchType type = DispatchType::float8) {
  ExpertShape shape;
  shape.dispatcher = dispatcher;
  shape.dispatch_type = type;
  return shape;
}

// DeepSeek-V3's.
DispatchLoad tokens_of(double tokens) {
  return {.tokens = tokens, .hidden = 7168, .top_k = 8, .experts = 256};
}

double us(Seconds time) {
  return 1e6 * time.value();
}

TEST(ReachedPlaces, OfExpertsSpreadEvenly) {
  EXPECT_EQ(reached(1, 8), 1);
  EXPECT_NEAR(reached(8, 8), 5.251, 5e-4);  // 8 (1 - (7/8)^8)
  EXPECT_NEAR(reached(4, 8), 3.600, 5e-4);
  EXPECT_NEAR(reached(64, 1), 1, 1e-12);
}

TEST(NormalKernels, InANode) {
  auto times = dispatch_times(shape_of(Dispatcher::deepep), DispatchMachine::hopper, tokens_of(4096), {8, 1});
  // 20 multiprocessors of 19.6 GB/s. A row has 7,168 x (1 + 4/128) = 7,392 bytes.
  EXPECT_NEAR(us(times.dispatch), 26 + (4096 * 7392 * reached(8, 8) + 4096 * 7750) / 392e3, 1e-6);
  EXPECT_NEAR(us(times.dispatch), 512.6, 0.1);
  // NVLink's 429 GB/s are less than 20 x 24.1.
  EXPECT_NEAR(us(times.combine), 39 + (4096 * 14336 * reached(8, 8) + 4096 * 15700) / 429e3, 1e-6);
  // Of half the NVLink 206 GB/s bound either.
  auto half = dispatch_times(shape_of(Dispatcher::deepep), DispatchMachine::hopper, tokens_of(4096),
                             {8, 1, BytesPerSecond(225e9)});
  EXPECT_NEAR((us(half.dispatch) - 26) / (us(times.dispatch) - 26), 392.0 / 206, 1e-9);
  // In 16 bits what is dispatched has as many bytes as what is combined.
  auto wide = dispatch_times(shape_of(Dispatcher::deepep, DispatchType::bfloat16), DispatchMachine::hopper,
                             tokens_of(4096), {8, 1});
  EXPECT_NEAR(us(wide.dispatch), 26 + (4096 * 14336 * reached(8, 8) + 4096 * 7750) / 392e3, 1e-6);
  EXPECT_EQ(wide.combine, times.combine);
}

TEST(NormalKernels, OverNodesATokenTravelsOnceToEach) {
  auto shape = shape_of(Dispatcher::deepep);
  auto over = [&](int nodes) {
    return us(dispatch_times(shape, DispatchMachine::hopper, tokens_of(4096), {8 * nodes, nodes}).dispatch);
  };
  double nic = 4096 * 7392 * reached(2, 8) / 2;
  double busy = (4096 * 7392 * reached(16, 8) + 4096 * 7750 + 2 * nic) / 392e3, wire = nic / 48.5e3;
  EXPECT_NEAR(over(2), 38 + std::pow(std::pow(busy, 4) + std::pow(wire, 4), 0.25), 1e-6);
  // On 8 nodes D(8) = 5.25 of them, with a limit of four 3.60.
  auto all = over(8);
  shape.node_limit = 4;
  EXPECT_LT(over(8), 0.8 * all);
  // A NIC of half the bandwidth takes twice as long, and more multiprocessors do not help it.
  DispatchPlaces slow{64, 8, {}, BytesPerSecond(25e9)};
  auto halved = us(dispatch_times(shape, DispatchMachine::hopper, tokens_of(4096), slow).dispatch);
  EXPECT_GT(halved, 1.5 * over(8));
}

TEST(LowLatencyKernels, EveryCopyTravels) {
  auto shape = shape_of(Dispatcher::deepep_low_latency);
  auto near = dispatch_times(shape, DispatchMachine::hopper, tokens_of(128), {8, 1});
  EXPECT_NEAR(us(near.dispatch), 10 + 0.010 * 256 + 128 * 8 * 7392 / 300e3, 1e-9);
  auto far = dispatch_times(shape, DispatchMachine::hopper, tokens_of(128), {16, 2});
  EXPECT_NEAR(us(far.dispatch), 22 + 128 * 8 * 7392 / 2 / 47e3, 1e-9);
  EXPECT_NEAR(us(far.dispatch), 102.5, 0.1);
  EXPECT_EQ(dispatch_bytes(shape, tokens_of(128)).combine, Bytes(128 * 8 * 14336));
}

TEST(RackKernels, SendToOtherRanksOnly) {
  auto shape = shape_of(Dispatcher::rack);
  auto times = dispatch_times(shape, DispatchMachine::rack, tokens_of(1024), {4, 1});
  EXPECT_NEAR(us(times.dispatch), 12 + 1024 * 7168 * reached(4, 8) * 3 / 4 / 460e3, 1e-9);
  EXPECT_NEAR(us(times.combine), 14 + 1024 * 14336 * reached(4, 8) * 3 / 4 / 420e3, 1e-9);
}

TEST(DispatchMachines, AreThoseThatWereMeasured) {
  GpuDescription gpu;
  gpu.architecture = "hopper";
  EXPECT_EQ(dispatch_machine(gpu, false), DispatchMachine::hopper);
  EXPECT_EQ(dispatch_machine(gpu, true), std::nullopt);
  gpu.architecture = "blackwell";
  EXPECT_EQ(dispatch_machine(gpu, false), DispatchMachine::blackwell);
  EXPECT_EQ(dispatch_machine(gpu, true), DispatchMachine::rack);
  for (const char* unknown : {"ampere", "cdna3", ""}) {
    gpu.architecture = unknown;
    EXPECT_EQ(dispatch_machine(gpu, false), std::nullopt);
  }
}

// A fullest rank waits for as many times the mean; a tensor-parallel group has each token once.
TEST(DispatchLoads, AreOfTheSlowestRank) {
  StepShape shape{.micro_batch = 1, .sequence = 4096, .tensor = 2};
  shape.expert.ranks = 8;
  shape.expert.load = 1.5;
  auto load = dispatch_load(transformer_named("mixtral-8x7b"), shape);
  EXPECT_EQ(load.tokens, 2048 * 1.5);
  EXPECT_EQ(load.hidden, 4096);
  EXPECT_EQ(load.top_k, 2);
  EXPECT_EQ(load.experts, 8);
}

struct SampleRow {
  std::map<std::string, std::string> fields;
  [[nodiscard]] double number(const char* column) const { return std::stod(fields.at(column)); }
  [[nodiscard]] std::string of() const {
    return fields.at("kernel") + " " + fields.at("system") + (fields.at("nodes") == "1" ? "" : ", nodes");
  }
  [[nodiscard]] DispatchTimes predicted() const {
    const auto& kernel = fields.at("kernel");
    auto shape = shape_of(kernel == "normal" ? Dispatcher::deepep
                          : kernel == "rack" ? Dispatcher::rack
                                             : Dispatcher::deepep_low_latency,
                          fields.at("dtype") == "fp8" ? DispatchType::float8 : DispatchType::bfloat16);
    if (kernel == "normal") shape.dispatch_sms = static_cast<int>(number("sms"));
    const auto& system = fields.at("system");
    auto machine = system == "h100_sxm"   ? DispatchMachine::hopper
                   : system == "b200_sxm" ? DispatchMachine::blackwell
                                          : DispatchMachine::rack;
    auto whole = [&](const char* column) { return static_cast<std::int64_t>(number(column)); };
    DispatchLoad load{number("tokens"), whole("hidden"), whole("top_k"), whole("experts")};
    return dispatch_times(shape, machine, load,
                          {static_cast<int>(number("ranks")), static_cast<int>(number("nodes"))});
  }
};

std::vector<SampleRow> sample() {
  auto table = parse_csv(load_text(DDPSIM_SOURCE_DIR "/measurements/deepep/sample.csv", "rows"), "rows", "");
  std::vector<SampleRow> rows;
  for (const auto& fields : table.rows) {
    auto& row = rows.emplace_back();
    for (const char* column : {"kernel", "system", "nodes", "ranks", "hidden", "top_k", "experts", "sms",
                               "tokens", "dtype", "dispatch_us", "combine_us"})
      row.fields[column] = fields[table.column(column)].text;
  }
  return rows;
}

// Single rows of B200 and GB200 are 2 to 5 times slower than their neighbours: the median leaves them out.
TEST(DispatchTables, SampleOfPublishedRows) {
  std::map<std::string, std::vector<double>> errors;
  for (const auto& row : sample()) {
    auto times = row.predicted();
    errors[row.of() + ", dispatch"].push_back(us(times.dispatch) / row.number("dispatch_us") - 1);
    errors[row.of() + ", combine"].push_back(us(times.combine) / row.number("combine_us") - 1);
  }
  EXPECT_EQ(errors.size(), 18U);
  for (auto& [of, all] : errors) {
    double sum = 0, bias = 0;
    for (double& error : all) {
      bias += error;
      error = std::abs(error);
      sum += error;
    }
    auto rows = static_cast<double>(all.size());
    std::sort(all.begin(), all.end());
    auto median = (all[all.size() / 2] + all[(all.size() - 1) / 2]) / 2;
    std::printf("%s: %zu rows, mean error %.1f %%, median %.1f %%, bias %+.1f %%\n", of.c_str(), all.size(),
                100 * sum / rows, 100 * median, 100 * bias / rows);
    EXPECT_LT(sum / rows, 0.25) << of;
    EXPECT_LT(median, 0.20) << of;
  }
}

// H800's NVLink has 200 GB/s; 24 multiprocessors are bound by it. Nothing was fitted to that machine.
DispatchTimes of_h800(const CsvTable& table, const std::vector<Located>& row) {
  auto whole = [&](const char* column) { return std::stoi(row[table.column(column)].text); };
  bool is_normal = row[table.column("kernel")].text == "normal";
  auto shape = shape_of(is_normal ? Dispatcher::deepep : Dispatcher::deepep_low_latency);
  shape.dispatch_sms = 24;
  shape.node_limit = 4;
  auto load = tokens_of(whole("tokens"));
  DispatchPlaces places{whole("ranks"), whole("nodes"), BytesPerSecond(200e9), BytesPerSecond(50e9)};
  return dispatch_times(shape, DispatchMachine::hopper, load, places);
}

TEST(DispatchTables, AnotherMachine) {
  auto table = parse_csv(load_text(DDPSIM_SOURCE_DIR "/measurements/deepep/h800.csv", "rows"), "rows", "");
  for (const auto& row : table.rows) {
    auto number = [&](const char* column) { return std::stod(row[table.column(column)].text); };
    auto times = of_h800(table, row);
    int nodes = static_cast<int>(number("nodes"));
    // Bytes that a bandwidth is of; a row of 7,168 values.
    double copies = number("tokens") * (nodes == 1 ? reached(8, 8) : reached(std::min(nodes, 4), 8));
    bool is_rate = row[table.column("unit")].text == "GB/s";
    auto error = [&](Seconds time, const char* kind, double bytes) {
      double measured = is_rate ? copies * bytes / number(kind) / 1e3 : number(kind);
      return us(time) / measured - 1;
    };
    double dispatch = error(times.dispatch, "dispatch", 7392);
    double combine = error(times.combine, "combine", 14336);
    std::printf("%s, %d nodes: dispatch %+.1f %%, combine %+.1f %%\n",
                row[table.column("kernel")].text.c_str(), nodes, 100 * dispatch, 100 * combine);
    EXPECT_LT(std::abs(dispatch), 0.15);
    EXPECT_LT(std::abs(combine), is_rate ? 0.40 : 0.30);
  }
}

}  // namespace
}  // namespace ddpsim::testing
