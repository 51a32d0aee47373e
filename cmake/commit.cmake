# Writes the header that says of which commit a build is; run at every build, and the header changes only when the commit does.
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=10 --exclude=* OUTPUT_VARIABLE commit
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit "")  # an archive of the sources
endif()
set(text "#pragma once\nnamespace ddpsim {\ninline constexpr const char* kCommit = \"${commit}\";  // empty: not known\n}\n")
if(EXISTS ${HEADER})
  file(READ ${HEADER} before)
endif()
if(NOT "${before}" STREQUAL "${text}")
  file(WRITE ${HEADER} "${text}")
endif()
