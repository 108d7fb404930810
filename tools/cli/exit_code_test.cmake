# Runs the program as a user would, and checks how it exits and what it prints.
#   cmake -D PROGRAM=... -D WORK_DIR=... -P exit_code_test.cmake
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

set(small --engine=memory --warehouses=1 --scale=0.01 --users=2 --transactions=200 --warmup=0)
set(quick --engine=memory --records=500 --operations=1000 --warmup=0)

expect(0 "tpcc-lite" --help)
expect(0 "memory" tpcc-lite run --help)
expect(2 "" no-such-verb)
expect(2 "" tpcc-lite run --no-such-flag=1)
expect(2 "known: .*memory" tpcc-lite run --engine=oracle)
expect(2 "--users" tpcc-lite run ${small} --users=none)
expect(2 "only one of them" bench ${quick} --json=- --csv=-)
expect(2 "cannot be written" bench ${quick} --json=no-such-folder/x.json)
expect(2 "unknown workload" bench ${quick} --workload=z)
expect(0 "NewOrder/min .tpcc-lite, not TPC-C." tpcc-lite run ${small} --check --repeat=2)
expect(0 "spread of 2" tpcc-lite run ${small} --repeat=2)
expect(0 "latchkey.run/1" tpcc-lite run ${small} --json=-)
expect(0 "operations/s" bench ${quick} --workload=load-seq,read-zipf,a,e --threads=1,2 --csv=bench.csv)
expect(0 "engine,layout" bench ${quick} --csv=-)

# On simulated disks the same seed gives the same table.
set(simulated --device=fixed:service_ms=9 --disks=11 --scale=0.01 --warehouses=2 --users=6
    --cache-size=2MiB --duration=2 --warmup=1 --durability=group)
expect(0 "virtual time" tpcc-lite run ${simulated} --check --csv=first.csv)
expect(0 "" tpcc-lite run ${simulated} --check --csv=second.csv)
file(READ ${WORK_DIR}/first.csv first)
file(READ ${WORK_DIR}/second.csv second)
if(NOT first STREQUAL second)
  message(SEND_ERROR "a simulated run:\n${first}\nthe same again:\n${second}")
endif()
expect(2 "nothing to check" tpcc-lite check ${simulated})
expect(2 "rocksdb cannot be simulated|not in this build" bench --engine=rocksdb --device=fixed)
expect(0 "device: overwrite . sync/s" bench --workload=update-commit --durability=commit --records=500
       --operations=50 --warmup=0 --device=fixed:service_ms=1)

# One database.
expect(1 "there is no database" get db a)
expect(2 "" get db)
expect(0 "" put db alice 100 --tree=accounts)
expect(0 "" put db "\\x00b" 00ff --tree=accounts)
expect(2 "byte 2" put db "a\\q" 1 --tree=accounts)
expect(2 "durability" put db a 1 --durability=maybe)
expect(2 "either a value or --value-file" put db a)
expect(0 "^100\n$" get db alice)
expect(0 "^313030\n$" get db 616c696365 --hex)
expect(1 "no key" get db bob)
expect(1 "there is no tree" get db alice --tree=none)
expect(0 "^alice.100\n.x00b" scan db --reverse)
expect(0 "^alice\n$" scan db --from=a --to=b --keys-only)
expect(1 "nothing was deleted" del db alice bob)
expect(0 "2 records" stat db --count)
expect(0 "sound" verify db)
expect(0 "=alice.100" dump db - --format=text)
expect(2 "--format=xml" dump db - --format=xml)
expect(0 "dumped 1 trees, 2 records" dump db db.dump)
expect(0 "loaded 2 records of 2" load copy db.dump)
expect(0 "2 records" verify copy)
expect(1 "no-such-file" load copy no-such-file)
file(WRITE ${WORK_DIR}/bad.dump "latchkey-dump text 1\ntree t\n=a\n")
expect(1 "bad.dump: the dump is malformed at line 3" load fresh bad.dump)
if(EXISTS ${WORK_DIR}/fresh)
  message(SEND_ERROR "a refused load made a database")
endif()
expect(0 "everything that the trees name was found" salvage copy saved)
expect(1 "there is a database at saved already" salvage copy saved)
expect(0 "" del db alice)
expect(1 "no key" get db alice)

# Files that are none, or no longer.
string(REPEAT "not one of ours." 1024 text)
file(WRITE ${WORK_DIR}/foreign/data.lk ${text})
expect(1 "not a Latchkey data file|truncated" get foreign a)
expect(1 "not a Latchkey data file|truncated" verify foreign)
expect(1 "no superblock is readable" salvage foreign rescued)
file(SIZE ${WORK_DIR}/saved/data.lk size)
math(EXPR blocks "${size} / 4096 - 256")
execute_process(COMMAND dd if=/dev/zero of=saved/data.lk bs=4096 seek=256 count=${blocks} conv=notrunc
                WORKING_DIRECTORY ${WORK_DIR} ERROR_QUIET)
expect(3 "saved: " verify saved)
expect(3 "the catalogue is lost" salvage saved rescued)

# What was refused left nothing; the memory engine needs no folder.
if(EXISTS ${WORK_DIR}/latchkey-db)
  message(SEND_ERROR "a refused or in-memory run made a database folder")
endif()
file(STRINGS ${WORK_DIR}/bench.csv rows)
list(LENGTH rows count)
if(NOT count EQUAL 9)
  message(SEND_ERROR "bench.csv has ${count} lines, expected a header and 8 rows")
endif()

# The first signal ends a run with what it has.
execute_process(COMMAND timeout --preserve-status --signal=INT 1 ${PROGRAM} tpcc-lite run
                        --engine=memory --scale=0.01 --duration=60 --warmup=0 --json=partial.json
                WORKING_DIRECTORY ${WORK_DIR} RESULT_VARIABLE actual OUTPUT_VARIABLE out ERROR_QUIET)
file(READ ${WORK_DIR}/partial.json partial)
if(NOT actual EQUAL 130 OR NOT out MATCHES "INTERRUPTED" OR NOT partial MATCHES "\"interrupted\": true")
  message(SEND_ERROR "an interrupted run exits ${actual} and prints:\n${out}")
endif()
