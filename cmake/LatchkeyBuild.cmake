# Compiler settings, packages, and the one function that declares a layer of the house.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(LATCHKEY_CCACHE ccache)
if(LATCHKEY_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${LATCHKEY_CCACHE})
endif()

# Test programs with sanitizers take GNU ld several times as long as lld.
include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=lld LATCHKEY_HAS_LLD)
if(LATCHKEY_HAS_LLD)
  add_link_options(-fuse-ld=lld)
endif()

add_library(latchkey_compile INTERFACE)
target_compile_options(latchkey_compile INTERFACE -Wall -Wextra -Wshadow=local -Wnon-virtual-dtor)
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
  if(LATCHKEY_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()

find_package(absl REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
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

# latchkey_canaries(FILES...): defines LATCHKEY_CANARIES for those that have canaries, in a build with
# them. All other objects are then those of release, so that ccache has them.
function(latchkey_canaries)
  if(NOT LATCHKEY_CANARIES)
    return()
  endif()
  foreach(file ${ARGN})
    file(STRINGS ${file} includes REGEX "^#include \"storage/base/canary\\.h\"")
    if(includes)
      set_property(SOURCE ${file} APPEND PROPERTY COMPILE_DEFINITIONS LATCHKEY_CANARIES)
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  endforeach()
endfunction()

# latchkey_layer(NAME DEPENDS libraries...): the static library latchkey_NAME of every .cc below this
# folder, and the test program NAME_tests of every _test.cc. Files named *_main.cc are left to the
# folder's own CMakeLists.txt. EXCLUDE takes regular expressions of files to leave out; TEST_DEPENDS
# more libraries for the tests alone.
function(latchkey_layer name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;EXCLUDE;TEST_DEPENDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_(test|main|bench)\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  foreach(pattern ${ARG_EXCLUDE})
    list(FILTER sources EXCLUDE REGEX ${pattern})
    list(FILTER tests EXCLUDE REGEX ${pattern})
  endforeach()
  latchkey_canaries(${sources} ${tests})
  if(sources)
    add_library(latchkey_${name} STATIC ${sources})
    target_link_libraries(latchkey_${name} PUBLIC ${ARG_DEPENDS}
                          PRIVATE $<BUILD_INTERFACE:latchkey_compile>)
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
    target_link_libraries(${name}_tests PRIVATE latchkey_${name} latchkey_compile
                          Catch2::Catch2WithMain ${ARG_TEST_DEPENDS})
    catch_discover_tests(${name}_tests TEST_PREFIX "${name}: " DISCOVERY_MODE PRE_TEST
                         PROPERTIES LABELS ${name})
  endif()
endfunction()
