#pragma once
// A program that is interrupted ends at once (base/program_exit). A library cannot: whoever it works for says
// here how it learns of an interrupt.
#include <functional>

namespace ddpsim {

// `check` is called now and then in long work, in the thread that does it, and ends the work by throwing.
// Empty: nothing is called, as at first.
void set_interrupt_check(std::function<void()> check);

// Calls it, unless it was called less than 50 ms ago.
void check_interrupts();

}  // namespace ddpsim
