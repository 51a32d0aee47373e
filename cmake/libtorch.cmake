# Looks for LibTorch as DDPSIM_WITH_LIBTORCH asks, and for CUDA in it as DDPSIM_WITH_CUDA asks. Sets DDPSIM_LIBTORCH and
# DDPSIM_LIBTORCH_CUDA, and says what is left out and why. Not a function: TorchConfig.cmake may enable a language.
set(DDPSIM_LIBTORCH OFF)
set(DDPSIM_LIBTORCH_CUDA OFF)

# ddpsim_left_out(<option> <what> <why>): an optional part that is not built; an error where the option asks for it.
function(ddpsim_left_out option what why)
  if(${option} AND NOT ${option} STREQUAL "AUTO")
    message(FATAL_ERROR "${option} is ${${option}}, but ${why}")
  endif()
  message(STATUS "left out: ${what}; ${why}")
endfunction()

set(part "capture, and the test against PyTorch's own buckets")
if(DDPSIM_WITH_LIBTORCH)
  # TorchConfig.cmake looks for its libraries everywhere: without this it takes Debian's for those of a pip-installed PyTorch.
  foreach(prefix IN LISTS CMAKE_PREFIX_PATH)
    if(EXISTS "${prefix}/Torch/TorchConfig.cmake")
      cmake_path(SET root NORMALIZE "${prefix}/../..")
      list(PREPEND CMAKE_PREFIX_PATH "${root}")
    endif()
  endforeach()
  if(NOT DEFINED TORCH_CUDA_ARCH_LIST)
    set(TORCH_CUDA_ARCH_LIST 9.0)  # no kernel is compiled here: any spares TorchConfig.cmake its search for the GPUs of this machine
  endif()
  set(CMAKE_MESSAGE_LOG_LEVEL ERROR)  # LibTorch's own files are talkative
  set(required ${CMAKE_MINIMUM_REQUIRED_VERSION})
  set(CMAKE_MINIMUM_REQUIRED_VERSION 3.24)  # it looks for the CUDA toolkit, too: see nccl.cmake
  find_package(Torch QUIET)
  set(CMAKE_MINIMUM_REQUIRED_VERSION ${required})
  unset(CMAKE_MESSAGE_LOG_LEVEL)
  if(Torch_FOUND)
    set(DDPSIM_LIBTORCH ON)
    message(STATUS "LibTorch ${Torch_VERSION}: ${TORCH_LIBRARY}")
    add_library(ddpsim_libtorch INTERFACE)
    target_link_libraries(ddpsim_libtorch INTERFACE torch)
    # A pip-installed PyTorch brings fmt's headers of another version than the library's.
    target_compile_definitions(ddpsim_libtorch INTERFACE FMT_HEADER_ONLY)
    # Its libraries find their own CUDA libraries when they are loaded; the linker would take the toolkit's, of another version.
    target_link_options(ddpsim_libtorch INTERFACE -Wl,--allow-shlib-undefined)
    # False alarms of GCC 12 in the optional arguments of LibTorch's functions.
    target_compile_options(ddpsim_libtorch INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  else()
    ddpsim_left_out(DDPSIM_WITH_LIBTORCH "${part}" "LibTorch was not found. Install libtorch-dev; or set Torch_DIR to the folder \
of TorchConfig.cmake; or set CMAKE_PREFIX_PATH to what python3 -c 'import torch; print(torch.utils.cmake_prefix_path)' prints.")
  endif()
else()
  ddpsim_left_out(DDPSIM_WITH_LIBTORCH "${part}" "DDPSIM_WITH_LIBTORCH is ${DDPSIM_WITH_LIBTORCH}")
endif()

if(NOT DDPSIM_WITH_CUDA)
  ddpsim_left_out(DDPSIM_WITH_CUDA "capture on a GPU" "DDPSIM_WITH_CUDA is ${DDPSIM_WITH_CUDA}")
elseif(TARGET torch_cuda)
  set(DDPSIM_LIBTORCH_CUDA ON)
  # The CUDA runtime that this PyTorch was built with lies beside it (and, after an upgrade, older ones); the toolkit's may be another.
  file(GLOB runtimes "${TORCH_INSTALL_PREFIX}/../nvidia/*/lib/libcudart.so.*")
  foreach(runtime IN LISTS runtimes)
    cmake_path(GET runtime PARENT_PATH folder)
    cmake_path(NORMAL_PATH folder)
    target_link_options(ddpsim_libtorch INTERFACE "-Wl,-rpath,${folder}")
  endforeach()
else()
  ddpsim_left_out(DDPSIM_WITH_CUDA "capture on a GPU" "it needs a LibTorch with CUDA: that of a pip-installed PyTorch (README).")
endif()
