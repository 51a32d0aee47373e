// The two networks share bandwidth alike: random flows end at the same times on SimGrid and on FluidNetwork,
// and a flow that is cancelled leaves its links at once on either.
#include "sim/replay/network.hpp"

#include <random>

#include <gtest/gtest.h>

#include "sim/base/check.hpp"
#include "sim/collective/fluid_network.hpp"

namespace ddpsim::testing {
namespace {

struct RandomFlow {
  Seconds start;
  std::vector<int> route;
  Bytes bytes;
};

std::vector<Seconds> ends_on(FlowNetwork& network, const std::vector<RandomFlow>& flows,
                             const std::function<void()>& run) {
  std::vector<Seconds> ends(flows.size());
  for (std::size_t i = 0; i < flows.size(); ++i)
    network.after(flows[i].start, [&, i] {
      network.transfer(flows[i].route, flows[i].bytes, [&, i] { ends[i] = network.now(); });
    });
  run();
  return ends;
}

class RandomFlows : public ::testing::TestWithParam<unsigned> {};

TEST_P(RandomFlows, EndAtTheSameTimesOnBothNetworks) {
  std::mt19937 random(GetParam());
  auto whole = [&](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
  std::vector<BytesPerSecond> capacities;
  for (int link = whole(1, 8); link > 0; --link) capacities.push_back(BytesPerSecond(1e9 * whole(1, 30)));
  std::vector<RandomFlow> flows;
  for (int flow = whole(2, 40); flow > 0; --flow) {
    RandomFlow f{Seconds(1e-4 * whole(0, 20)), {}, Bytes(1e5 * whole(1, 50))};
    int last = static_cast<int>(capacities.size()) - 1;
    for (int hop = whole(1, 3); hop > 0; --hop) f.route.push_back(whole(0, last));
    flows.push_back(f);
  }
  FluidNetwork fluid(capacities);
  auto expected = ends_on(fluid, flows, [&] { fluid.run(); });
  auto simulated = make_simgrid_network(Bytes(1e8));
  for (auto capacity : capacities) simulated->add_link(capacity);
  auto ends = ends_on(*simulated, flows, [&] { simulated->run(); });
  for (std::size_t i = 0; i < flows.size(); ++i)
    EXPECT_NEAR(ends[i].value(), expected[i].value(), 1e-9 * expected[i].value()) << "flow " << i;
}

// A has 2 GB on a link of 1 GB/s, B 1 GB on another such link. When B arrives, after 1 s, A is cancelled with
// 1 GB left, which is sent again over the same link: it is alone there, and arrives at 2 s. A collective
// whose pace changes when another one ends does just that.
void cancel_in_a_completion(Network& network) {
  int a = network.add_link(BytesPerSecond(1e9)), b = network.add_link(BytesPerSecond(1e9));
  int route_a[] = {a}, route_b[] = {b};
  Seconds arrived;
  network.after(Seconds(0), [&] {
    int first =
        network.transfer(route_a, Bytes(2e9), [] { ADD_FAILURE() << "cancelled, and yet it arrived"; });
    network.transfer(route_b, Bytes(1e9), [&, first] {
      Bytes left = network.cancel(first);
      EXPECT_NEAR(left.value(), 1e9, 1);
      network.transfer(route_a, left, [&] { arrived = network.now(); });
    });
  });
  network.run();
  EXPECT_NEAR(arrived.value(), 2, 1e-9);
}

TEST(CancelledFlow, LeavesItsLinksAtOnceInTheBuiltinNetwork) {
  cancel_in_a_completion(*make_builtin_network(Bytes(2e9)));
}

TEST(CancelledFlow, LeavesItsLinksAtOnceInSimGrid) {
  cancel_in_a_completion(*make_simgrid_network(Bytes(2e9)));
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomFlows, ::testing::Range(1U, 31U));

}  // namespace
}  // namespace ddpsim::testing
