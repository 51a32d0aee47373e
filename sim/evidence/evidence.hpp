#pragma once
// What is known of the numbers that nobody measured for a job: how far, by kind of job, published times were
// from predicted ones. An evidence file (docs/reference/measured.md) has the figures; which classes there are
// stands here.
#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/names.hpp"
#include "sim/evidence/observation.hpp"
#include "sim/evidence/unknown.hpp"

namespace ddpsim {

// compute: on what GPUs compute. network: on what collectives of a kind of network take. step: on the whole
// iteration of what is known least. physics: launches and hooks, factors on the host's time; interference
// and spread, levels as in a scenario. choice: what ways of one job differ in besides.
enum class Subject { compute, network, step, physics, choice };
inline constexpr Names<Subject, 5> kSubjectNames{{{"compute", Subject::compute},
                                                  {"network", Subject::network},
                                                  {"step", Subject::step},
                                                  {"physics", Subject::physics},
                                                  {"choice", Subject::choice}}};

// What of a job a class moves: the whole step where steps were compared.
enum class Moves { step, compute, collectives, launches, hooks, interference, spread, one_of_several };

struct EvidenceClass {
  Subject of;
  std::string_view name;
  std::string_view what;  // a phrase of which jobs it is
  Moves moves;
};
inline constexpr std::array kEvidenceClasses{
    EvidenceClass{Subject::compute, "measured", "compute, recorded", Moves::step},
    EvidenceClass{Subject::compute, "calibrated", "compute, calibrated to a step", Moves::step},
    EvidenceClass{Subject::compute, "named", "compute by software fitted on such GPUs", Moves::step},
    EvidenceClass{Subject::compute, "named_split",
                  "compute by software fitted on such GPUs, that share a model", Moves::step},
    EvidenceClass{Subject::compute, "same_gpu", "compute by other software's shares", Moves::compute},
    EvidenceClass{Subject::compute, "same_chip", "compute by the shares of a GPU with the same chip",
                  Moves::compute},
    EvidenceClass{Subject::compute, "other_gpu", "compute by another GPU's shares", Moves::compute},
    EvidenceClass{Subject::compute, "never", "compute that no software was fitted to", Moves::compute},
    EvidenceClass{Subject::network, "table", "collectives, from a table", Moves::collectives},
    EvidenceClass{Subject::network, "nvlink", "NVLink", Moves::collectives},
    EvidenceClass{Subject::network, "infiniband", "InfiniBand", Moves::collectives},
    EvidenceClass{Subject::network, "infiniband_uncalibrated", "InfiniBand, not calibrated",
                  Moves::collectives},
    EvidenceClass{Subject::network, "roce", "RoCE above leaves", Moves::collectives},
    EvidenceClass{Subject::network, "roce_leaf", "RoCE below one leaf, or hashed as said",
                  Moves::collectives},
    EvidenceClass{Subject::network, "efa", "EFA", Moves::collectives},
    EvidenceClass{Subject::network, "slingshot", "Slingshot", Moves::collectives},
    EvidenceClass{Subject::network, "ethernet", "Ethernet", Moves::collectives},
    EvidenceClass{Subject::network, "ethernet_guessed", "Ethernet of unknown NICs", Moves::collectives},
    EvidenceClass{Subject::network, "no_gpudirect", "NICs without GPUDirect", Moves::collectives},
    EvidenceClass{Subject::network, "pcie", "PCIe with peer-to-peer", Moves::collectives},
    EvidenceClass{Subject::network, "pcie_host", "PCIe through host memory", Moves::collectives},
    EvidenceClass{Subject::network, "pcie_host_guessed", "PCIe through host memory that nobody described",
                  Moves::collectives},
    EvidenceClass{Subject::network, "xgmi", "AMD's links", Moves::collectives},
    EvidenceClass{Subject::network, "nvl72", "NVLink domains of racks", Moves::collectives},
    EvidenceClass{Subject::network, "gloo", "Gloo", Moves::collectives},
    EvidenceClass{Subject::network, "mpi", "MPI", Moves::collectives},
    EvidenceClass{Subject::network, "links", "links as described", Moves::collectives},
    EvidenceClass{Subject::step, "experts", "experts", Moves::step},
    EvidenceClass{Subject::step, "small_experts", "many small experts", Moves::step},
    EvidenceClass{Subject::step, "context", "sequences over several GPUs", Moves::step},
    EvidenceClass{Subject::step, "context_pytorch", "sequences over several GPUs by PyTorch", Moves::step},
    EvidenceClass{Subject::step, "attention", "an attention kernel that nobody measured on such GPUs",
                  Moves::step},
    EvidenceClass{Subject::step, "async_tp", "tensor parallelism under products", Moves::step},
    EvidenceClass{Subject::physics, "launches", "the host's launches", Moves::launches},
    EvidenceClass{Subject::physics, "hooks", "DeepSpeed's hooks", Moves::hooks},
    EvidenceClass{Subject::physics, "interference", "interference", Moves::interference},
    EvidenceClass{Subject::physics, "spread", "the spread of GPUs", Moves::spread},
    EvidenceClass{Subject::choice, "strategy", "strategies", Moves::one_of_several},
    EvidenceClass{Subject::choice, "split", "splits of a model", Moves::one_of_several},
    EvidenceClass{Subject::choice, "cap", "caps and what else is alike", Moves::one_of_several}};

// Of that name; null: there is none.
const EvidenceClass* find_evidence_class(Subject of, std::string_view name);

struct Evidence {
  struct Line {
    std::vector<Unknown::State> states;  // logarithms of measured / predicted; of levels: values
    double row = 0;                      // of compute: what a step has of its own, the scale of Student's t
    int families = 0;                    // independent sources; 0: declared
    // Of all states together.
    [[nodiscard]] double middle() const;
    [[nodiscard]] double sigma() const;
    bool operator==(const Line&) const = default;
  };
  std::string name;
  std::map<std::string, Line, std::less<>> lines;  // by "compute named"
  // What a user's own measurements say. `calibrated`: the class that compute was of before software was
  // calibrated to them; `found`: by class, the value that predictions have for them, about which its line is.
  std::string calibrated = {};
  std::map<std::string, double, std::less<>> found = {};
  std::vector<Observation> measured = {};
  std::vector<std::size_t> picked =
      {};  // those of kDrawsToWeigh draws that `measured` leaves; none: kUsualDraws of all

  [[nodiscard]] const Line* find(const EvidenceClass& of) const;  // null: nothing is known
  // What a step of compute of a class has of its own beside others of its job's kind, of which one was
  // measured: that of `calibrated`, unless the class' is less. 0: nothing is known of the class.
  [[nodiscard]] double calibrated_row(const EvidenceClass& of) const;
  // About that value, which predictions take for it from now on.
  void set_found(const EvidenceClass& of, double value);
  bool operator==(const Evidence&) const = default;
};

// "compute named": of a class, and of what is drawn once for all that it concerns.
std::string name_of(const EvidenceClass& of);

inline constexpr std::size_t kUsualDraws = 1024, kDrawsToWeigh = 8 * kUsualDraws;

// Of that name, "compute named"; null: there is none.
const EvidenceClass* find_evidence_class(std::string_view name);

// As what is drawn. `line` is not empty.
Unknown unknown_of(const EvidenceClass& of, const Evidence::Line& line);

}  // namespace ddpsim
