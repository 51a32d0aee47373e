#pragma once
// Output of all_reduce_perf, made up.
#include <string>

namespace ddpsim::calibrate {

inline const std::string kPreamble =
    "# nThread 1 nGpus 1 minBytes 1024 maxBytes 4194304 step: 64(factor) warmup iters: 5 iters: 20 agg "
    "iters: 1\n"
    "#\n"
    "# Using devices\n"
    "#  Rank  0 Group  0 Pid   6899 on host-a device  0 [0000:04:00] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid   6900 on host-b device  0 [0000:05:00] NVIDIA H100 80GB HBM3\n"
    "NCCL version 2.18.5+cuda12.2\n"
    "#\n";
inline const std::string kHeader =
    "#                                                              out-of-place                       "
    "in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   "
    "busbw "
    "#wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  "
    "(GB/s)\n";
// 65536 B / 20 us = 3.28 GB/s, 4194304 B / 200 us = 20.97 GB/s; on two GPUs busbw is algbw.
inline const std::string kRow1 =
    "        1024           256     float     sum      -1    10.00    0.10    0.10      0     9.00    0.11   "
    " 0.11      0\n";
inline const std::string kRow2 =
    "       65536         16384     float     sum      -1    20.00    3.28    3.28      0    19.00    3.45   "
    " 3.45    N/A\n";
inline const std::string kRow3 =
    "     4194304       1048576     float     sum      -1    200.0   20.97   20.97      0      N/A     N/A   "
    "  N/A    N/A\n";
inline const std::string kRows = kRow1 + kRow2 + kRow3;
inline const std::string kTrailer =
    "# Out of bounds values : 0 OK\n"
    "# Avg bus bandwidth    : 8.11667 \n#\n";

}  // namespace ddpsim::calibrate
