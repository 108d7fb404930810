# For the scripts that run the program as a user would: cmake -D PROGRAM=... -D WORK_DIR=... -P SCRIPT
# Includes of this file begin with an empty WORK_DIR.
file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR})

# expect(CODE REGEX arguments...): the exit code, and what stdout and stderr together must match.
function(expect code regex)
  execute_process(COMMAND ${PROGRAM} ${ARGN} WORKING_DIRECTORY ${WORK_DIR}
                  RESULT_VARIABLE actual OUTPUT_VARIABLE out ERROR_VARIABLE err)
  string(REPLACE ";" " " command "${ARGN}")
  if(NOT actual STREQUAL code OR NOT "${out}${err}" MATCHES "${regex}")
    message(SEND_ERROR "latchkey ${command}\nexits ${actual}, expected ${code}; must match '${regex}':\n${out}${err}")
  endif()
endfunction()
