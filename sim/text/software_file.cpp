#include "sim/text/software_file.hpp"

#include <fmt/format.h>

#include "sim/base/double_quoted.hpp"
#include "sim/base/limits.hpp"
#include "sim/keys/types.hpp"
#include "sim/text/attention_kernels.hpp"
#include "sim/text/evidence_file.hpp"
#include "sim/text/file_rows.hpp"
#include "sim/variability/expected_slowest.hpp"

namespace ddpsim::software_keys {
namespace {

using namespace keys;

// The file, whose `gpus` become shares once it is known of which GPU.
struct SoftwareFile : Software {
  SoftwareFile() { spread = kUsualSpread; }
  std::optional<Scope> given_scope = {};
  std::optional<Seconds> usual_host = {};
  std::string kernel = {};
  SourceSpan kernel_span = {};
  Value gpus = {};
  std::optional<Value> evidence = {};
};

Type<double> positive(double most) {
  return above_zero(number(0, most), "nothing would ever end", "write a number above 0");
}

// Of a data sheet's peak; a boost clock can beat it.
Type<double> share() {
  return positive(1.5);
}

Rows<Software>& add_attention(Rows<Software>& rows) {
  return rows.key<&Software::attention>("attention", share(), "Share of the peak of the attention kernel")
      .key<&Software::attention_ramp>("attention_ramp", number(0, 1e5),
                                      "Tokens that causal rows are longer by")
      .key<&Software::narrow_heads>("narrow_heads", share(), "Factor on it for each halving of a head");
}

const Section& share_rows() {
  auto share = software_keys::share();
  static const Section section = [&] {
    Rows<Software> rows("gpus");
    rows.key<&Software::gemm>("gemm", share, "Share of the peak that large aligned products sustain")
        .key<&Software::gemm_fp32>("gemm_fp32", maybe(share), "The same of products in float32")
        .key<&Software::gemm_tf32>("gemm_tf32", maybe(share), "The same of products in TF32");
    add_attention(rows)
        .key<&Software::elementwise>("elementwise", positive(100), "Factor on element-wise traffic")
        .key<&Software::memory>("memory", share, "Share of the memory bandwidth")
        .key<&Software::queue>("queue", number(1, 1000), "How far launches run ahead")
        .key<&Software::k_ramp>("k_ramp", number(0, 1e6), "Start and end of a tile, as elements of k")
        .key<&Software::unaligned>("unaligned", share, "Factor on products of unaligned sizes")
        .key<&Software::unaligned_attention>("unaligned_attention", share, "The same of attention")
        .key<&Software::fp8_cast>("fp8_cast", number(0, 1000), "Bytes moved per quantised element")
        .key<&Software::loss_bytes>("loss_bytes", number(0, 1000), "Bytes moved per logit")
        .key<&Software::rotary_bytes>("rotary_bytes", number(0, 1000), "The same per query and key value")
        .key<&Software::weight_cast>("weight_cast", number(0, 1000), "The same per weight, by autocast")
        .key<&Software::optimizer_bytes>("optimizer_bytes", number(0, 1000), "Bytes moved per parameter")
        .key<&Software::host>("host", time(), "To launch a kernel")
        .key<&Software::types>("types", list(word(kWorkloadPrecisionNames)), "Fitted or judged in")
        .key<&Software::judged_error>("judged_error", maybe(number(0, 10)), "Of steps not fitted")
        .key<&Software::derived_from>("derived_from", text(), "Whose shares these are, if not such a GPU's");
    return Section(rows);
  }();
  return section;
}

const Section& software_rows() {
  auto count = whole(1, kLargestWorldSize);
  auto scope = nested(Rows<Software::Scope>("scope")
                          .needs<&Software::Scope::gpus>("gpus", count, "Of the job")
                          .needs<&Software::Scope::tensor>("tensor", count, "Of a tensor-parallel group"));
  auto memory =
      nested(Rows<MemoryUse>("memory_use")
                 .key<&MemoryUse::fragmentation>("fragmentation", number(1, 10), "Reserved over handed out")
                 .key<&MemoryUse::overhead>("overhead", maybe(size()), "Outside the allocator")
                 .usually("context, libraries and communicators")
                 .key<&MemoryUse::logit_bytes>("logit_bytes", number(0, 1000), "Of each logit, at the peak")
                 .key<&MemoryUse::gated_values>("gated_values", number(0, 10),
                                                "Kept of a gated feed-forward layer's width")
                 .key<&MemoryUse::expands_keys>("expands_keys", boolean(), "To as many heads as queries have")
                 .key<&MemoryUse::transformer_engine>("transformer_engine", boolean(), "Its workspaces")
                 .key<&MemoryUse::dropout>("dropout", boolean(), "Its masks are kept"));
  auto expert = nested(
      Rows<ExpertUse>("expert")
          .key<&ExpertUse::host>("host", maybe(time()), "The host's, a block and micro-batch")
          .usually("launches are counted")
          .key<&ExpertUse::host_capacity>("host_capacity", maybe(time()),
                                          "The same, where none waits for counts")
          .usually("`host`")
          .key<&ExpertUse::host_each>("host_each", time(), "On top, an expert of a rank")
          .key<&ExpertUse::traffic>("traffic", number(0, 100), "What experts move, over the least")
          .key<&ExpertUse::flash_sinks>("flash_sinks", boolean(), "Attention with sinks is flash, too"));
  static const Section section =
      Rows<SoftwareFile>("software")
          .kind("software")
          .needs<&Software::name>("name", text(), "Of this software")
          .needs<&SoftwareFile::kernel>("attention", text(), "Its kernel")
          .needs<&SoftwareFile::usual_host>("host", maybe(time()), "To launch a kernel")
          .key<&Software::tensor_hidden>("tensor_hidden", maybe(number(0, 1)), "Of collectives, hidden")
          .key<&Software::early_stop>("early_stop", boolean(), "Recomputation ends before the last product")
          .key<&Software::repeats_keys>("repeats_keys", boolean(), "Ranks exchange keys of all query heads")
          .key<&Software::ranks>("ranks", whole(1, kLargestWorldSize), "Of the steps it was fitted to")
          .key<&Software::spread>("spread", number(0, kLargestSpread), "Of their speed")
          .key<&SoftwareFile::given_scope>("scope", maybe(scope), "Up to which it was fitted or judged")
          .needs<&SoftwareFile::gpus>("gpus", any(), "From a word of a GPU's name to its shares")
          .key<&Software::memory_use>("memory_use", memory, "Besides the tensors")
          .key<&Software::expert>("expert", expert, "In blocks with experts")
          .key<&SoftwareFile::evidence>("evidence", maybe(any()), "Of the steps it was calibrated to");
  return section;
}

const std::vector<config::Entry>& entries_of(const Value& gpus) {
  if (gpus.kind != Value::Kind::map || gpus.entries.empty())
    throw InputError(gpus.span, "'gpus' is a map from a GPU's name to its shares",
                     "write it like H100: {gemm: 0.74}");
  return gpus.entries;
}

SoftwareFile read_file(const std::string& path) {
  Value root = config::load_yaml(path, "software");
  auto file = read_root<SoftwareFile>(software_rows(), root);
  file.kernel_span = root.find("attention")->value.span;
  entries_of(file.gpus);
  return file;
}

}  // namespace
}  // namespace ddpsim::software_keys

namespace ddpsim {

const keys::Section& file_rows::software() {
  return software_keys::software_rows();
}
const keys::Section& file_rows::shares() {
  return software_keys::share_rows();
}
const keys::Section& file_rows::attention_shares() {
  static const keys::Section section = [] {
    keys::Rows<Software> rows("kernels");
    return keys::Section(software_keys::add_attention(rows));
  }();
  return section;
}

Software read_software(const std::string& path, const GpuNames& gpu) {
  using namespace software_keys;
  auto file = read_file(path);
  Software software = file;
  software.host = *file.usual_host;
  software.scope = file.given_scope.value_or(Software::Scope{});
  auto [entry, of] = entry_for(file.gpus.entries, gpu);
  software.is_for_gpu = of == GpuEntry::Of::itself;
  software.is_for_chip = of == GpuEntry::Of::same_chip;
  take_kernel(software, {file.kernel, file.kernel_span}, gpu);
  auto rows = share_rows();
  rows.name = entry.key;
  keys::Places places;
  read_section(rows, entry.value, &software, {places});
  software.fitted_on = entry.key;
  if (entry.value.find("attention")) software.is_kernel_for_gpu = true;  // a share of its own
  if (!software.derived_from.empty())
    software.is_for_gpu = software.is_for_chip = false, software.fitted_on = software.derived_from;
  if (software.gemm == 0)
    throw InputError(entry.value.span, "nothing says what share of the peak products reach", "add gemm: 0.7");
  if (software.flash && software.attention == 0)
    throw InputError(entry.value.span, "nothing says what share of the peak the flash kernel reaches",
                     "add attention: 0.3, or say which kernel it is: attention: fa2");
  return software;
}

std::vector<std::string> software_gpus(const std::string& path) {
  using namespace software_keys;
  std::vector<std::string> gpus;
  for (const auto& entry : read_file(path).gpus.entries) gpus.push_back(entry.key);
  return gpus;
}

Evidence read_software_evidence(const std::string& path, Evidence known) {
  auto file = software_keys::read_file(path);
  return file.evidence ? read_evidence_section(*file.evidence, std::move(known)) : known;
}

std::string write_software(const Software& software, const std::string& gpu, const std::string& comment,
                           const Evidence& measured) {
  using namespace software_keys;
  SoftwareFile file;
  static_cast<Software&>(file) = software;
  file.usual_host = software.host;
  file.kernel = software.flash ? "flash" : "unfused";
  if (software.scope != Software::Scope{}) file.given_scope = software.scope;
  std::string text = "# ";
  for (char c : comment) text += c == '\n' ? std::string("\n# ") : std::string(1, c);
  auto rows = share_rows();
  std::erase_if(rows.rows, [&](const Row& row) {
    return row.name == "host" || row.name == "derived_from" ||
           (software.attention == 0 && row.name == "attention");
  });
  auto written = fmt::format("{}\n{}gpus:\n  {}:\n{}", text, lines_of(software_rows(), &file, ""),
                             double_quoted(gpu), lines_of(rows, static_cast<const Software*>(&file), "    "));
  if (!measured.calibrated.empty()) written += "evidence:\n" + write_evidence_section(measured, "  ");
  return written;
}

}  // namespace ddpsim
