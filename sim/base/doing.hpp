#pragma once
// What this process is doing, for a line of progress: who does it says so, in words that somebody who waits
// understands. Of several threads one is heard.
#include <string>

namespace ddpsim {

class Doing {
 public:
  // A literal: "folding what shares links". Until this is gone; then it is again what it was before.
  explicit Doing(const char* what);
  ~Doing();
  Doing(const Doing&) = delete;
  Doing& operator=(const Doing&) = delete;
  // How much of it is done, from 0 to 1.
  static void done(double share);

 private:
  const char* before_;
};

// "simulating, 34 % done"; empty: nobody has said anything.
std::string doing_now();

}  // namespace ddpsim
