# Compiler settings, packages, and the one function that declares a layer of the house.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
include(GNUInstallDirs)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# ccache is told here, not in a file of the user's: that a precompiled header may be cached, and that
# paths below the tree count from the build directory, so that two trees share objects.
find_program(LATCHKEY_CCACHE ccache)
if(LATCHKEY_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${LATCHKEY_CCACHE})
endif()

# Test programs with sanitizers take GNU ld several times as long as lld.
include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=lld LATCHKEY_HAS_LLD)
if(LATCHKEY_HAS_LLD)
  add_link_options(-fuse-ld=lld)
endif()

add_library(latchkey_compile INTERFACE)
target_compile_options(latchkey_compile INTERFACE -Wall -Wextra -Wnon-virtual-dtor)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(latchkey_compile INTERFACE -Wshadow=local)
  # gcc collects its own garbage from 512 MiB on. Its own choice is 128 MiB, and then it takes a seventh more time.
  target_compile_options(latchkey_compile INTERFACE --param=ggc-min-heapsize=524288)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # clang does not see that a variable of a loop's condition is changed by another actor.
  target_compile_options(latchkey_compile INTERFACE -Wno-for-loop-analysis)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # gcc 12 sees overlapping copies in "text" + std::string (gcc bug 105651).
  target_compile_options(latchkey_compile INTERFACE -Wno-restrict)
endif()
if(LATCHKEY_WARNINGS_AS_ERRORS)
  target_compile_options(latchkey_compile INTERFACE -Werror)
endif()
target_include_directories(latchkey_compile INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
if(LATCHKEY_SANITIZE)
  add_compile_options(-fsanitize=${LATCHKEY_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${LATCHKEY_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND LATCHKEY_SANITIZE STREQUAL "thread")
    # Tests replace operator new. As a linker of C++, clang would link ThreadSanitizer's own beside it.
    add_link_options(--driver-mode=gcc -lstdc++ -lm)
  endif()
  if(LATCHKEY_SANITIZE MATCHES "undefined")
    # Not checked: null pointers, whose use ends the program in any case; the sizes of objects, which address
    # sanitizer knows; the dynamic type behind a pointer. These three take a fifth of the time to compile.
    add_compile_options(-fno-sanitize-recover=undefined -fno-sanitize=null,object-size,vptr)
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      # The type of a function behind a pointer needs clang's runtime for C++, which a program in C does not link.
      add_compile_options(-fno-sanitize=function)
    endif()
  endif()
endif()

find_package(absl REQUIRED)
find_package(fmt REQUIRED)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
find_package(Libaio REQUIRED)

set(ROCKSDB_ROOT "" CACHE PATH "Prefix of the RocksDB to compare with; empty takes the system's")
if(ROCKSDB_ROOT)
  set(LATCHKEY_ROCKSDB_ROOT ${ROCKSDB_ROOT})
endif()

if(LATCHKEY_BUILD_TESTS)
  find_package(Catch2 2 REQUIRED)
  include(CTest)
  include(Catch)
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(LATCHKEY_PCH_FLAGS -fpch-preprocess)  # for ccache: the preprocessed text names the precompiled header
endif()

# latchkey_test_options(TARGET): the flags of files with test cases. In release they are optimised a little, with
# sanitizers not at all, and there their own pointers are not checked for alignment at each use: that halves the time
# to compile them. The libraries under test are optimised and checked as ever.
function(latchkey_test_options target)
  target_compile_definitions(${target} PRIVATE CATCH_CONFIG_FAST_COMPILE)
  target_compile_options(${target} PRIVATE ${LATCHKEY_PCH_FLAGS})
  if(LATCHKEY_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
    if(LATCHKEY_SANITIZE MATCHES "undefined")
      target_compile_options(${target} PRIVATE -fno-sanitize=alignment)
    endif()
  elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${target} PRIVATE -O1)
  endif()
  if(NOT LATCHKEY_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Of inlined std::string and operator delete, see below. Address sanitizer looks, too.
    target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread
                           -Wno-mismatched-new-delete)
  endif()
endfunction()

# Abseil, fmt, Catch2 and the standard library are half of what the compiler does for a file of ours. They are
# parsed once for the tests (latchkey_test_pch), whose objects are compiled with -fPIE, and in the builds with
# sanitizers once for the libraries (latchkey_pch). Not for the libraries in release: with a precompiled header gcc 12
# no longer knows that inlined std::string is the system's, and warns of it. It does not with -O1 (latchkey_runs_once).
if(LATCHKEY_SANITIZE)
  option(LATCHKEY_PRECOMPILED_HEADERS "Parse the libraries' headers once for all files" ON)
endif()
set(library_headers <absl/status/status.h> <absl/status/statusor.h> <fmt/format.h> <algorithm> <array>
    <atomic> <cstdint> <cstring> <functional> <map> <memory> <optional> <span> <string> <string_view>
    <utility> <vector>)
function(latchkey_precompiled name)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc CONTENT "" @ONLY)
  add_library(${name} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)
  target_link_libraries(${name} PRIVATE latchkey_compile absl::status absl::statusor fmt::fmt)
  target_precompile_headers(${name} PRIVATE ${ARGN})
endfunction()
if(LATCHKEY_PRECOMPILED_HEADERS)
  add_compile_options(${LATCHKEY_PCH_FLAGS})
  latchkey_precompiled(latchkey_pch ${library_headers})
endif()
if(LATCHKEY_BUILD_TESTS)
  latchkey_precompiled(latchkey_test_pch ${library_headers} <catch2/catch.hpp>)
  target_link_libraries(latchkey_test_pch PRIVATE Catch2::Catch2)
  set_target_properties(latchkey_test_pch PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(latchkey_test_pch PRIVATE -fPIE)
  latchkey_test_options(latchkey_test_pch)
endif()

# latchkey_unity(TARGET FILES...): with LATCHKEY_UNITY up to `unity_files` files of one folder are compiled at a time:
# sixteen, and 32 of those of which most runs once. The compiler parses and instantiates once what they have in common. A
# whole build takes a third of the time, a change of one file more. The names in the anonymous namespaces of a folder must
# differ. Files with canaries are compiled together with others of their kind alone (latchkey_canaries).
# tools/check_house finds a file that does not include what it names.
option(LATCHKEY_UNITY "Compile several files at a time" ON)
set(unity_files 16)
function(latchkey_unity target)
  if(NOT LATCHKEY_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(file ${ARGN})
    get_filename_component(folder ${file} DIRECTORY)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${folder})
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    get_source_file_property(has_canaries ${file} LATCHKEY_HAS_CANARIES)
    if(has_canaries)
      string(APPEND folder _canaries)
    endif()
    list(APPEND files_of_${folder} ${file})
    list(LENGTH files_of_${folder} count)
    math(EXPR part "(${count} - 1) / ${unity_files}")
    set_property(SOURCE ${file} PROPERTY UNITY_GROUP ${folder}_${part})
  endforeach()
endfunction()

# latchkey_unity_tests(TARGET): the same for test programs, sixteen files at a time of any folder. Each has a namespace
# of its own.
function(latchkey_unity_tests target)
  if(LATCHKEY_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
  endif()
endfunction()

# latchkey_runs_once(TARGET FILES DEPENDS HEADERS): the objects of a layer's files of which most runs once.
function(latchkey_runs_once target files depends headers)
  add_library(${target} OBJECT ${files})
  target_link_libraries(${target} PRIVATE latchkey_compile ${depends})
  set(optimised -O1)
  if(LATCHKEY_SANITIZE)
    set(optimised -O0)
  endif()
  target_compile_options(${target} PRIVATE ${optimised} ${LATCHKEY_PCH_FLAGS})
  if(LATCHKEY_PRECOMPILED_HEADERS OR NOT LATCHKEY_SANITIZE)
    target_precompile_headers(${target} PRIVATE ${library_headers} ${headers})
  endif()
  set(unity_files 32)
  latchkey_unity(${target} ${files})
endfunction()

# latchkey_inlines_fully(TARGET): as much is inlined in files that are compiled together as in files by themselves. Else
# a lookup takes 3 % more instructions.
function(latchkey_inlines_fully target)
  if(LATCHKEY_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE --param=large-unit-insns=200000)
  endif()
endfunction()

# latchkey_canaries(FILES...): remembers those that have canaries, for latchkey_campaign_canaries, which
# compiles them once more (tools/campaign/CMakeLists.txt). Its linker may take no object of theirs from a library,
# so no object there holds other files beside one of these.
function(latchkey_canaries)
  foreach(file ${ARGN})
    file(STRINGS ${file} includes REGEX "^#include \"storage/base/canary\\.h\"")
    if(includes)
      set_property(GLOBAL APPEND PROPERTY LATCHKEY_CANARY_SOURCES ${file})
      set_source_files_properties(${file} PROPERTIES LATCHKEY_HAS_CANARIES ON)
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  endforeach()
endfunction()

# latchkey_layer(NAME DEPENDS libraries...): the static library latchkey_NAME of every .cc below this
# folder, and the test program NAME_tests of every _test.cc. Files named *_main.cc are left to the
# folder's own CMakeLists.txt. EXCLUDE takes regular expressions of files to leave out; TEST_DEPENDS
# more libraries for the tests alone. RUNS_ONCE: a regular expression of files of which most runs once, as they are
# called from this folder. They are optimised a little in release and not at all with sanitizers, which halves the time
# to compile them. HEADERS: what many of these files include, parsed once for them.
function(latchkey_layer name)
  cmake_parse_arguments(ARG "" "RUNS_ONCE" "DEPENDS;EXCLUDE;HEADERS;TEST_DEPENDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_(test|main|bench)\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  foreach(pattern ${ARG_EXCLUDE})
    list(FILTER sources EXCLUDE REGEX ${pattern})
    list(FILTER tests EXCLUDE REGEX ${pattern})
  endforeach()
  latchkey_canaries(${sources})
  if(ARG_RUNS_ONCE AND (LATCHKEY_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Release"))
    foreach(file ${sources})
      file(RELATIVE_PATH called ${CMAKE_CURRENT_SOURCE_DIR} ${file})
      if(called MATCHES "${ARG_RUNS_ONCE}")
        list(APPEND sources_once ${file})
      endif()
    endforeach()
    list(REMOVE_ITEM sources ${sources_once})
    latchkey_runs_once(latchkey_${name}_once "${sources_once}" "${ARG_DEPENDS}" "${ARG_HEADERS}")
    set(objects_once $<TARGET_OBJECTS:latchkey_${name}_once>)
  endif()
  if(sources OR sources_once)
    add_library(latchkey_${name} STATIC ${sources} ${objects_once})
    set_target_properties(latchkey_${name} PROPERTIES LINKER_LANGUAGE CXX)
    target_link_libraries(latchkey_${name} PUBLIC ${ARG_DEPENDS}
                          PRIVATE $<BUILD_INTERFACE:latchkey_compile>)
    if(TARGET latchkey_pch)
      target_precompile_headers(latchkey_${name} REUSE_FROM latchkey_pch)
    endif()
    latchkey_unity(latchkey_${name} ${sources})
    if(name MATCHES "^(storage|bufferpool|layout|engine)$")
      latchkey_inlines_fully(latchkey_${name})
    endif()
    target_compile_features(latchkey_${name} PUBLIC cxx_std_20)
    target_include_directories(latchkey_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  else()
    add_library(latchkey_${name} INTERFACE)
    target_link_libraries(latchkey_${name} INTERFACE ${ARG_DEPENDS})
    target_compile_features(latchkey_${name} INTERFACE cxx_std_20)
    target_include_directories(latchkey_${name} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  endif()
  if(LATCHKEY_BUILD_TESTS AND tests)
    add_executable(${name}_tests ${tests})
    if(NOT LATCHKEY_SANITIZE)
      target_sources(${name}_tests PRIVATE ${PROJECT_SOURCE_DIR}/storage/runtime/testing/os_thread_count.cc)
      set_source_files_properties(${PROJECT_SOURCE_DIR}/storage/runtime/testing/os_thread_count.cc
                                  PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
    target_link_libraries(${name}_tests PRIVATE latchkey_${name} latchkey_compile
                          Catch2::Catch2WithMain ${ARG_TEST_DEPENDS})
    latchkey_test_options(${name}_tests)
    latchkey_unity_tests(${name}_tests)
    target_precompile_headers(${name}_tests REUSE_FROM latchkey_test_pch)
    catch_discover_tests(${name}_tests TEST_PREFIX "${name}: " DISCOVERY_MODE PRE_TEST
                         PROPERTIES LABELS ${name})
  endif()
endfunction()
