// Slurm's topology.conf as the tree of a fabric.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/topology/import/slurm_topology.hpp"

#include "tests/support/errors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim::testing {
namespace {

using ::testing::ElementsAre;

SlurmTree read(const std::string& text) {
  TemporaryFolder folder;
  return read_slurm_topology(folder.write("topology.conf", text));
}

std::vector<std::string> hosts(const std::string& list) {
  return slurm_hosts({list, whole_file(make_source("list", list))});
}

TEST(ImportSlurm, Hosts) {
  EXPECT_THAT(hosts("a,b"), ElementsAre("a", "b"));
  EXPECT_THAT(hosts("node[08-11]"), ElementsAre("node08", "node09", "node10", "node11"));
  EXPECT_THAT(hosts("n[1-2,5]x,gpu[3]"), ElementsAre("n1x", "n2x", "n5x", "gpu3"));
}

// Three leaves of four nodes and one of two below a spine: 14 nodes.
TEST(ImportSlurm, LeavesAndASpine) {
  auto tree = read(
      "# comment\n"
      "SwitchName=s0 Nodes=n[0-3]\n"
      "switchname=s1 nodes=n[4-7]  LinkSpeed=100 # another\n"
      "SwitchName=s2 Nodes=n8,n9,n1[0-1]\n"
      "\n"
      "SwitchName=s3 Nodes=n[12-13]\n"
      "SwitchName=top Switches=s[0-3]\n");
  EXPECT_EQ(tree.nodes, 14);
  EXPECT_EQ(tree.levels, 2);
  EXPECT_EQ(tree.nodes_per_leaf, 4);
  EXPECT_THAT(tree.ignored, ElementsAre("LinkSpeed"));
}

TEST(ImportSlurm, Pods) {
  auto tree = read(
      "SwitchName=top Switches=pod[0-1]\n"
      "SwitchName=pod0 Switches=a,b\n"
      "SwitchName=pod1 Switches=c\n"
      "SwitchName=a Nodes=n[0-1]\nSwitchName=b Nodes=n[2-3]\nSwitchName=c Nodes=n[4-5]\n");
  EXPECT_EQ(tree.nodes, 6);
  EXPECT_EQ(tree.levels, 3);
  EXPECT_EQ(tree.nodes_per_leaf, 2);
  EXPECT_EQ(tree.leaves_per_pod, 2);
  EXPECT_EQ(read("SwitchName=one Nodes=n[0-6]\n").levels, 1);
}

TEST(ImportSlurm, Refusals) {
  auto refused = [](const std::string& text) { return input_error([&] { read(text); }); };
  for (auto [text, message] : std::vector<std::pair<std::string, std::string>>{
           {"# nothing\n", "no line begins with SwitchName="},
           {"SwitchName=a Nodes\n", "'Nodes' is no KEY=VALUE"},
           {"Nodes=n[0-3]\n", "a line without SwitchName"},
           {"SwitchName= Nodes=n0\n", "a line without SwitchName"},
           {"SwitchName=a\n", "switch a has nothing below it"},
           {"SwitchName=a Nodes=n0 Switches=b\n", "switch a has nodes and switches below it"},
           {"SwitchName=a Nodes=n0\nSwitchName=a Nodes=n1\n", "switch a stands there twice"},
           {"SwitchName=a Nodes=n[0-3],n2\n", "n2 is below two switches"},
           {"SwitchName=a Switches=b\n", "there is no line of switch b"},
           {"SwitchName=a Switches=b\nSwitchName=b Switches=a\n", "every switch is below another one"},
           {"SwitchName=t Switches=a,p\nSwitchName=p Switches=b\nSwitchName=a Nodes=n0\nSwitchName=b "
            "Nodes=n1\n",
            "below t some switches have 1 levels and some 2"}})
    EXPECT_THAT(refused(text), ::testing::HasSubstr(message)) << text;
  for (const char* list :
       {"", "a,,b", "n[0-", "n]0[", "n[3-1]", "n[a-b]", "n[]", "n[1-2][3-4]", "n[1-1234567890]"})
    EXPECT_THAT(input_error([&] { hosts(list); }), ::testing::HasSubstr("is no list of hosts")) << list;
}

}  // namespace
}  // namespace ddpsim::testing
