#pragma once
// What this process is doing, for a line of progress: who does it says so, in words that somebody who waits
// understands. Of several who do something the one who began last is heard. Without a lock: processes are
// forked while others speak.
#include <atomic>
#include <cstdint>
#include <string>

namespace ddpsim {

class Doing {
 public:
  // A literal: "folding what shares links". Until this is gone.
  explicit Doing(const char* what);
  ~Doing();
  Doing(const Doing&) = delete;
  Doing& operator=(const Doing&) = delete;
  // How much of it is done, from 0 to 1.
  void done(double share);

  struct Said {
    std::atomic<const char*> what = nullptr;  // null: free
    std::atomic<double> share = 0;            // below 0: not said
    std::atomic<std::uint64_t> number = 0;    // in the order in which they began
  };

 private:
  Said* said_;  // null: too many speak at once
};

// "simulating, 34 % done"; empty: nobody says anything.
std::string doing_now();

}  // namespace ddpsim
