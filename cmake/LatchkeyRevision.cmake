# Writes OUTPUT, a header with the revision of the tree at SOURCE, unless it says so already. Run at
# every build, so that a result names the tree it was built from.
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --tags
                OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
set(content "#define LATCHKEY_REVISION \"${revision}\"\n")
set(present "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} present)
endif()
if(NOT present STREQUAL content)
  file(WRITE ${OUTPUT} "${content}")
endif()
