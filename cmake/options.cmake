set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# The same objects go into the programs and into the Python module.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

# What did not change since another build of it is taken from there.
find_program(DDPSIM_CCACHE ccache)
if(DDPSIM_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${DDPSIM_CCACHE}")
endif()

option(DDPSIM_BUILD_TESTS "Build the tests" OFF)
option(DDPSIM_BUILD_BENCH "Build the benchmarks" OFF)
option(DDPSIM_SANITIZE "Build with AddressSanitizer and UndefinedBehaviorSanitizer" OFF)
option(DDPSIM_BUILD_FUZZ "Build libFuzzer's targets (tests/fuzz), with clang and DDPSIM_SANITIZE" OFF)
option(DDPSIM_UNITY "Compile ten files of a library as one: half the time from nothing, more after a change" OFF)
option(DDPSIM_WERROR "Treat compiler warnings as errors" OFF)
set(DDPSIM_WITH_LIBTORCH AUTO CACHE STRING "LibTorch, for capture and the test against PyTorch's own buckets: AUTO, ON or OFF")
set_property(CACHE DDPSIM_WITH_LIBTORCH PROPERTY STRINGS AUTO ON OFF)
set(DDPSIM_WITH_PYTHON AUTO CACHE STRING "The Python package, with nanobind: AUTO, ON or OFF")
set_property(CACHE DDPSIM_WITH_PYTHON PROPERTY STRINGS AUTO ON OFF)
option(DDPSIM_PYTHON_SIMGRID "SimGrid's network in the Python package, which then needs this machine's SimGrid" OFF)
set(DDPSIM_WITH_CUDA AUTO CACHE STRING "Capture on a GPU, with a LibTorch that has CUDA: AUTO, ON or OFF")
set_property(CACHE DDPSIM_WITH_CUDA PROPERTY STRINGS AUTO ON OFF)

if(DDPSIM_SANITIZE)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)  # what sanitizers cannot see: an empty optional, an index past the end
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
  if(DDPSIM_BUILD_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)  # counts what of the code an input reaches
  endif()
endif()
