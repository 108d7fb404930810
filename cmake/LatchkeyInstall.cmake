# cmake --install: the engine as a package that find_package(Latchkey) finds.
#
#   include/latchkey/latchkey.h          the one public header
#   include/latchkey/engine/             its parts, which it includes
#   lib/liblatchkey_*.a                  a static library per layer
#   include/latchkey/latchkey_c.h        the same for C, with its part in include/latchkey/bindings/c/
#   lib/liblatchkey.so.0                 the C interface, with all that it needs of Abseil and fmt
#   lib/pkgconfig/latchkey.pc            cc $(pkg-config --cflags --libs latchkey)
#   lib/cmake/Latchkey/                  the package: targets Latchkey::latchkey and Latchkey::c
#   share/doc/Latchkey/                  README, guide and examples
#   bin/latchkey                         the command line, when it was built
#   share/man/man1/latchkey*.1.gz        its manual pages; beside them the completion of bash, zsh and fish
#
# Component "development" is all but the command line.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(layers storage bufferpool layout engine)
foreach(layer ${layers})
  set_target_properties(latchkey_${layer} PROPERTIES EXPORT_NAME ${layer})
endforeach()
# The engine brings the layers below with it: it is what embedders link.
set_target_properties(latchkey_engine PROPERTIES EXPORT_NAME latchkey)
add_library(Latchkey::latchkey ALIAS latchkey_engine)

# Embedders include <latchkey/latchkey.h>; so do the example and its test inside this tree.
set(public_include ${PROJECT_BINARY_DIR}/include)
set(public_header_parts engine/cursor.h engine/keys.h engine/options.h engine/statistics.h)
# engine/abseil_release.h checks nothing within the tree. That of an embedder knows the Abseil of this build.
get_target_property(abseil_include absl::config INTERFACE_INCLUDE_DIRECTORIES)
file(STRINGS ${abseil_include}/absl/base/config.h abseil_release REGEX "^#define ABSL_LTS_RELEASE_VERSION ")
string(REGEX REPLACE ".* " "" LATCHKEY_ABSEIL_RELEASE "${abseil_release}")
set(abseil_header ${public_include}/latchkey/engine/abseil_release.h)
if(LATCHKEY_ABSEIL_RELEASE)
  configure_file(cmake/abseil_release.h.in ${abseil_header} @ONLY)
else()  # no release of Abseil, but a state of its main branch, which has no number
  configure_file(engine/abseil_release.h ${abseil_header} COPYONLY)
endif()
configure_file(engine/latchkey.h ${public_include}/latchkey/latchkey.h COPYONLY)
foreach(part ${public_header_parts})
  configure_file(${part} ${public_include}/latchkey/${part} COPYONLY)
endforeach()
target_include_directories(latchkey_engine INTERFACE $<BUILD_INTERFACE:${public_include}>
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

list(TRANSFORM layers PREPEND latchkey_ OUTPUT_VARIABLE layer_targets)
install(TARGETS ${layer_targets} EXPORT LatchkeyTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(FILES engine/latchkey.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/latchkey
        COMPONENT development)
install(FILES ${public_header_parts} ${abseil_header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/latchkey/engine
        COMPONENT development)

# The C library. It comes with targets of its own, which need no other package.
install(TARGETS latchkey_c EXPORT LatchkeyCTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
        NAMELINK_COMPONENT development)
install(FILES bindings/c/latchkey_c.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/latchkey COMPONENT development)
install(FILES bindings/c/latchkey_c_upkeep.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/latchkey/bindings/c
        COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/bindings/c/latchkey.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Latchkey)
install(EXPORT LatchkeyCTargets NAMESPACE Latchkey:: DESTINATION ${package_dir}
        COMPONENT development)
install(EXPORT LatchkeyTargets NAMESPACE Latchkey:: DESTINATION ${package_dir}
        COMPONENT development)
configure_package_config_file(cmake/LatchkeyConfig.cmake.in LatchkeyConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(LatchkeyConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/LatchkeyConfig.cmake
              ${PROJECT_BINARY_DIR}/LatchkeyConfigVersion.cmake cmake/FindLibaio.cmake
        DESTINATION ${package_dir} COMPONENT development)

# Debian looks for a package's licence there.
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/latchkey-dev RENAME copyright COMPONENT development)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)
install(DIRECTORY docs/guide DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT development
        FILES_MATCHING PATTERN "*.md")
if(TARGET latchkey_cli)
  install(TARGETS latchkey_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/latchkey RENAME copyright COMPONENT runtime)
  install(DIRECTORY ${LATCHKEY_MAN_DIR}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT runtime
          FILES_MATCHING PATTERN "*.1.gz")
  install(FILES ${LATCHKEY_COMPLETION_DIR}/bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
          RENAME latchkey COMPONENT runtime)
  install(FILES ${LATCHKEY_COMPLETION_DIR}/zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
          RENAME _latchkey COMPONENT runtime)
  install(FILES ${LATCHKEY_COMPLETION_DIR}/fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
          RENAME latchkey.fish COMPONENT runtime)
  # `latchkey experiment` runs this script.
  install(PROGRAMS tools/experiment DESTINATION ${CMAKE_INSTALL_DATADIR}/latchkey/tools
          COMPONENT runtime)
  install(DIRECTORY tools/experiments DESTINATION ${CMAKE_INSTALL_DATADIR}/latchkey/tools
          COMPONENT runtime FILES_MATCHING PATTERN "*.py" PATTERN "*_test.py" EXCLUDE)
endif()
