# Tests of the house as a whole: its rules, its scripts, its example, its package.

find_package(Python3 REQUIRED COMPONENTS Interpreter)
# Once is enough: not with sanitizers.
if(NOT LATCHKEY_SANITIZE)
  add_test(NAME "house: the self-check finds what it forbids"
           COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/check_house_test.py)
  add_test(NAME "house: the scripts do what their first lines say"
           COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/scripts_test.py)
  add_test(NAME "house: the guide's runner notices a snippet that is wrong"
           COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/docs/guide/run_snippets_test.py)
  set_tests_properties("house: the self-check finds what it forbids"
                       "house: the scripts do what their first lines say"
                       "house: the guide's runner notices a snippet that is wrong" PROPERTIES LABELS house)

  add_test(NAME "house: the README's results agree with each other and with the program"
           COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/measure-readme --check
                   --program=$<TARGET_FILE:latchkey_cli>)
  set_tests_properties("house: the README's results agree with each other and with the program"
                       PROPERTIES LABELS house)

  add_test(NAME "house: the tree keeps its own rules"
           COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/check_house ${PROJECT_SOURCE_DIR})
  set_tests_properties("house: the tree keeps its own rules" PROPERTIES LABELS house)

  # Exit 77: the tool, or the base of the comparison, is not there.
  add_test(NAME "house: the lines that changed are formatted"
           COMMAND ${PROJECT_SOURCE_DIR}/tools/check_format)
  add_test(NAME "house: clang finds every lock held that a member or a function asks for"
           COMMAND ${PROJECT_SOURCE_DIR}/tools/check_contracts)
  add_test(NAME "house: clang-tidy has nothing to say"
           COMMAND ${PROJECT_SOURCE_DIR}/tools/check_tidy)
  set_tests_properties("house: the lines that changed are formatted"
                       "house: clang-tidy has nothing to say"
                       "house: clang finds every lock held that a member or a function asks for"
                       PROPERTIES LABELS house SKIP_RETURN_CODE 77)
endif()

# The README's program, as an embedder builds it: once in this build directory, once as a stranger.
add_executable(latchkey_example ${PROJECT_SOURCE_DIR}/engine/example_main.cc)
target_link_libraries(latchkey_example PRIVATE Latchkey::latchkey latchkey_compile)

set(consumer_flags "")
if(LATCHKEY_SANITIZE)
  set(consumer_flags "-fsanitize=${LATCHKEY_SANITIZE}")
endif()
set(package_test "house: projects that find the installed package build and run the examples")
add_test(NAME ${package_test}
         COMMAND ${CMAKE_COMMAND} -D BUILD_DIR=${PROJECT_BINARY_DIR}
                 -D WORK_DIR=${PROJECT_BINARY_DIR}/install_test -D SOURCE_DIR=${PROJECT_SOURCE_DIR}
                 -D BUILD_TYPE=${CMAKE_BUILD_TYPE} -D CXX_FLAGS=${consumer_flags}
                 -D CC=${CMAKE_C_COMPILER} -D CXX=${CMAKE_CXX_COMPILER}
                 -P ${PROJECT_SOURCE_DIR}/cmake/install_test/run.cmake)
set_tests_properties(${package_test} PROPERTIES LABELS house)

if(NOT LATCHKEY_SANITIZE)
  set(engine_only_test "house: the engine alone, and within another project, needs no package of tests or tools")
  add_test(NAME ${engine_only_test}
           COMMAND ${CMAKE_COMMAND} -D WORK_DIR=${PROJECT_BINARY_DIR}/engine_only_test -D SOURCE_DIR=${PROJECT_SOURCE_DIR}
                   -D CC=${CMAKE_C_COMPILER} -D CXX=${CMAKE_CXX_COMPILER}
                   -P ${PROJECT_SOURCE_DIR}/cmake/install_test/engine_only.cmake)
  set_tests_properties(${engine_only_test} PROPERTIES LABELS house)
endif()

if(NOT LATCHKEY_SANITIZE)
  set(deb_test "house: the Debian packages have what they promise, install, run and are removed")
  add_test(NAME ${deb_test}
           COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/install_test/deb_test.py ${PROJECT_BINARY_DIR})
  set_tests_properties(${deb_test} PROPERTIES LABELS house SKIP_RETURN_CODE 77)
endif()

# The guide for users. Once is enough: not with sanitizers, which Python and Go do not have. The name says that
# tools/test --fast leaves it out.
if(NOT LATCHKEY_SANITIZE)
  set(guide_test "house: every snippet of the guide does what its page shows, with the installed package")
  add_test(NAME ${guide_test} COMMAND ${PROJECT_SOURCE_DIR}/docs/guide/run_snippets.py ${PROJECT_BINARY_DIR}
                                      ${PROJECT_BINARY_DIR}/guide_test)
  set_tests_properties(${guide_test} PROPERTIES LABELS house)
endif()

# The models beside the code; sanitizers have nothing to say about them.
find_program(LATCHKEY_SPIN spin)
if(LATCHKEY_SPIN AND NOT LATCHKEY_SANITIZE)
  add_test(NAME "house: the models hold, and their mutants do not"
           COMMAND ${PROJECT_SOURCE_DIR}/tools/check_models)
  set_tests_properties("house: the models hold, and their mutants do not" PROPERTIES LABELS house)
endif()
