#pragma once

namespace ddpsim::cli {

// Runs one command line and returns its exit code: 0 ok, 1 a threshold missed, 2 bad input or usage, 3
// something needed is not installed, 4 interrupted, 5 a real run failed, 6 the machine refused memory or
// processes, 7 a measurement too noisy to judge, 70 an internal error.
int run(int argc, char** argv);

}  // namespace ddpsim::cli
