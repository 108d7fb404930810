# Finds libaio and defines the target Libaio::Libaio. Installed beside LatchkeyConfig.cmake, which
# needs it again on the machine of the embedder.
find_path(LIBAIO_INCLUDE_DIR libaio.h)
find_library(LIBAIO_LIBRARY aio)
mark_as_advanced(LIBAIO_INCLUDE_DIR LIBAIO_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libaio
  REQUIRED_VARS LIBAIO_LIBRARY LIBAIO_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "On Debian: apt-get install libaio-dev")

if(Libaio_FOUND AND NOT TARGET Libaio::Libaio)
  add_library(Libaio::Libaio UNKNOWN IMPORTED)
  set_target_properties(Libaio::Libaio PROPERTIES
    IMPORTED_LOCATION "${LIBAIO_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${LIBAIO_INCLUDE_DIR}")
endif()
