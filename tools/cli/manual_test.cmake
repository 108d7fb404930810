# The manual pages: one for each verb, without a complaint of man. The example of each verb runs, and with --quiet it
# writes nothing to stderr.
#   cmake -D PROGRAM=... -D WORK_DIR=... -P manual_test.cmake
cmake_minimum_required(VERSION 3.22)
include(${CMAKE_CURRENT_LIST_DIR}/expect.cmake)

expect(0 "^$" man-pages man)
expect(1 "cannot create the folder" man-pages /dev/null/man)
file(GLOB pages ${WORK_DIR}/man/*.1)
find_program(man man)
if(man)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C.UTF-8 MANROFFSEQ= MANWIDTH=80
                          ${man} --warnings -E UTF-8 -l -Tutf8 -Z ${pages}
                  RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE err)
  if(NOT result EQUAL 0 OR err)
    message(SEND_ERROR "man --warnings (${result}): ${err}")
  endif()
endif()
file(READ ${WORK_DIR}/man/latchkey-scan.1 page)
foreach(part "latchkey.-scan .- print the records of a range" "SYNOPSIS\n[^\n]*latchkey scan[^\n]* [^\n]*DB" "ARGUMENTS"
        "fB.-.-from.fR=.fIKEY.fR\nthe first key of the range" "fB.-.-reverse.fR\nfrom the last" "EXAMPLES\n.nf\nlatchkey scan "
        "EXIT STATUS.*130  interrupted")
  if(NOT page MATCHES "${part}")
    message(SEND_ERROR "the page of scan lacks '${part}':\n${page}")
  endif()
endforeach()

# What the examples read.
expect(0 "" put shop.db bob 50 --tree=accounts)
expect(0 "" tpcc-lite run --engine=latchkey --device=memory --scale=0.01 --cache-size=2MiB --warmup=0 --transactions=200
       --trace=run.fixes --json=b.json)
# Those that measure take less than in a user's hands. get comes behind put, and del behind the verbs that read.
set(order put get scan stat dump load verify salvage backup restore compact del)
set(more_of_tpcc-lite-prepare --dry-run)
set(more_of_tpcc-lite-run --dry-run)
set(more_of_tpcc-lite-check --dry-run)
set(more_of_bench --dry-run)
set(more_of_layout --dry-run)
set(more_of_contention-pool --pages=1000 --warmup=0 --duration=20ms)
set(more_of_contention-lock --warmup=0 --duration=20ms)
set(more_of_contention-model --pages=1000 --simulate=1k)
set(more_of_contention-calibrate --replacement=lru --pages=1024 --repetitions=1)
set(more_of_rerun --dry-run)
expect(0 "" tpcc-lite run --engine=memory --scale=0.01 --transactions=200 --warmup=0 --repeat=2 --json=a.json)
expect(0 "" tpcc-lite run --engine=memory --scale=0.01 --transactions=200 --warmup=0 --repeat=2 --json=b.json)

file(GLOB pages RELATIVE ${WORK_DIR}/man ${WORK_DIR}/man/*.1)
list(TRANSFORM pages REPLACE "^latchkey-?(.*)\\.1$" "\\1")
list(REMOVE_ITEM pages "" ${order})
foreach(verb ${order} ${pages})
  file(READ ${WORK_DIR}/man/latchkey-${verb}.1 page)
  string(REGEX MATCH "SH EXAMPLES\n.nf\n(.*)\n.fi\n.SH .EXIT" found "${page}")
  string(REPLACE "\\-" "-" example "${CMAKE_MATCH_1}")
  if(verb MATCHES "^(tpcc-lite|trace|contention)$" AND example MATCHES "\n")  # those of the verbs below it
    continue()
  elseif(verb MATCHES "^(doctor|experiment)$")  # takes long; exit_code_test runs it
    continue()
  elseif(NOT example MATCHES "^latchkey [^\n]*$")
    message(SEND_ERROR "the page of ${verb} has no example of one line: '${example}'")
    continue()
  endif()
  separate_arguments(words UNIX_COMMAND "${example}")
  list(REMOVE_AT words 0)
  execute_process(COMMAND ${PROGRAM} ${words} ${more_of_${verb}} --quiet WORKING_DIRECTORY ${WORK_DIR}
                  RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE err)
  # A calibration refuses to measure two threads that had no processor each; other tests run beside this one.
  if(verb STREQUAL contention-calibrate AND result EQUAL 1 AND err MATCHES "repeat it[ \n]+while two processors are idle")
    continue()
  endif()
  if(NOT result EQUAL 0 OR err)
    message(SEND_ERROR "the example of ${verb}, ${example} ${more_of_${verb}} --quiet, exits ${result}: ${err}")
  endif()
  string(REGEX REPLACE "^(tpcc-lite|trace|contention)-" "\\1;" below ${verb})
  expect(0 "Example:\n  latchkey .*Exit codes:\n  0    done" ${below} --help)
endforeach()
