#!/bin/bash
# Makes a cycle of three serializable transactions that PostgreSQL lets commit. docs/found.md explains it.
#
#   ./postgres-commit-window.sh postgres://postgres@127.0.0.1:5432/postgres
#
# It needs psql, gdb, and the right to trace the server's processes (root, or the server's user). It makes and drops
# the table isohound_window. Exit code 1: the cycle was committed; 0: it was refused; 2: it could not be made.
set -u
export PGOPTIONS="-c client_min_messages=warning"
dsn=${1:?a connection string is missing}
dir=$(mktemp -d)
trap 'touch "$dir/go"; exec 3>&- 4>&- 5>&-; wait; psql -Xq "$dsn" -c "drop table if exists isohound_window" 2>/dev/null; rm -rf "$dir"' EXIT
fail() { echo "$*" >&2; exit 2; }

psql -Xq "$dsn" -c "drop table if exists isohound_window; create table isohound_window (k text primary key, v int); insert into isohound_window values ('a', 0), ('b', 0)" || fail "cannot make the table"
session() { # NAME FD: a session that reads statements from the descriptor
  mkfifo "$dir/$1"
  psql -XAtq "$dsn" <"$dir/$1" >"$dir/$1.out" 2>&1 &
  eval "exec $2>\"$dir/$1\""
}
ask() { # NAME FD STATEMENTS: executes them, and prints what they return
  local mark="done-$RANDOM$RANDOM" from
  from=$(wc -l <"$dir/$1.out")
  printf '%s\n\\echo %s\n' "$3" "$mark" >&"$2"
  for _ in $(seq 1000); do
    grep -q "^$mark$" "$dir/$1.out" && break
    sleep 0.01
  done
  tail -n "+$((from + 1))" "$dir/$1.out" | grep -v "^$mark$"
}
say() { echo "$1: $2 -> $(ask "$1" "$3" "$2")"; }
session first 3
session second 4
session reader 5
for s in "first 3" "second 4" "reader 5"; do
  ask $s "set default_transaction_isolation = 'serializable'; set enable_seqscan = off;" >/dev/null
done
pid=$(ask first 3 "select pg_backend_pid();")

say second "begin; select v from isohound_window where k = 'b';" 4
say second "update isohound_window set v = 1 where k = 'a';" 4
say first "begin; update isohound_window set v = 1 where k = 'b';" 3
cat >"$dir/script" <<G
set pagination off
set breakpoint pending off
handle all nostop noprint pass
break ReleasePredicateLocks
shell touch $dir/attached
continue
shell touch $dir/stopped
shell while [ ! -e $dir/go ]; do sleep 0.01; done
G
DEBUGINFOD_URLS= gdb -q -nx -batch -p "$pid" -x "$dir/script" >"$dir/gdb.out" 2>&1 &
gdb=$!
for _ in $(seq 3000); do
  [ -e "$dir/attached" ] && break
  kill -0 $gdb 2>/dev/null || fail "gdb: $(cat "$dir/gdb.out")"
  sleep 0.01
done
echo "first: commit;"
echo "commit;" >&3
for _ in $(seq 1000); do [ -e "$dir/stopped" ] && break; sleep 0.01; done
[ -e "$dir/stopped" ] || fail "first did not stop: $(cat "$dir/gdb.out")"
echo "first has stopped: others see its commit, which has not ended"
say reader "begin; select v from isohound_window where k = 'b';" 5
say second "commit;" 4
touch "$dir/go"
wait $gdb
ask first 3 "select 1;" >/dev/null
echo "first goes on, and its commit ends"
a=$(ask reader 5 "select v from isohound_window where k = 'a';")
echo "reader: select v from isohound_window where k = 'a'; -> $a"
end=$(ask reader 5 "commit;")
case "$a$end" in
0)
  echo "committed: second before first (b), first before reader (b), reader before second (a)"
  exit 1
  ;;
*could\ not\ serialize*) echo "refused" ;;
*) fail "something else happened: $a$end" ;;
esac
