# cpack -G DEB in the build directory: latchkey_VERSION_ARCH.deb, the program with its manual pages and completion, and
# latchkey-dev_VERSION_ARCH.deb, the component "development" of LatchkeyInstall.cmake.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME latchkey)
set(CPACK_PACKAGE_VENDOR "Latchkey")
set(CPACK_PACKAGE_CONTACT "Latchkey <latchkey@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime development)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SECTION database)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME latchkey)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME latchkey-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "embedded key/value storage engine: the command line
 The program latchkey reads, copies, checks and repairs databases, and measures
 the engine beside others.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "embedded key/value storage engine: libraries and headers
 An ordered, transactional key/value store inside your program: the libraries
 for C++ and C, headers, CMake and pkg-config files, guide and examples.")
# dpkg-shlibdeps finds the packages of the shared libraries; static libraries need these of the guide.
find_program(LATCHKEY_SHLIBDEPS dpkg-shlibdeps)
if(LATCHKEY_SHLIBDEPS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libabsl-dev, libfmt-dev, libaio-dev, libxxhash-dev")
foreach(codec ${LATCHKEY_PAGE_CODECS})
  string(APPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS ", lib${codec}-dev")
endforeach()
include(CPack)
