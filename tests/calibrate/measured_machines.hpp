#pragma once
// Tables as a machine with known curves would measure them.
#include <cmath>
#include <functional>

#include "sim/calibrate/fit.hpp"

namespace ddpsim::calibrate {

// Eight A100s under NVSwitch, and two nodes of them with a 200 Gb/s NIC a GPU.
inline nccl::Communicator a100s(int nodes = 1, int ranks = 8) {
  nccl::Communicator c;
  c.gpu = nccl::Gpu::ampere;
  c.cpu = nccl::Cpu::amd;
  c.nodes = nodes;
  c.ranks = nodes * ranks;
  c.ring = c.tree = nodes == 1 ? nccl::Graph{12, 20, 20} : nccl::Graph{8, 24, 24};
  c.nvlink_peak = BytesPerSecond(300e9);
  c.memory_bandwidth = BytesPerSecond(2039e9);
  return c;
}

using Noise = std::function<double(int row)>;
inline double no_noise(int) {
  return 1;
}

// What `curve` takes on it at 256 KiB, 512 KiB ... 1 GiB, times the noise: 13 rows.
inline Measurement measured(const nccl::Communicator& machine, const nccl::Curve& curve,
                            const Noise& noise = no_noise, const nccl::Allowed& allowed = {}) {
  nccl::CurveShape shape(machine, allowed);
  AllReduceTable table;
  table.title = "made up";
  table.ranks = machine.ranks;
  table.nodes = machine.nodes;
  for (int row = 0; row < 13; ++row) {
    Bytes bytes = kSmallestFitted * std::exp2(row);
    table.rows.push_back({bytes, noise(row) * shape.time(curve, bytes), {}, {}});
  }
  return {std::move(table), machine.ranks, machine.nodes, machine.nvlink, std::move(shape)};
}

inline Measurement with_rows(Measurement measurement, std::size_t rows) {
  measurement.table.rows.resize(rows);
  return measurement;
}

}  // namespace ddpsim::calibrate
