// Collectives of every operation over the links of a cluster: alone what their cost says, in company longer.
#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "sim/cost/collective_cost.hpp"
#include "sim/cost/nccl_communicator.hpp"
#include "sim/replay/network.hpp"
#include "sim/replay/replay.hpp"

#include "tests/engine/nccl_scenarios.hpp"

namespace ddpsim::testing {
namespace {

constexpr Bytes kBuffer(400e6);

// Groups of GPUs that share NICs, and what each of them does once.
struct Groups {
  std::string topology;
  int gpus;
  std::vector<std::vector<int>> members;
  std::vector<Operation> each;
  bool under_nccl = true;

  [[nodiscard]] std::shared_ptr<Communication> communication() const {
    auto known = topology_of(topology);
    auto made = std::make_shared<Communication>();
    made->cluster = known->build(gpus);
    made->options.channels = std::nullopt;
    made->groups = members;
    for (std::size_t g = 0; g < members.size(); ++g) made->labels.push_back(static_cast<int>(g));
    auto& operations = made->axes.front().operations;
    for (auto operation : each)
      if (std::find(operations.begin(), operations.end(), operation) == operations.end())
        operations.push_back(operation);
    if (under_nccl)
      for (const auto& group : members)
        made->nccl.push_back(std::make_shared<const NcclModel>(
            *made->cluster, group, nccl_communicator(*made->cluster, group, *known->nccl), nccl::Allowed{},
            nccl::Calibration{}));
    fold_traffic(*made);
    return made;
  }

  // How long each takes, all launched at once.
  [[nodiscard]] std::vector<double> durations() const {
    auto made = communication();
    auto costs = group_costs(made);
    std::vector<Program> programs(members.size());
    std::vector<ReplayedClass> classes;
    std::vector<ReplayedCommunicator> communicators(members.size());
    for (std::size_t g = 0; g < members.size(); ++g) {
      Op op;
      op.kind = Op::Kind::collective;
      op.activity = Activity::all_reduce;
      op.operation = each[g];
      op.bytes = kBuffer;
      programs[g].ops.push_back(op);
      classes.push_back({&programs[g], 1, Seconds(0), {g}});
    }
    for (std::size_t f = 0; f < costs.size(); ++f)
      for (auto g : costs[f].groups)
        communicators[g].groups = {{costs[f].cost.get(), &made->folded->groups[f].plan}};
    auto network = make_builtin_network(2 * kBuffer);
    auto result = replay(classes, communicators, {}, *network,
                         {Fidelity::lazy, made->folded->links, {}, {}, 2 * kBuffer});
    std::vector<double> times;
    for (const auto& spans : result.communication)
      times.push_back((spans.at(0).end - spans.at(0).start).value());
    return times;
  }

  [[nodiscard]] std::vector<double> alone() const {
    auto made = communication();
    auto costs = group_costs(made);
    std::vector<double> times(members.size());
    for (auto& cost : costs)
      for (auto g : cost.groups) times[g] = cost.cost->alone(each[g], kBuffer).idle.value();
    return times;
  }
};

const std::vector<int> kEven{0, 2, 4, 6}, kOdd{1, 3, 5, 7};

class EachOperation : public ::testing::TestWithParam<Operation> {};
INSTANTIATE_TEST_SUITE_P(All, EachOperation,
                         ::testing::Values(Operation::all_reduce, Operation::all_gather,
                                           Operation::reduce_scatter, Operation::broadcast, Operation::reduce,
                                           Operation::all_to_all),
                         [](const auto& test) { return std::string(operation_name(test.param)); });

// One group on links of its own: the simulation takes what the closed form says.
TEST_P(EachOperation, AloneTakesWhatItsCostSays) {
  for (bool under_nccl : {true, false}) {
    Groups one{kSharedNics, 8, {kEven}, {GetParam()}, under_nccl};
    EXPECT_NEAR(one.durations()[0] / one.alone()[0], 1, 1e-9) << under_nccl;
  }
}

// Beside another group over the same NICs it takes longer than alone, and never longer than both one after
// the other.
TEST_P(EachOperation, BesideAnotherJobTakesLonger) {
  for (auto other : {Operation::all_gather, Operation::reduce_scatter, Operation::all_reduce})
    for (bool under_nccl : {true, false}) {
      Groups two{kSharedNics, 8, {kEven, kOdd}, {GetParam(), other}, under_nccl};
      Groups first{kSharedNics, 8, {kEven}, {GetParam()}, under_nccl};
      Groups second{kSharedNics, 8, {kOdd}, {other}, under_nccl};
      auto times = two.durations();
      double one = first.alone()[0], both = one + second.alone()[0];
      auto where = std::string(operation_name(other)) + (under_nccl ? " nccl" : "");
      EXPECT_GT(times[0], one * (1 + 1e-6)) << where;
      EXPECT_LE(std::max(times[0], times[1]), both * (1 + 1e-9)) << where;
    }
}

// Plain rings over NICs of 25 GB/s that two groups share: a reduce-scatter of 400 MB sends 300 MB a NIC, 12
// ms alone and 24 ms beside another's all-gather of as many bytes, less the latency of its few steps.
TEST(Operations, ScatterAndGatherShareNics) {
  Groups two{kSharedNics, 8, {kEven, kOdd}, {Operation::reduce_scatter, Operation::all_gather}, false};
  for (double time : two.durations()) EXPECT_NEAR(time, 24e-3, 0.2e-3);
  Groups one{kSharedNics, 8, {kEven}, {Operation::reduce_scatter}, false};
  EXPECT_NEAR(one.durations()[0], 12e-3, 0.1e-3);
}

// Four ranks, a NIC of 25 GB/s each: three quarters of 400 MB leave every NIC.
TEST(Operations, AllToAllTakesWhatTheNicsTake) {
  Groups one{kSharedNics, 8, {kEven}, {Operation::all_to_all}, false};
  EXPECT_NEAR(one.alone()[0], 12e-3, 0.05e-3);
}

}  // namespace
}  // namespace ddpsim::testing
