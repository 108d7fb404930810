# cmake -D WORK_DIR=... -D SOURCE_DIR=... -D CC=... -D CXX=... -P engine_only.cmake
#
# Configures the engine alone, as the top project and within another one, where all packages are hidden that it must
# not need. Looks at the targets and the commands of the build. Compiles one file of the other project.
cmake_minimum_required(VERSION 3.22)
set(ENV{CC} ${CC})
set(ENV{CXX} ${CXX})
set(hidden "")
foreach(package Catch2 spdlog CLI11 nlohmann_json benchmark Python3 RocksDB)
  list(APPEND hidden -DCMAKE_DISABLE_FIND_PACKAGE_${package}=ON)
endforeach()

# run(WHAT OUTPUT_VARIABLE command...): must succeed.
function(run what output)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${what} failed (${result}):\n${text}")
  endif()
  set(${output} "${text}" PARENT_SCOPE)
endfunction()

# expect_engine_alone(BUILD TARGETS...): these targets are there, and no test, tool or workload is.
function(expect_engine_alone build)
  run("listing the targets of ${build}" targets ${CMAKE_COMMAND} --build ${build} --target help)
  foreach(target ${ARGN})
    if(NOT targets MATCHES "[\n/]${target}: ")
      message(FATAL_ERROR "${build} lacks the target ${target}:\n${targets}")
    endif()
  endforeach()
  if(targets MATCHES "[^\n]*(_tests|latchkey_cli|latchkey_tpcc|latchkey_tools|_campaign|fuzz_)[^\n]*")
    message(FATAL_ERROR "${build} has more than the engine: ${CMAKE_MATCH_0}")
  endif()
  file(STRINGS ${build}/CMakeCache.txt found REGEX "^(Catch2|spdlog|CLI11|nlohmann_json|benchmark|zstd|lmdb|wiredtiger)_")
  if(found)
    message(FATAL_ERROR "${build} looked for what the engine does not need: ${found}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR})
run("configuring the engine alone" output ${CMAKE_COMMAND} -G Ninja -S ${SOURCE_DIR} -B ${WORK_DIR}/alone
    -DLATCHKEY_ENGINE_ONLY=ON ${hidden})
expect_engine_alone(${WORK_DIR}/alone latchkey_engine latchkey_c)

run("configuring a project with Latchkey inside" output ${CMAKE_COMMAND} -G Ninja
    -S ${SOURCE_DIR}/cmake/install_test/subproject -B ${WORK_DIR}/within
    -DLATCHKEY_SOURCE=${SOURCE_DIR} -DEXAMPLE_SOURCE=${SOURCE_DIR}/engine/example_main.cc ${hidden})
expect_engine_alone(${WORK_DIR}/within latchkey_engine latchkey_c)
file(STRINGS ${WORK_DIR}/within/CMakeCache.txt build_type REGEX "^CMAKE_BUILD_TYPE:.*=.+")
if(build_type)
  message(FATAL_ERROR "Latchkey changed the build type of the project around it: ${build_type}")
endif()
run("listing that project's commands" commands ${CMAKE_COMMAND} --build ${WORK_DIR}/within -- -t commands consumer)
if(NOT commands MATCHES "/latchkey_engine\\.dir/.*/liblatchkey_engine\\.a" OR commands MATCHES "spdlog|[Cc]atch2|CLI11|rocksdb")
  message(FATAL_ERROR "the program is not built from the engine, or not from the engine alone:\n${commands}")
endif()
file(STRINGS ${WORK_DIR}/within/build.ninja objects REGEX "^build CMakeFiles/consumer.dir/[^ ]*: ")
string(REGEX REPLACE "^build ([^ ]*): .*" "\\1" object "${objects}")
run("compiling that project's program" output ${CMAKE_COMMAND} --build ${WORK_DIR}/within --target ${object})

execute_process(COMMAND ${CMAKE_COMMAND} -G Ninja -S ${SOURCE_DIR} -B ${WORK_DIR}/both -DLATCHKEY_ENGINE_ONLY=ON
                        -DLATCHKEY_BUILD_TESTS=ON RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE text)
if(result EQUAL 0 OR NOT text MATCHES "set one of them to OFF")
  message(FATAL_ERROR "the engine alone cannot have tests, and the message must say so (${result}):\n${text}")
endif()
file(REMOVE_RECURSE ${WORK_DIR})
