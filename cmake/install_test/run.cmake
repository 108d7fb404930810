# cmake -D BUILD_DIR=... -D WORK_DIR=... -D SOURCE_DIR=... -D CC=... -D CXX=... [-D CXX_FLAGS=...]
#   [-D BUILD_TYPE=...] -P run.cmake
#
# Installs the development component into a fresh prefix below WORK_DIR, moves that prefix (a package
# must not remember where it was installed), builds the consumer project against it and runs it twice:
# the second run opens what the first one closed. With another Abseil it must not compile. Then the same for the installed project of examples/, and
# for the C example, which is built twice: with CMake, without Abseil, and with pkg-config.
cmake_minimum_required(VERSION 3.22)

# With sanitizers a program needs the runtime of the compiler that built the library.
set(ENV{CC} ${CC})
set(ENV{CXX} ${CXX})
set(accounts "alice has 90\nbob has 10\n")

function(run_or_die what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output
                  WORKING_DIRECTORY ${WORK_DIR})
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${what} failed (${result}):\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR})
run_or_die("install" ${CMAKE_COMMAND} --install ${BUILD_DIR} --component development
           --prefix ${WORK_DIR}/staging)
file(RENAME ${WORK_DIR}/staging ${WORK_DIR}/prefix)

run_or_die("configuring the consumer" ${CMAKE_COMMAND} -G Ninja
           -S ${SOURCE_DIR}/cmake/install_test -B ${WORK_DIR}/build
           -DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix -DCMAKE_BUILD_TYPE=${BUILD_TYPE}
           -DCMAKE_CXX_FLAGS=${CXX_FLAGS} -DEXAMPLE_SOURCE=${SOURCE_DIR}/engine/example_main.cc)
run_or_die("building the consumer" ${CMAKE_COMMAND} --build ${WORK_DIR}/build)

function(expect_output program expected)
  execute_process(COMMAND ${program} WORKING_DIRECTORY ${WORK_DIR}
                  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(NOT result EQUAL 0 OR NOT output STREQUAL expected)
    message(FATAL_ERROR "${program}: exit ${result}, printed:\n${output}${errors}\nexpected:\n${expected}")
  endif()
endfunction()
expect_output(${WORK_DIR}/build/consumer "${accounts}")
expect_output(${WORK_DIR}/build/consumer "${accounts}")

# A program with another release of Abseil is told so by the first header that it includes.
file(WRITE ${WORK_DIR}/other_abseil/absl/base/config.h "#include_next <absl/base/config.h>
#undef ABSL_LTS_RELEASE_VERSION
#define ABSL_LTS_RELEASE_VERSION 20300401
")
execute_process(COMMAND ${CXX} -std=c++20 -fsyntax-only -I${WORK_DIR}/other_abseil -I${WORK_DIR}/prefix/include
                        ${SOURCE_DIR}/engine/example_main.cc
                RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(result EQUAL 0 OR NOT output MATCHES "error:? .?Latchkey was built with Abseil LTS [0-9]+, .* take the C interface")
  message(FATAL_ERROR "a program with another Abseil must not compile, and be told why (${result}):\n${output}")
endif()

# gcc's warnings are sound without sanitizers only.
if(NOT CXX_FLAGS)
  set(warnings "-Wall -Wextra -Werror")
endif()
set(examples_dir ${WORK_DIR}/prefix/share/doc/Latchkey/examples)
run_or_die("configuring the examples" ${CMAKE_COMMAND} -G Ninja
           -S ${examples_dir} -B ${WORK_DIR}/build_examples
           -DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix -DCMAKE_BUILD_TYPE=${BUILD_TYPE}
           "-DCMAKE_CXX_FLAGS=${CXX_FLAGS} ${warnings}")
run_or_die("building the examples" ${CMAKE_COMMAND} --build ${WORK_DIR}/build_examples)
file(GLOB examples ${examples_dir}/*.cc)
if(NOT examples)
  message(FATAL_ERROR "there are no examples in ${examples_dir}")
endif()
foreach(source ${examples})
  get_filename_component(name ${source} NAME_WE)
  file(READ ${examples_dir}/expected/${name}.txt expected)
  expect_output(${WORK_DIR}/build_examples/${name} "${expected}")
  expect_output(${WORK_DIR}/build_examples/${name} "${expected}")
endforeach()

run_or_die("configuring the C consumer" ${CMAKE_COMMAND} -G Ninja
           -S ${SOURCE_DIR}/cmake/install_test/c -B ${WORK_DIR}/build_c
           -DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix -DCMAKE_DISABLE_FIND_PACKAGE_absl=ON
           -DCMAKE_C_FLAGS=${CXX_FLAGS} -DEXAMPLE_SOURCE=${SOURCE_DIR}/bindings/c/example.c)
run_or_die("building the C consumer" ${CMAKE_COMMAND} --build ${WORK_DIR}/build_c)
expect_output(${WORK_DIR}/build_c/consumer "${accounts}")

file(GLOB pc_file ${WORK_DIR}/prefix/lib*/pkgconfig/latchkey.pc ${WORK_DIR}/prefix/lib/*/pkgconfig/latchkey.pc)
get_filename_component(pc_dir ${pc_file} DIRECTORY)
set(ENV{PKG_CONFIG_PATH} ${pc_dir})
run_or_die("compiling with pkg-config" sh -c "${CC} -std=c99 -pedantic -Wall -Wextra -Werror ${CXX_FLAGS} \
${SOURCE_DIR}/bindings/c/example.c $(pkg-config --cflags --libs latchkey) -o consumer_by_pkg_config")
set(ENV{LD_LIBRARY_PATH} ${pc_dir}/..)
expect_output(${WORK_DIR}/consumer_by_pkg_config "${accounts}")
