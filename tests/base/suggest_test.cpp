#include "sim/base/suggest.hpp"

#include <gtest/gtest.h>

namespace ddpsim {
namespace {

const std::vector<std::string> kKeys{"bucket_cap", "first_bucket_cap", "torch", "channels"};

TEST(Closest, OneEditOfEachKind) {
  EXPECT_EQ(closest("bucketcap", kKeys), "bucket_cap");    // one left out
  EXPECT_EQ(closest("bucket__cap", kKeys), "bucket_cap");  // one too many
  EXPECT_EQ(closest("bucket-cap", kKeys), "bucket_cap");   // one replaced
  EXPECT_EQ(closest("trch", kKeys), "torch");
  EXPECT_EQ(closest("tocrh", kKeys), "torch");  // neighbours swapped: one edit, of at most 5 / 3
}

// A third of the longer word: 3 edits of the 8 letters of "channels" are too many, 2 are not.
TEST(Closest, AtMostAThirdOfTheWord) {
  EXPECT_EQ(closest("chaxxels", kKeys), "channels");
  EXPECT_EQ(closest("chxxxels", kKeys), std::nullopt);
  EXPECT_EQ(closest("xy", kKeys), std::nullopt);
  EXPECT_EQ(closest("", kKeys), std::nullopt);
  EXPECT_EQ(closest(std::string(101, 'c'), kKeys), std::nullopt);
}

TEST(Closest, APrefixIsClose) {
  EXPECT_EQ(closest("bucket_cap_mb", kKeys), "bucket_cap");
  EXPECT_EQ(closest("first", kKeys), "first_bucket_cap");
  EXPECT_EQ(closest("fi", kKeys), std::nullopt);  // two letters say too little
}

TEST(Closest, TiesGoToTheFirst) {
  const std::vector<std::string> words{"nodes", "notes"};
  EXPECT_EQ(closest("noxes", words), "nodes");
  const std::vector<std::string> none;
  EXPECT_EQ(closest("nodes", none), std::nullopt);
}

TEST(DidYouMean, TextOrNothing) {
  EXPECT_EQ(did_you_mean("torhc", kKeys), "; did you mean 'torch'?");
  EXPECT_EQ(did_you_mean("latency", kKeys), "");
}

}  // namespace
}  // namespace ddpsim
