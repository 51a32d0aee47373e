// Max-min sharing and time on a FluidNetwork. Capacities in B/s, all instants by hand.
#include "sim/collective/fluid_network.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/check.hpp"

namespace ddpsim {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

class FluidNetworkOf : public ::testing::Test {
 protected:
  explicit FluidNetworkOf(std::vector<BytesPerSecond> capacities) : links(std::move(capacities)) {}
  int send(std::vector<int> route, double bytes, const std::string& name = "") {
    return network.transfer(route, Bytes(bytes), [this, name] { note(name); });
  }
  void set_timer(double delay, const std::string& name) {
    network.after(Seconds(delay), [this, name] { note(name); });
  }
  void note(const std::string& name) {
    events.push_back(name);
    times.push_back(network.now().value());
  }
  double left(int flow) { return network.remaining(flow).value(); }

  std::vector<BytesPerSecond> links;
  FluidNetwork network{links};
  std::vector<std::string> events;
  std::vector<double> times;
};

// Links 0, 1, 2 of 10, 6 and 20 B/s.
class FluidNetworkTest : public FluidNetworkOf {
 protected:
  FluidNetworkTest() : FluidNetworkOf({BytesPerSecond(10), BytesPerSecond(6), BytesPerSecond(20)}) {}
};

// 5 B/s each until t = 2, when the first 10 B are through; the other has 20 of its 30 B left, at 10 B/s.
TEST_F(FluidNetworkTest, TwoFlowsOnOneLink) {
  send({0}, 30, "long");
  send({0}, 10, "short");
  network.run();
  EXPECT_THAT(events, ElementsAre("short", "long"));
  EXPECT_THAT(times, ElementsAre(2, 4));
}

// Bertsekas and Gallager's example in small. Link 1 is the tightest: 6 / 3 = 2 B/s for the long flow and the
// two that share that link with it. Of link 0 that leaves 8 B/s for its own flow, of link 2 18 B/s.
TEST_F(FluidNetworkTest, ALongFlowAndShortOnes) {
  int everywhere = send({0, 1, 2}, 100);
  int on_0 = send({0}, 100);
  int on_1 = send({1}, 100);
  int also_on_1 = send({1}, 100);
  int on_2 = send({2}, 100);
  network.run(Seconds(1));
  EXPECT_DOUBLE_EQ(left(everywhere), 98);
  EXPECT_DOUBLE_EQ(left(on_0), 92);
  EXPECT_DOUBLE_EQ(left(on_1), 98);
  EXPECT_DOUBLE_EQ(left(also_on_1), 98);
  EXPECT_DOUBLE_EQ(left(on_2), 82);
}

// A flow that goes twice over link 0 counts as two there: 10 / 3 B/s each, and 10 / 2 when it is alone. The
// other's 10 B end at t = 3; 15 - 10 B are left then, for another second.
TEST_F(FluidNetworkTest, ALinkListedTwice) {
  send({0, 1, 0}, 15, "twice");
  send({0}, 10, "once");
  network.run();
  EXPECT_THAT(events, ElementsAre("once", "twice"));
  EXPECT_DOUBLE_EQ(times[0], 3);
  EXPECT_DOUBLE_EQ(times[1], 4);
}

// From t = 1 on, 5 B/s each: 10 of 20 B are sent, the other 10 last until 3; the 30 B of the second until
// 1 + 2 + 20 / 10.
TEST_F(FluidNetworkTest, AFlowThatComesLater) {
  send({0}, 20, "first");
  network.after(Seconds(1), [this] { send({0}, 30, "second"); });
  network.run();
  EXPECT_THAT(events, ElementsAre("first", "second"));
  EXPECT_THAT(times, ElementsAre(3, 5));
}

TEST_F(FluidNetworkTest, StopsAnywhere) {
  int flow = send({0}, 20, "first");
  int other = send({0}, 40, "second");
  network.run(Seconds(1.5));
  EXPECT_EQ(network.now(), Seconds(1.5));
  EXPECT_DOUBLE_EQ(left(flow), 12.5);
  EXPECT_DOUBLE_EQ(left(other), 32.5);
  network.run(Seconds(1.5));
  EXPECT_DOUBLE_EQ(left(flow), 12.5);
  // The first ends at 4, the second at 4 + 20 / 10.
  network.run(Seconds(5));
  EXPECT_THAT(times, ElementsAre(4));
  EXPECT_DOUBLE_EQ(left(other), 10);
  EXPECT_THROW(static_cast<void>(network.remaining(flow)), InternalError);
  network.run();
  EXPECT_THAT(events, ElementsAre("first", "second"));
  EXPECT_THAT(times, ElementsAre(4, 6));
}

// What ends or is due exactly then has happened; what starts then has not moved.
TEST_F(FluidNetworkTest, StopsAtAnEvent) {
  int next = -1;
  network.transfer(std::vector{0}, Bytes(20), [&] { next = send({1}, 12, "next"); });
  set_timer(2, "timer");
  network.run(Seconds(2));
  EXPECT_THAT(events, ElementsAre("timer"));
  EXPECT_EQ(left(next), 12);
  network.run();
  EXPECT_THAT(times, ElementsAre(2, 4));
}

// Link 1 is the tighter, 3 B/s for b and c: c ends at 1, and so does a with the 7 B/s that are left of link
// 0. Then b has 2 of its 5 B left, at 6 B/s.
TEST_F(FluidNetworkTest, StoppingOftenChangesNothing) {
  send({0}, 7, "a");
  send({0, 1}, 5, "b");
  send({1}, 3, "c");
  for (int i = 1; i < 60; ++i) network.run(Seconds(i / 37.0));
  EXPECT_THAT(events, ElementsAre("a", "c", "b"));
  EXPECT_THAT(times, ElementsAre(DoubleNear(1, 1e-12), DoubleNear(1, 1e-12), DoubleNear(4.0 / 3, 1e-12)));
}

// 0.1 + 0.2 and 0.3 are different doubles but one instant: both flows end in it.
TEST_F(FluidNetworkTest, SimultaneousEnds) {
  send({0}, 3, "a");
  network.after(Seconds(0.1), [this] { send({2}, 4, "b"); });
  network.run();
  EXPECT_THAT(events, ElementsAre("a", "b"));
  EXPECT_EQ(times[0], times[1]);
}

// Both have arrived at t = 2; before the second's turn comes the first ends it, and sends another in its
// place.
TEST_F(FluidNetworkTest, AFlowThatHasJustArrivedCanBeEnded) {
  int other = -1;
  double rest = -1;
  network.transfer(std::vector{0}, Bytes(20), [&] {
    note("first");
    rest = left(other);
    network.cancel(other);
    send({1}, 6, "in its place");
  });
  other = send({1}, 12, "second");
  network.run();
  EXPECT_EQ(rest, 0);
  EXPECT_THAT(events, ElementsAre("first", "in its place"));
  EXPECT_THAT(times, ElementsAre(2, 3));
}

// At one instant flows end in the order they started, then timers in the order they were set.
TEST_F(FluidNetworkTest, TimersAndFlowsAtOneInstant) {
  set_timer(2, "timer");
  send({0}, 20, "flow on 0");
  send({1}, 12, "flow on 1");
  set_timer(2, "another timer");
  set_timer(0, "at once");
  network.run();
  EXPECT_THAT(events, ElementsAre("at once", "flow on 0", "flow on 1", "timer", "another timer"));
  EXPECT_THAT(times, ElementsAre(0, 2, 2, 2, 2));
}

// An empty message ends when it starts.
TEST_F(FluidNetworkTest, NoBytes) {
  network.after(Seconds(1), [this] { send({0}, 0, "empty"); });
  send({0}, 20, "full");
  network.run();
  EXPECT_THAT(events, ElementsAre("empty", "full"));
  EXPECT_THAT(times, ElementsAre(1, 2));
}

TEST_F(FluidNetworkTest, NothingToDo) {
  network.run();
  EXPECT_EQ(network.now(), Seconds(0));
  network.run(Seconds(3));
  EXPECT_EQ(network.now(), Seconds(3));
}

TEST_F(FluidNetworkTest, WhatMakesNoSense) {
  EXPECT_THROW(send({}, 1), InternalError);
  EXPECT_THROW(set_timer(-1e-9, ""), InternalError);
}

// 100 flows over 3 of 20 links each: no link is over-full, and each flow has a full link on which nobody is
// faster, which is what max-min fair means.
TEST(FluidNetworkProperty, MaxMinFair) {
  std::vector<BytesPerSecond> links;
  for (int l = 0; l < 20; ++l) links.emplace_back(10 + 7 * l % 11);
  FluidNetwork network(links);
  auto route_of = [](int f) { return std::vector{f % 20, (f * 7 + 3) % 20, (f * f) % 20}; };
  for (int f = 0; f < 100; ++f) network.transfer(route_of(f), Bytes(1000), [] {});
  network.run(Seconds(1));
  std::vector<double> rates, load(20, 0), fastest(20, 0);
  for (int f = 0; f < 100; ++f) {
    rates.push_back(1000 - network.remaining(f).value());
    for (int link : route_of(f)) {
      load[link] += rates[f];
      fastest[link] = std::max(fastest[link], rates[f]);
    }
  }
  for (int l = 0; l < 20; ++l) EXPECT_LE(load[l], links[l].value() * (1 + 1e-9));
  for (int f = 0; f < 100; ++f) {
    bool has_bottleneck = false;
    for (int link : route_of(f))
      has_bottleneck = has_bottleneck || (load[link] >= links[link].value() * (1 - 1e-9) &&
                                          rates[f] >= fastest[link] * (1 - 1e-9));
    EXPECT_TRUE(has_bottleneck) << f;
  }
}

}  // namespace
}  // namespace ddpsim
