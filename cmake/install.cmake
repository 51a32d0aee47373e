# cmake --install: the programs, SimGrid's network where they look for it, and what has a name where presets are looked for.
# Component simulator is all that `ddpsim simulate` needs; the rest is capture and validate.
include(GNUInstallDirs)
function(ddpsim_install_program program component)
  set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/ddpsim"
                        INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${component})
endfunction()
ddpsim_install_program(ddpsim simulator)
foreach(program IN ITEMS ddpsim_capture_program ddpsim_validate_gloo_program ddpsim_validate_nccl_program)
  if(TARGET ${program})
    ddpsim_install_program(${program} training)
  endif()
endforeach()
set_target_properties(ddpsim_simgrid PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS ddpsim_simgrid LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/ddpsim COMPONENT simulator)
# ddpsim_install_presets(<folder> <component>): where sim/text/presets.cpp looks for them, with the traces that scenarios name; those of
# real runs on the testbed stay behind.
function(ddpsim_install_presets folder component)
  foreach(kind IN ITEMS topologies gpus models software kernels fabrics calibrations evidence configs)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${kind} DESTINATION ${folder} COMPONENT ${component}
            FILES_MATCHING PATTERN "*.yaml" PATTERN "testbed-*" EXCLUDE)
  endforeach()
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/traces DESTINATION ${folder} COMPONENT ${component}
          FILES_MATCHING PATTERN "*.csv" PATTERN "capture" EXCLUDE PATTERN "torch_gpt2" EXCLUDE)
endfunction()
ddpsim_install_presets(share/ddpsim simulator)
# What shells, man and editors know of the program, as it prints it itself.
set(texts ${PROJECT_BINARY_DIR}/texts)
file(MAKE_DIRECTORY ${texts})
add_custom_command(OUTPUT ${texts}/ddpsim.bash ${texts}/_ddpsim ${texts}/ddpsim.1 ${texts}/scenario.schema.json DEPENDS ddpsim VERBATIM
                   COMMAND sh -c "$<TARGET_FILE:ddpsim> internals completion bash > ddpsim.bash && $<TARGET_FILE:ddpsim> internals completion zsh > _ddpsim && $<TARGET_FILE:ddpsim> internals man > ddpsim.1 && $<TARGET_FILE:ddpsim> internals schema > scenario.schema.json"
                   WORKING_DIRECTORY ${texts})
add_custom_target(ddpsim_texts ALL DEPENDS ${texts}/ddpsim.bash ${texts}/_ddpsim ${texts}/ddpsim.1 ${texts}/scenario.schema.json)
install(FILES ${texts}/ddpsim.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ddpsim COMPONENT simulator OPTIONAL)
install(FILES ${texts}/_ddpsim DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT simulator OPTIONAL)
install(FILES ${texts}/ddpsim.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT simulator OPTIONAL)
install(FILES ${texts}/scenario.schema.json DESTINATION share/ddpsim COMPONENT simulator OPTIONAL)
