# ddpsim_library(<name> SOURCES ... [DEPENDS ...] [PRIVATE ...]): one library target a folder.
#   DEPENDS: other ddpsim folders this one may include (docs/architecture.md, "One direction").
#   PRIVATE: third-party targets that stay inside this folder.
function(ddpsim_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  add_library(ddpsim_${name} STATIC ${ARG_SOURCES})
  target_include_directories(ddpsim_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(ddpsim_${name} PUBLIC fmt::fmt PRIVATE ddpsim_warnings ${ARG_PRIVATE})
  set_target_properties(ddpsim_${name} PROPERTIES UNITY_BUILD ${DDPSIM_UNITY} UNITY_BUILD_BATCH_SIZE 10)
  foreach(dependency IN LISTS ARG_DEPENDS)
    target_link_libraries(ddpsim_${name} PUBLIC ddpsim_${dependency})
  endforeach()
endfunction()
