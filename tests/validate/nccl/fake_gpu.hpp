#pragma once
// GPUs and NCCL of the imagination: every entry point that validate/nccl uses (fake_entry_points.cpp), over
// streams that execute on a virtual clock. For tests of order, dependencies and errors; its times are
// arithmetic, never a measurement.
//
// An operation starts when it is the first of its stream, the one before has ended, the host has enqueued it,
// and what it waits for has happened. Enqueuing takes no time. The host's clock, one a thread, moves when it
// sees that an event has happened. Collectives of a communicator start when all of its ranks have come to
// them.
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <cuda_runtime_api.h>
#include <nccl.h>

namespace ddpsim::testing {

// What cudaEventRecord makes; events point to their last one.
struct Moment {
  bool happened = false;
  double time = 0;
};

struct CollectiveCall {
  std::string kind;  // "all-reduce"
  void* data = nullptr;
  std::size_t count = 0;
  ncclDataType_t type = ncclFloat;
  ncclRedOp_t operation = ncclSum;
  int root = 0;
};

struct Operation {
  double enqueued = 0;
  double duration = 0;                // of a kernel
  std::shared_ptr<Moment> waits_for;  // before it starts
  std::shared_ptr<Moment> marks;      // when it is done
  std::function<void()> work;         // what it does
  ncclComm* communicator = nullptr;   // of a collective
  CollectiveCall call;
};

}  // namespace ddpsim::testing

// The types that CUDA and NCCL leave open.
struct CUstream_st {
  std::string name;
  std::vector<ddpsim::testing::Operation> queue;
  double time = 0;
};
struct CUevent_st {
  std::shared_ptr<ddpsim::testing::Moment> last;  // none before it is recorded
};
struct ncclComm {
  struct Group {
    std::size_t size = 0;
    std::vector<ncclComm*> members;
    std::size_t joined = 0, finalized = 0, collectives = 0;
  };
  std::shared_ptr<Group> group;
  int rank = 0;
  bool finalizing = false;
  int polls_left = 0;          // until what was called last is done
  std::function<void()> then;  // done at the last of them
};

namespace ddpsim::testing {

class FakeGpu {
 public:
  static FakeGpu& get();

  // What there is.
  int devices = 2;
  // NCCL's calls return at once and enqueue later, while ncclCommGetAsyncError is asked.
  bool deferred = false;

  // The call after the next `after` ones of this name returns `code`, a cudaError_t or ncclResult_t.
  void fail(const std::string& entry_point, int code, int after = 0);
  // ncclCommGetAsyncError tells it from now on.
  void report_async_error(ncclResult_t error);

  [[nodiscard]] std::vector<std::string> log();  // what was enqueued: "communication: wait"
  [[nodiscard]] int calls(const std::string& entry_point);
  [[nodiscard]] std::size_t alive();                    // handles and memory not given back
  [[nodiscard]] std::vector<std::string> violations();  // what would hang or race on a GPU
  void clear_log();

  // A collective of so many elements takes 1 ms and 1 us for each.
  static double collective_seconds(std::size_t count) { return 1e-3 + 1e-6 * static_cast<double>(count); }

  // For the entry points, which hold the lock.
  std::recursive_mutex mutex;
  int enter(const std::string& entry_point);  // counts the call; 0 or the code it must return
  void enqueue(CUstream_st* stream, Operation operation, const std::string& entry);
  void progress();
  double& host_time() { return host_times_[std::this_thread::get_id()]; }
  void violate(const std::string& what) { violations_.push_back(what); }
  std::vector<CUstream_st*> streams;
  std::vector<std::shared_ptr<ncclComm::Group>> groups;
  ncclResult_t async_error = ncclSuccess;
  std::map<void*, std::string> handles;

 private:
  bool start_first(CUstream_st& stream);
  bool start_collective(CUstream_st& stream);
  std::map<std::thread::id, double> host_times_;
  std::map<std::string, int> calls_;
  std::map<std::string, std::pair<int, int>> failures_;  // calls to come before, code
  std::vector<std::string> log_, violations_;
};

}  // namespace ddpsim::testing
