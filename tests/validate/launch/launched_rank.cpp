// A rank program for tests: `launched_rank MARKER FOLDER SCRIPT...`. Runs the script of its rank, words
// "verb:argument" one after another, underscores for blanks, and ends well.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "validate/harness/rank_status.hpp"
#include <unistd.h>

extern char** environ;

namespace {

using ddpsim::validate::StatusReporter;

std::vector<std::unique_ptr<StatusReporter>> reporters;

void begin() {
  int first = std::atoi(std::getenv("RANK")), here = std::atoi(std::getenv("DDPSIM_RANKS_HERE"));
  for (int rank = first; rank < first + here; ++rank)
    reporters.push_back(std::make_unique<StatusReporter>(rank));
}

// FOLDER/RANK: the environment, and where standard input leads.
void tell(const std::string& folder) {
  std::ofstream file(folder + "/" + std::getenv("RANK"));
  for (char** entry = environ; *entry; ++entry) file << *entry << '\n';
  file << "stdin: " << std::getchar() << '\n';
}

[[noreturn]] void wait_forever() {
  alarm(60);  // not that long, whatever a failing test leaves behind
  for (;;) pause();
}

void carry_out(const std::string& verb, const std::string& argument, const std::string& folder) {
  if (verb == "begin") begin();
  if (verb == "doing") reporters.front()->doing(argument);
  if (verb == "silent") reporters.clear();
  if (verb == "sleep") std::this_thread::sleep_for(std::chrono::milliseconds(std::stoi(argument)));
  if (verb == "say") std::fprintf(stderr, "%s\n", argument.c_str());
  if (verb == "print") std::printf("%s\n", std::string(std::stoul(argument), 'x').c_str());
  std::fflush(nullptr);
  if (verb == "tell") tell(folder);
  if (verb == "raise") std::raise(std::stoi(argument));
  if (verb == "helper" && fork() == 0) wait_forever();
  if (verb == "forever") wait_forever();
  if (verb == "exit") _exit(std::stoi(argument));
}

}  // namespace

int main(int, char** argv) {
  std::istringstream script(argv[3 + std::atoi(std::getenv("RANK"))]);
  for (std::string word; script >> word;) {
    std::replace(word.begin(), word.end(), '_', ' ');
    auto colon = std::min(word.find(':'), word.size());
    carry_out(word.substr(0, colon), word.substr(std::min(colon + 1, word.size())), argv[2]);
  }
}
