// Recordings as files: what a small one says, and what is wrong with broken ones.
#include "sim/text/recording_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddpsim::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const std::string kHeader =
    R"({"kind":"recording","version":1,"torch":"2.15.0","script":["train.py","--mode","fsdp2"],"world_size":64,"rank":1,"gpus_per_node":8,"gpu":"h100-sxm","step":3,)"
    R"("tf32":{"matmul":false,"cudnn":true},"inputs":[[[[8,1024],"int64"]]],"memory":{"peak":1536,"at_peak":{"parameters":1024,"activations":512}},)"
    R"("notes":[{"code":"host-read","text":"a value was read","times":2}],"groups":[{"name":"world","first":0,"stride":1,"count":64},{"name":"","ranks":[0,1,3]}],)"
    R"("parameters":[["up.weight",[4096,1024],65536,"float32",true]],"modules":["","up"]})"
    "\n";
const std::string kItems =
    R"({"allocate":0,"bytes":1000,"holds":"parameters"})"
    "\n"
    R"({"operator":"addmm","dtype":"bfloat16","flops":16,"shapes":[[3072],[8192,768],[768,3072]],"read":17,"written":5,"phase":"forward","module":1,"causal":true,"stream":2})"
    "\n"
    R"({"collective":"all_gather","group":0,"bytes":128,"dtype":"bfloat16","phase":"backward","module":1,"on":[1],"stream":2})"
    "\n"
    R"({"wait":[2]})"
    "\n"
    R"({"host":"item","on":[1,3]})"
    "\n"
    R"({"collective":"send","group":1,"bytes":4,"phase":"forward","on":[],"peer":3})"
    "\n"
    R"({"gradient":0})"
    "\n"
    R"({"free":0})"
    "\n";

Recording read(const std::string& text) {
  return read_recording(LoadedText{make_source("step.jsonl", text), text});
}

TEST(RecordingFile, SaysWhatWasRecorded) {
  auto recording = read(kHeader + kItems);
  EXPECT_EQ(recording.torch, "2.15.0");
  EXPECT_EQ(recording.world_size, 64);
  EXPECT_EQ(recording.rank, 1);
  EXPECT_EQ(recording.gpu, "h100-sxm");
  EXPECT_FALSE(recording.matmul_in_tf32);
  EXPECT_TRUE(recording.cudnn_in_tf32);
  ASSERT_EQ(recording.inputs.size(), 1U);
  EXPECT_EQ(recording.inputs[0].shape, (std::vector<std::int64_t>{8, 1024}));
  EXPECT_EQ(recording.inputs[0].dtype, "int64");
  ASSERT_EQ(recording.groups.size(), 2U);
  EXPECT_EQ(recording.groups[0].count, 64);
  EXPECT_EQ(recording.groups[1].ranks, (std::vector<int>{0, 1, 3}));
  EXPECT_EQ(recording.parameters[0].elements, 65536);
  EXPECT_EQ(recording.notes, std::vector<std::string>{"a value was read"});
  ASSERT_EQ(recording.items.size(), 8U);
  const auto& op = std::get<RecordedOperator>(recording.items[1]);
  EXPECT_EQ(op.name, "addmm");
  EXPECT_EQ(op.flops, 16);
  EXPECT_EQ(op.shapes[2], (std::vector<std::int64_t>{768, 3072}));
  EXPECT_TRUE(op.is_causal);
  EXPECT_EQ(op.stream, 2U);
  const auto& gather = std::get<LaunchedCollective>(recording.items[2]);
  EXPECT_EQ(gather.operation, Operation::all_gather);
  EXPECT_EQ(gather.phase, RecordedPhase::backward);
  EXPECT_EQ(gather.bytes, Bytes(128));
  EXPECT_EQ(gather.on, std::vector<std::size_t>{1});
  EXPECT_EQ(std::get<RecordedWait>(recording.items[3]).on, std::vector<std::size_t>{2});
  EXPECT_EQ(std::get<RecordedStop>(recording.items[4]).what, "item");
  EXPECT_TRUE(std::get<LaunchedCollective>(recording.items[5]).is_send);
  EXPECT_TRUE(recording.is_of_ddp());
  EXPECT_EQ(recording.micro_batches(), 1);
}

// By `gzip`, which made the file of the repository's measurements.
TEST(RecordingFile, IsTheSameCompressed) {
  auto recording = read_recording(std::string(DDPSIM_SOURCE_DIR) +
                                  "/measurements/recorded/fsdp2-mixed-large-4x1024.jsonl.gz");
  EXPECT_EQ(recording.world_size, 8);
  EXPECT_EQ(recording.groups.size(), 1U);
  std::int64_t elements = 0;
  for (const auto& one : recording.parameters)
    if (one.name.find("words") == std::string::npos) elements += one.elements;
  EXPECT_NEAR(static_cast<double>(elements), (775340800.0 - 50257 * 1280) / 8, 1e5);
}

TEST(RecordingFile, SaysWhereItIsBroken) {
  struct Case {
    std::string text, message;
  };
  auto header_with = [](const std::string& from, const std::string& to) {
    auto text = kHeader;
    text.replace(text.find(from), from.size(), to);
    return text + kItems;
  };
  const std::vector<Case> cases{
      {"{\"traceEvents\": []}", "this is no recording"},
      {"[1]", "this is no recording"},
      {kHeader, "the recording has no operators"},
      {kHeader + kItems + "{\"wait\":[9]", "step.jsonl:10:"},
      {kHeader + kItems + "{\"wait\":[8]}", "item 8 does not come before this one"},
      {kHeader + kItems + "{\"wait\":[0]}", "item 0 is no operator, collective or wait"},
      {kHeader + kItems + "{\"free\":0}", "storage 0 is not there"},
      {kHeader + kItems + "{\"sleep\":1}", "an item is an operator"},
      {kHeader + kItems + R"({"collective":"all_gatter","group":0,"phase":"forward","on":[]})",
       "did you mean 'all_gather'"},
      {kHeader + kItems + R"({"collective":"all_gather","group":2,"phase":"forward","on":[]})",
       "step.jsonl:10:36"},
      {kHeader + kItems + R"({"operator":"mm","read":1,"written":1,"phase":"forwards"})",
       "did you mean 'forward'"},
      {kHeader + kItems + R"({"operator":"mm","read":-1,"written":1,"phase":"forward"})", "step.jsonl:10:"},
      {kHeader + kItems + R"({"operator":"mm","read":"many","written":1,"phase":"forward"})",
       "a number is expected"},
      {kHeader + kItems + R"({"operator":"mm","written":1,"phase":"forward"})", "no 'read' in this object"},
      {header_with("\"version\":1", "\"version\":2"), "version 2 of recordings"},
      {header_with("\"count\":64", "\"count\":65"), "step.jsonl:1:"},
      {header_with("\"stride\":1", "\"stride\":2"), "rank 126 in a job of 64"},
      {header_with("\"rank\":1", "\"rank\":64"), "step.jsonl:1:"},
      {header_with("\"float32\",true]", "\"float32\"]"), "a parameter has name"}};
  for (const auto& [text, message] : cases)
    EXPECT_THAT([&text = text] { read(text); }, ThrowsMessage<InputError>(HasSubstr(message)));
}

}  // namespace
}  // namespace ddpsim::testing
