#include "sim/resolve/software_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/resolve/workload_model.hpp"
#include "sim/text/attention_kernels.hpp"
#include "sim/text/software_file.hpp"

namespace ddpsim {

ChosenSoftware choose_software(Files& files, const GivenJob& given, const GpuDescription& gpu) {
  const auto& workload = given.job.workload;
  const auto &framework = workload.framework, &compute = workload.compute;
  ChosenSoftware chosen;
  bool is_default = !framework && !compute;
  std::string path;
  if (is_default)
    path =
        find_preset(PresetKind::software, usual_framework(gpu)).value_or(std::string(usual_framework(gpu)));
  else
    path = files.path_of(PresetKind::software, framework ? given.located(*framework, "workload.framework")
                                                         : given.located(*compute, "workload.compute"));
  auto& software = chosen.software = files.software(path, gpu);
  if (compute || software.name.ends_with(kCalibrated))
    chosen.whose = WhoseSoftware::calibrated;
  else if (is_default)
    chosen.whose = WhoseSoftware::default_one;
  chosen.names_kernel = workload.attention && workload.attention->kernel;
  if (!chosen.names_kernel) return chosen;
  take_kernel(software, given.located(*workload.attention->kernel, "workload.attention.kernel"), gpu);
  if (software.flash && software.attention == 0)
    throw InputError(
        given.at("workload.attention.kernel"),
        fmt::format("software '{}' says nothing of a flash kernel's share of the peak", software.name),
        fmt::format("name the kernel: {}", fmt::join(attention_kernels(), ", ")));
  return chosen;
}

std::vector<Note> software_notes(const ChosenSoftware& chosen, const GpuDescription& gpu, Precision precision,
                                 std::string_view of_what) {
  const auto& software = chosen.software;
  bool is_calibrated = chosen.whose == WhoseSoftware::calibrated;
  std::vector<Note> notes;
  std::string who = is_calibrated
                        ? fmt::format("calibrated as '{}'", software.name)
                        : fmt::format("framework {}{}", software.name,
                                      chosen.whose == WhoseSoftware::default_one ? ", the default" : "");
  std::string how_good;
  if (!of_what.empty())
    how_good = fmt::format("; fitted to transformers, and how far that is off {} is not known", of_what);
  else if (software.judged_error && software.is_for_gpu)
    how_good =
        fmt::format("; other steps of its machine are {:.1f} % off on average", 100 * *software.judged_error);
  notes.push_back(
      {"compute-estimated",
       fmt::format("compute times are estimated ({}): products reach {:.2f} of the peak{}{}", who,
                   products_share(software, precision), how_good,
                   is_calibrated ? ""
                                 : fmt::format("; machines and frameworks span {} to {}: one measured "
                                               "step settles it (ddpsim calibrate --step)",
                                               kShippedGemm.least, kShippedGemm.most))});
  if (!software.is_for_gpu)
    notes.push_back(
        {"software-other-gpu",
         fmt::format("software {} was not fitted on {}: its shares are those of {}{}", software.name,
                     gpu.name, software.fitted_on, software.is_for_chip ? ", which has the same chip" : "")});
  if (software.flash && !software.is_kernel_for_gpu && (software.is_for_gpu || chosen.names_kernel))
    notes.push_back(
        {"kernel-other-gpu",
         fmt::format("nobody measured this attention kernel on {}, and it may not run there: {:.2f} of the "
                     "peak is its share of another GPU (kernels/attention.yaml)",
                     gpu.name, software.attention)});
  return notes;
}

}  // namespace ddpsim
