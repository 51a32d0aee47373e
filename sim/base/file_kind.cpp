#include "sim/base/file_kind.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/input_file.hpp"
#include "sim/base/source.hpp"

namespace ddpsim {
namespace {

using Head = std::string_view;

bool has(Head head, std::string_view text) {
  return head.find(text) != std::string_view::npos;
}

// The text from its first character on.
Head text_of(Head head) {
  if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
  return head.substr(std::min(head.find_first_not_of(" \t\r\n"), head.size()));
}

// "[1,0]<stdout>:" and "[4m" also begin lines.
bool is_json(Head head) {
  auto text = text_of(head);
  if (text.starts_with('{')) return true;
  return text.starts_with('[') &&
         (text_of(text.substr(1)).starts_with('{') || text_of(text.substr(1)).starts_with('"'));
}

// Whether a line begins so.
bool has_line(Head head, std::string_view begin) {
  if (text_of(head).starts_with(begin)) return true;
  for (auto at = head.find(begin); at != std::string_view::npos; at = head.find(begin, at + 1))
    if (at > 0 && head[at - 1] == '\n') return true;
  return false;
}

// A key of a map, at its outermost level in YAML's block style.
bool has_key(Head head, std::string_view key) {
  return is_json(head) ? has(head, fmt::format("\"{}\"", key)) : has_line(head, fmt::format("{}:", key));
}

bool is_of_kind(Head head, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return has_line(head, fmt::format("kind: {}", word)); });
}

bool has_columns_of_gpus(Head head) {
  return has(head, "GPU0") && !is_json(head);
}

constexpr std::string_view kProfilerTrace = "a trace of the PyTorch profiler", kScenario = "a scenario",
                           kTopology = "a topology", kModel = "a model", kLayerTrace = "a layer trace",
                           kTimes = "a table of collective times",
                           kRecording = "a table of recorded collectives",
                           kAllReduces = "an all-reduce table", kMegatronArgs = "Megatron-LM's arguments",
                           kAccelerate = "Accelerate's configuration", kDsConfig = "a ds_config.json",
                           kGpu = "a GPU", kSoftware = "software", kXml = "NCCL's topology as XML",
                           kSlurm = "Slurm's topology.conf", kMatrix = "the output of nvidia-smi topo -m",
                           kPeers = "the output of nvidia-smi topo -p2p r",
                           kRocm = "the output of rocm-smi --showtopo", kSizes = "a table of layer sizes",
                           kOperators = "a table of operators", kTensors = "a table of tensors",
                           kTrainingLog = "a training log", kNcclLog = "a log of NCCL",
                           kLayerTimes = "a table of layer times", kComputeTimes = "a table of compute times",
                           kIterations = "a table of measured iterations", kRecordedStep = "a recording";

constexpr std::string_view kImport = "ddpsim topology import FILE --out topology.yaml",
                           kTraceImport = "ddpsim trace import FILE --out trace.csv";

// Binary ones first, then what only one program writes, then what is told by a key or two.
const std::vector<FileKind>& kinds() {
  static const std::vector<FileKind> table{
      {"data of gzip",
       "pytorch-profiler",
       [](Head h) { return h.starts_with("\x1f\x8b"); },
       "gunzip it; of a trace of the PyTorch profiler: ddpsim trace import FILE --out trace.csv",
       {kProfilerTrace, kRecordedStep}},
      {kRecordedStep,
       "",
       [](Head h) { return has(h.substr(0, h.find('\n')), "\"kind\":\"recording\""); },
       "in a scenario workload: {recording: FILE}",
       {kRecordedStep}},
      {"an SQLite database",
       "",
       [](Head h) { return h.starts_with("SQLite format 3"); },
       "of Nsight Systems: profile with torch.profiler instead, whose trace is read: ddpsim trace import "
       "trace.json "
       "--out trace.csv",
       {}},
      {"an archive of zip, as torch.save writes it",
       "",
       [](Head h) { return h.starts_with("PK\x03\x04"); },
       "write what is in it as CSV or JSON",
       {}},
      {"a pickle of Python",
       "",
       [](Head h) { return h.size() > 2 && h[0] == '\x80' && h[1] >= 2 && h[1] <= 5; },
       "write what is in it as CSV or JSON",
       {}},
      {"a picture",
       "",
       [](Head h) { return h.starts_with("\x89PNG") || h.starts_with("\xff\xd8\xff"); },
       "is it the right file?",
       {}},
      {kLayerTrace,
       "",
       [](Head h) { return has_line(h, "# ddpsim-trace:"); },
       "ddpsim trace show FILE; in a scenario workload: {trace: FILE}",
       {kLayerTrace}},
      {kAllReduces,
       "",
       [](Head h) { return has_line(h, "# ddpsim-allreduce:"); },
       "in a scenario collective: {algorithm: measured, table: FILE}",
       {kAllReduces, kTimes}},
      {kRecording,
       "",
       [](Head h) { return has_line(h, "# ddpsim-recorded:"); },
       "ddpsim simulate SCENARIO --recorded FILE",
       {kRecording}},
      {kTopology,
       "",
       [](Head h) {
         return is_of_kind(h, {"ring", "cluster", "graph"});
       },
       "ddpsim topology show FILE; in a scenario cluster: {topology: FILE}",
       {kTopology}},
      {kModel,
       "",
       [](Head h) {
         return is_of_kind(h, {"transformer", "model"});
       },
       "in a scenario workload: {model: FILE}",
       {kModel}},
      {kGpu, "", [](Head h) { return is_of_kind(h, {"gpu"}); }, "in a scenario cluster: {gpu: FILE}", {kGpu}},
      {kSoftware,
       "",
       [](Head h) { return is_of_kind(h, {"software"}); },
       "in a scenario workload: {framework: FILE}",
       {kSoftware}},
      {kScenario,
       "",
       [](Head h) { return has_key(h, "workload") && has_key(h, "cluster"); },
       "ddpsim simulate FILE",
       {kScenario}},
      {"the results of a study",
       "",
       [](Head h) { return text_of(h).starts_with("{\"study\":"); },
       "ddpsim results merge FILE --out results.jsonl",
       {}},
      {"an execution trace of PyTorch (ExecutionTraceObserver)",
       "",
       [](Head h) {
         return is_json(h) && has(h, "\"schema\"") && has(h, "\"nodes\"") && !has(h, "\"traceEvents\"");
       },
       "profile the run with torch.profiler as well, whose trace has times: ddpsim trace import trace.json "
       "--out "
       "trace.csv",
       {}},
      {kProfilerTrace,
       "pytorch-profiler",
       [](Head h) {
         return is_json(h) && (has(h, "\"schemaVersion\"") || has(h, "\"traceEvents\"") || has(h, "\"ph\":"));
       },
       kTraceImport,
       {kProfilerTrace}},
      {"XML of NCCL",
       "nccl-xml",
       [](Head h) { return text_of(h).starts_with('<') && (has(h, "<system") || has(h, "<graphs")); },
       kImport,
       {kXml}},
      {kRocm,
       "rocm-smi",
       [](Head h) {
         return has(h, "ROCm System Management Interface") || has(h, "Link Type between two GPUs") ||
                has(h, "Weight between two GPUs") || has(h, "Hops between two GPUs");
       },
       kImport,
       {kRocm}},
      {kSlurm,
       "slurm",
       [](Head h) { return has_line(h, "SwitchName="); },
       "ddpsim topology import FILE --node dgx-h100 --out topology.yaml",
       {kSlurm}},
      {kMatrix,
       "nvidia-smi",
       [](Head h) { return has_columns_of_gpus(h) && has(h, "CPU Affinity"); },
       kImport,
       {kMatrix, kPeers}},
      {kPeers,
       "",
       [](Head h) { return has_columns_of_gpus(h) && (has(h, "Status Ok") || has(h, "CNS")); },
       "ddpsim topology import MATRIX --peer-to-peer FILE --out topology.yaml, with the matrix of nvidia-smi "
       "topo -m",
       {kPeers, kMatrix}},
      {"the output of nccl-tests",
       "",
       [](Head h) {
         return has(h, "# nThread ") || has(h, "# nccl-tests version ") ||
                has(h, "# Collective test starting: ");
       },
       "ddpsim calibrate FILE --topology NAME --out calibration.yaml",
       {kTimes, kNcclLog}},
      {kTrainingLog,
       "",
       [](Head h) {
         return has(h, "elapsed time per iteration (ms):") || has(h, "CurrSamplesPerSec=") ||
                has(h, "'train_runtime':") || has(h, "[titan]") || has(h, "{'loss':");
       },
       "ddpsim calibrate --step FILE SCENARIO --out software.yaml",
       {kTrainingLog, kNcclLog}},
      {kNcclLog,
       "",
       [](Head h) { return has(h, "NCCL INFO "); },
       "ddpsim topology nccl NAME --world-size RANKS --log FILE",
       {kNcclLog, kTrainingLog, kTimes}},
      {"a workload of ASTRA-sim or SimAI",
       "",
       [](Head h) {
         return text_of(h).starts_with("HYBRID_") || text_of(h).starts_with("DATA\n") ||
                text_of(h).starts_with("MODEL\n");
       },
       "name its model in a scenario: workload: {model: llama-2-7b, micro_batch: 1}; 'ddpsim init' begins "
       "one",
       {}},
      {"a script with Megatron-LM's flags",
       "",
       [](Head h) {
         return has(h, "--tensor-model-parallel-size") || (has(h, "--num-layers") && has(h, "--hidden-size"));
       },
       "ddpsim plan --megatron-args FILE --on superpod-h100; ddpsim calibrate --step LOG takes its log",
       {kMegatronArgs}},
      {"a script",
       "",
       [](Head h) { return text_of(h).starts_with("#!"); },
       "write what it trains as a scenario: 'ddpsim init' begins one; of Megatron-LM ddpsim plan "
       "--megatron-args FILE --on superpod-h100",
       {kMegatronArgs}},
      {"a model of Calculon",
       "",
       [](Head h) { return is_json(h) && has(h, "\"attn_heads\"") && has(h, "\"feedforward\""); },
       "write it as a model: {kind: transformer, hidden: ..., layers: NUM_BLOCKS, heads: ATTN_HEADS, ffn: "
       "FEEDFORWARD, vocab: ...}",
       {}},
      {"a configuration of DeepSpeed",
       "",
       [](Head h) {
         return is_json(h) &&
                (has(h, "\"zero_optimization\"") || has(h, "\"train_micro_batch_size_per_gpu\"") ||
                 has(h, "\"train_batch_size\""));
       },
       "ddpsim simulate SCENARIO --ds-config FILE; ddpsim plan MODEL --ds-config FILE --on "
       "superpod-h100 --gpus 64 --batch 512",
       {kDsConfig}},
      {"a model's config.json",
       "",
       [](Head h) {
         return is_json(h) &&
                (has(h, "\"model_type\"") || has(h, "\"architectures\"") || has(h, "\"num_hidden_layers\""));
       },
       "ddpsim plan FILE --on superpod-h100 --gpus 64 --batch 512; in a scenario workload: "
       "{model: FILE}",
       {kModel}},
      {"a configuration of Accelerate",
       "",
       [](Head h) { return has_key(h, "distributed_type"); },
       "ddpsim plan MODEL --accelerate FILE --on superpod-h100 --batch 512",
       {kAccelerate}},
      {kSizes,
       "layer-times",
       [](Head h) { return !is_json(h) && has(h, "No. Params"); },
       "ddpsim trace import FILE TIMES.csv --out layers.csv",
       {kSizes}},
      {kTensors,
       "",
       [](Head h) { return has(h.substr(0, h.find('\n')), "TensorID,") && has(h, "TensorNumElement"); },
       "ddpsim trace import OPERATORS.csv FILE --out layers.csv",
       {kTensors}},
      {kOperators,
       "operator-table",
       [](Head h) { return has(h.substr(0, h.find('\n')), ",OperatorName,"); },
       "ddpsim trace import FILE TENSORS.csv --out layers.csv",
       {kOperators}}};
  return table;
}

// Contents that files of these kinds are given for; others pass.
constexpr std::array kContents{
    kProfilerTrace, kScenario, kTopology,     kModel,        kLayerTrace, kTimes,       kRecording,
    kAllReduces,    kDsConfig, kMegatronArgs, kAccelerate,   kGpu,        kSoftware,    kXml,
    kSlurm,         kMatrix,   kPeers,        kRocm,         kSizes,      kOperators,   kTensors,
    kTrainingLog,   kNcclLog,  kLayerTimes,   kComputeTimes, kIterations, kRecordedStep};

// As a shell takes it.
std::string quoted(const std::string& path) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-:,@%=";
  return path.find_first_not_of(kPlain) == std::string::npos ? path : "'" + path + "'";
}

}  // namespace

const FileKind* kind_of(std::string_view head) {
  head = head.substr(0, kKindBytes);
  auto found =
      std::find_if(kinds().begin(), kinds().end(), [&](const FileKind& kind) { return kind.is(head); });
  return found == kinds().end() ? nullptr : &*found;
}

std::string command_for(const FileKind& kind, const std::string& path) {
  std::string text(kind.command);
  for (auto at = text.find("FILE"); at != std::string::npos; at = text.find("FILE", at + quoted(path).size()))
    text.replace(at, 4, quoted(path));
  return text;
}

std::string format_of(const std::string& path, std::span<const std::string> formats, std::string_view what) {
  auto file = open_input(path, what);
  auto say = fmt::format("say which: --format {}", fmt::join(formats, ", "));
  auto place = whole_file(make_source(path, ""));
  std::error_code is_none;
  if (!std::filesystem::is_regular_file(path, is_none))
    throw InputError(place, "is no file whose beginning could be looked at first", say);
  std::string head(kKindBytes, '\0');
  std::ifstream stream(path, std::ios::binary);
  stream.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(stream.gcount()));
  const auto* kind = kind_of(head);
  if (!kind) throw InputError(place, fmt::format("is not recognised as {}", what), say);
  if (std::find(formats.begin(), formats.end(), kind->format) == formats.end())
    throw InputError(place, fmt::format("is {}, not {}", kind->name, what), command_for(*kind, path));
  return std::string(kind->format);
}

void check_kind(const std::string& path, std::string_view head, std::string_view what) {
  if (std::find(kContents.begin(), kContents.end(), what) == kContents.end()) return;
  const auto* kind = kind_of(head);
  if (!kind || std::find(kind->read_as.begin(), kind->read_as.end(), what) != kind->read_as.end()) return;
  throw InputError(whole_file(make_source(path, "")), fmt::format("is {}, not {}", kind->name, what),
                   command_for(*kind, path));
}

}  // namespace ddpsim
