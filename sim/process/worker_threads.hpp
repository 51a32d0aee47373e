#pragma once
// Runs independent tasks in threads of this process, and hands them over in order.
#include <cstddef>
#include <functional>

namespace ddpsim {

// At least 1.
unsigned all_cores();

// Calls task(worker, i) for i in [0, n), at most `workers` at once, and hand_over(i) here, in the order of i,
// as soon as this thread, which is worker 0, is free to. Task i begins only when i - `window` is handed over.
// What a task throws is rethrown here in that task's turn; no task begins any more once one has thrown, and
// none runs any more when this returns or throws. Where the machine refuses a thread, fewer work.
void run_in_threads(std::size_t n, unsigned workers, std::size_t window,
                    const std::function<void(unsigned worker, std::size_t i)>& task,
                    const std::function<void(std::size_t i)>& hand_over);

}  // namespace ddpsim
