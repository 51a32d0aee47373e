# What runs on GPUs, of the headers in third_party that scripts/gpu-kit packs: no package is looked for but LibTorch, CUDA and NCCL.
include(cmake/options.cmake)
include(cmake/warnings.cmake)
include(cmake/library.cmake)
include(cmake/libtorch.cmake)

foreach(target IN ITEMS fmt::fmt nlohmann_json::nlohmann_json CLI11::CLI11 PkgConfig::LIBMD ZLIB::ZLIB)
  add_library(${target} INTERFACE IMPORTED)
  target_include_directories(${target} SYSTEM INTERFACE ${PROJECT_SOURCE_DIR}/third_party/include)
endforeach()
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)
target_link_libraries(PkgConfig::LIBMD INTERFACE ${PROJECT_SOURCE_DIR}/third_party/lib/libmd.a)

foreach(folder IN ITEMS sim/base sim/process sim/command_line sim/model sim/timeline sim/trace sim/collective sim/ddp sim/program traces
                        validate/harness validate/nccl)
  add_subdirectory(${folder} EXCLUDE_FROM_ALL)
endforeach()

# What the kit has, as far as this machine can build it: the programs beside one another, and the tests on a GPU.
add_custom_target(gpu_programs)
if(TARGET ddpsim_validate_nccl_program)
  add_dependencies(gpu_programs ddpsim_validate_nccl_program)
endif()
if(DDPSIM_LIBTORCH)
  add_dependencies(gpu_programs ddpsim_capture_program)
  set(INSTALL_GTEST OFF)
  add_subdirectory(third_party/googletest EXCLUDE_FROM_ALL)
  add_executable(cuda_test tests/traces/capture/cuda_device_test.cpp)
  target_link_libraries(cuda_test PRIVATE ddpsim_capture gtest_main gmock)
  set_target_properties(cuda_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/sim")
  add_dependencies(gpu_programs cuda_test)
endif()
