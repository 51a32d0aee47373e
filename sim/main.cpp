#include "sim/cli/run.hpp"

int main(int argc, char** argv) {
  return ddpsim::cli::run(argc, argv);
}
