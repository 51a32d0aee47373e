# Warnings for our own targets only; the libraries' headers are included as system headers.
add_library(ddpsim_warnings INTERFACE)
target_compile_options(ddpsim_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Woverloaded-virtual
  # False alarms of GCC 12 on std::string operator+ (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>)
if(DDPSIM_WERROR)
  target_compile_options(ddpsim_warnings INTERFACE -Werror)
endif()
