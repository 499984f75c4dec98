#!/usr/bin/env bash
# ./run.sh            builds isohound and runs the main job on the embedded engine
# ./run.sh test       sets up private database servers and a browser, and runs every test
# ./run.sh dgraph     builds the versions of Dgraph that the tests run, into bin/
# ./run.sh tidb       builds the two versions of TiDB that can be run, into bin/; the newer one takes minutes
# ./run.sh duckdb     builds bin/isohound-duckdb, which is isohound with DuckDB in it; it needs a C++ compiler
# ./run.sh COMMAND …  builds what COMMAND needs of isohound and passes everything on to it
set -euo pipefail
cd "$(dirname "$0")"

# There are two programs. bin/isohound judges histories; it starts fast and builds fast.
# For every other command it starts bin/isohound-full in its place, which has everything.
front=(-tags front,nogpu)
embedded=(-tags embedded) # without the clients of database servers, which take long to build

build() { # PROGRAM FLAGS...
  if ! command -v go >/dev/null; then
    echo "run.sh: Go is not installed; get it from your distribution or from go.dev (this project needs the version named in go.mod)" >&2
    exit 69
  fi
  mkdir -p bin
  local program=$1
  shift
  # Nothing needs cgo, and a program without libc starts faster.
  CGO_ENABLED=0 go build -v "$@" -o "bin/$program" ./cmd/isohound 2>&1 | progress "bin/$program" || exit 70
}

# progress shows how a build goes on, from what go build -v prints: a line for each
# package, each download and each error. A build that takes a moment shows nothing.
progress() { # PROGRAM
  local line begun=$SECONDS packages=0 downloads=0 told= next=3 every=15 format='  %s\n' error='%s\n' wait=(-t 1)
  if [ -t 2 ]; then # the line changes in place
    every=1
    format='\r  %s'
    error='\r\033[K%s\n' # errors take its place
  fi
  if [ "${BASH_VERSINFO[0]}" -lt 4 ]; then # it cannot tell a second without a line from the end
    wait=()
  fi
  while :; do
    if IFS= read -r ${wait[@]+"${wait[@]}"} line; then
      case $line in
      "go: downloading "*) downloads=$((downloads + 1)) ;;
      *[\ :]*) printf "$error" "$line" >&2 ;;
      *) packages=$((packages + 1)) ;;
      esac
    elif [ $? -le 128 ]; then # the end
      break
    fi
    if [ $((SECONDS - begun)) -ge "$next" ]; then
      if [ -z "$told" ]; then
        echo "building $1; the first build takes minutes, later ones a second" >&2
        told=yes
      fi
      printf "$format" "$((SECONDS - begun)) s: $packages packages compiled, $downloads modules downloaded" >&2
      next=$((SECONDS - begun + every))
    fi
  done
  if [ -n "$told" ] && [ -t 2 ]; then
    echo >&2
  fi
}

# prepare builds what a command needs.
prepare() { # COMMAND...
  build isohound "${front[@]}"
  case $1 in
  check | explain | convert | synth | --version | -v)
    # These need the complete program for a GPU only.
    case "$*" in
    *--accel[=\ ]cuda*) ;;
    *) [ -e /dev/nvidiactl ] || [ -e /dev/dxg ] || return 0 ;;
    esac
    ;;
  esac
  build isohound-full
}

# prepare_demo builds the complete program without the clients of servers, unless it
# is there with them.
prepare_demo() {
  build isohound "${front[@]}"
  if [ -x bin/isohound-full ] && ! go version -m bin/isohound-full | grep -q -- '-tags=embedded'; then
    embedded=()
  fi
  build isohound-full ${embedded[@]+"${embedded[@]}"}
}

# Server programs need not be on PATH, and Galera is a library that MariaDB loads.
present() { # FILE
  command -v "$1" >/dev/null || [ -x "/usr/sbin/$1" ] || compgen -G "/usr/lib/postgresql/*/bin/$1" >/dev/null ||
    [ -f "/usr/lib/galera/$1" ] || [ -f "/usr/lib/$1" ] || compgen -G "/usr/lib64/galera*/$1" >/dev/null
}

# A server package is installed only if its program or library is not there.
# Packages may start a system service; the tests never use it.
need() { # FILE PACKAGE
  if present "$1"; then
    return
  fi
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "run.sh: $1 is missing and cannot be installed here; install $2, or run this as root on Debian" >&2
    exit 69
  fi
  echo "installing $2" >&2
  if [ -z "${updated:-}" ]; then
    apt-get update -qq
    updated=1
  fi
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$2" >/dev/null
  if ! present "$1"; then
    echo "run.sh: the package $2 was installed, and $1 is still missing" >&2
    exit 69
  fi
}

# Dgraph is built from its own source, in modules that know nothing of isohound.
dgraph() {
  mkdir -p bin
  bin=$PWD/bin
  echo "building Dgraph 1.1.1 and 25.0.0" >&2
  (cd servers/dgraph/1.1.1 && go build -ldflags "-s -w -X github.com/dgraph-io/dgraph/x.dgraphVersion=v1.1.1" -o "$bin/dgraph-1.1.1" github.com/dgraph-io/dgraph/dgraph)
  (cd servers/dgraph/25.0.0 && go build -ldflags "-s -w -X github.com/hypermodeinc/dgraph/v25/x.dgraphVersion=v25.0.0" -o "$bin/dgraph-25.0.0" github.com/hypermodeinc/dgraph/v25/dgraph)
}

# So is TiDB, with its store in the same process. The version of 2019 builds in a minute; that of 2024 takes
# several, so tests that need it only run where it is built.
tidb() { # VERSIONS...
  mkdir -p bin
  bin=$PWD/bin
  for version in "$@"; do
    echo "building TiDB of $version" >&2
    case $version in
    2019) (cd servers/tidb/2019 && go build -ldflags "-s -w -X github.com/pingcap/parser/mysql.TiDBReleaseVersion=2019-01-08-c68ee7318319" -o "$bin/tidb-server-2019" github.com/pingcap/tidb/tidb-server) ;;
    2024) (cd servers/tidb/2024 && go build -ldflags "-s -w -X github.com/pingcap/tidb/pkg/parser/mysql.TiDBReleaseVersion=2024-07-03-230bbc2ef5ef" -o "$bin/tidb-server-2024" github.com/pingcap/tidb/cmd/tidb-server) ;;
    esac
  done
}

# DuckDB's library is large and needs cgo, so the driver is a module of its own with its own program.
duckdb() {
  if ! command -v g++ >/dev/null; then
    echo "run.sh: g++ is missing, which links DuckDB's library; install it (Debian: apt-get install build-essential)" >&2
    exit 69
  fi
  mkdir -p bin
  bin=$PWD/bin
  echo "building bin/isohound-duckdb" >&2
  (cd drivers/duckdb && CGO_ENABLED=1 go build -o "$bin/isohound-duckdb" ./isohound-duckdb)
}

# Tests of servers wait for much of their time. Tests that only compute take what those leave of the processors: they
# run beside them, at a lower priority.
computing=(./accel/... ./checker/... ./history/...)

# The tests of ./cli take as long as those of all other packages that are not in computing, and wait for servers most of
# the time. So they run in two parts: the first beside those packages, the second after them. Each part starts its own
# servers. second is the pattern of the tests of the second part.
second='^Test[PRST]'

# serve runs the tests of the other packages and the second part of those of ./cli.
serve() {
  ISOHOUND_HISTORIES=${ISOHOUND_HISTORIES:-10000} go test -vet=off -count=1 -p 1 -timeout 55m \
    $(comm -23 <(go list ./... | grep -v '/cli$' | LC_ALL=C sort) <(go list "${computing[@]}" | LC_ALL=C sort)) &&
    ISOHOUND_HISTORIES=${ISOHOUND_HISTORIES:-30000} go test -vet=off -count=1 -timeout 55m -run "$second" ./cli
}

# compute runs the tests that only compute, also under the race detector.
#
# Random histories are small, and one processor judges one after the other: -cpu 1 takes half of the processor time that
# two take, for the same histories. go test runs several packages at a time, so no processor is idle. What several
# goroutines do with large histories runs under the race detector, with all processors, and in plain runs of go test.
#
# The race detector looks at how goroutines meet. Those of a check meet in a few large histories, and hundreds of small
# ones, at all levels at a time, show what is shared by mistake. The tests in slow take minutes there and are left out: if they
# have goroutines, other tests have the same.
slow='TestAgreesWithLinear|TestAhead|TestChronological|TestConfigsAgree|TestFewHotKeys|TestForgottenKeys|TestFromSAT|TestHard|TestHotWriters|TestLargeContradiction|TestMoved|TestOrderOfLevels|TestTorn'
compute() {
  ISOHOUND_HISTORIES=${ISOHOUND_HISTORIES:-10000} go test -vet=off -count=1 -cpu 1 -timeout 60m ./checker/... ./history/... &&
    go test -vet=off -count=1 -timeout 60m ./accel/... &&
    CGO_ENABLED=1 ISOHOUND_HISTORIES=400 ISOHOUND_SEEDS=1 go test -vet=off -count=1 -race -timeout 60m \
      -skip "^($slow)\$" ./checker/... ./history/... &&
    CGO_ENABLED=1 ISOHOUND_GRAPHS=400 go test -vet=off -count=1 -race -short -timeout 60m ./accel/...
}

# ahead compiles packages whose tests run later. If it cannot, they are compiled then.
ahead() {
  for module in "${modules[@]}"; do
    (cd "$module" && CGO_ENABLED=$(cgo "$module") nice -n 14 go build ./...) >/dev/null 2>&1 || true
  done
  CGO_ENABLED=1 nice -n 14 go build -race "${raced[@]}" >/dev/null 2>&1 || true
}

# cgo prints whether a module needs cgo.
cgo() { # MODULE
  if [ "$1" = drivers/duckdb ]; then
    echo 1
  else
    echo 0
  fi
}

# beside runs a function in the background, in a process group of its own, with its output in a file.
beside() { # FUNCTION FILE [NICE]
  set -m
  (
    renice -n "${3:-5}" "$BASHPID" >/dev/null
    "$1"
  ) >"$2" 2>&1 &
  set +m
}

# go vet looks at all packages once, so that go test need not (-vet=off), which would do it for each way to compile them.
tests() {
  need initdb postgresql
  need mariadbd mariadb-server
  need redis-server redis-server
  need libgalera_smm.so galera-4
  need rsync rsync
  need firebird firebird3.0-server
  need g++ build-essential
  need chromium chromium
  need gdb gdb
  need etcd etcd-server
  dgraph
  tidb 2019
  export PATH=$bin:$PATH
  # The programs are built without cgo, so tests are, too. With it, packages would be compiled twice. The race detector and
  # DuckDB need it.
  export CGO_ENABLED=0
  unformatted=$(gofmt -l .)
  if [ -n "$unformatted" ]; then
    echo "run.sh: gofmt would change: $unformatted" >&2
    exit 1
  fi
  go vet ./...
  go build ./...
  # The programs must compile for the other systems, too, on which no test runs.
  GOOS=darwin GOARCH=arm64 go build -tags "${front[1]}" -o /dev/null ./cmd/isohound
  GOOS=windows GOARCH=amd64 go build -tags "${front[1]}" -o /dev/null ./cmd/isohound
  GOOS=windows GOARCH=amd64 go build -tags "${embedded[1]}" -o /dev/null ./cmd/isohound
  # Random tests take their seed from the source text: every change tries other histories, and a run that fails
  # fails again on the same text.
  ISOHOUND_SEED=${ISOHOUND_SEED:-$(find . -name '*.go' -not -path './.cache/*' -print0 | LC_ALL=C sort -z | xargs -0 cat | cksum | cut -d ' ' -f 1)}
  export ISOHOUND_SEED
  echo "run.sh: random tests with ISOHOUND_SEED=$ISOHOUND_SEED"
  raced=(./generator/... ./workloads/... ./results/... ./catalogue/... ./drivers/...)
  modules=()
  for module in drivers/duckdb drivers/etcd/embedtest drivers/mongo/ferrettest examples/*/; do
    [ ! -f "$module/go.mod" ] || modules+=("$module")
  done
  computed=$(mktemp)
  served=$(mktemp)
  beside compute "$computed"
  compute=$!
  beside serve "$served" 0
  serve=$!
  beside ahead /dev/null
  ahead=$!
  trap 'kill -- "-$ahead" "-$serve" "-$compute" 2>/dev/null || true; cat "$served" "$computed"; rm -f "$served" "$computed"' EXIT
  # A larger share of random histories than a plain go test takes.
  ISOHOUND_HISTORIES=${ISOHOUND_HISTORIES:-30000} go test -vet=off -count=1 -timeout 55m -skip "$second" ./cli
  # Servers and libraries that would weigh on isohound itself have modules of their own.
  # The examples are modules as others would write them.
  for module in "${modules[@]}"; do
    (cd "$module" && export CGO_ENABLED=$(cgo "$module") && go vet ./... && go test -vet=off -count=1 -timeout 10m ./...)
  done
  # Every scenario that can run here must come out as its file says.
  prepare scenarios
  scenarios=$(mktemp -d)
  bin/isohound scenarios run all --target embedded --out "$scenarios/embedded"
  bin/isohound scenarios run all --target local --out "$scenarios/local"
  rm -rf "$scenarios"
  wait "$ahead"
  wait "$serve"
  CGO_ENABLED=1 ISOHOUND_HISTORIES=4000 ISOHOUND_SEEDS=1 go test -vet=off -count=1 -race -timeout 20m "${raced[@]}"
  wait "$compute"
}

demo() {
  echo "== Badger, which detects conflicts, checked for serializability: this should hold."
  bin/isohound run --check ser --txns 5000
  echo
  echo "== Badger with DetectConflicts=false, checked for snapshot isolation: updates get lost."
  code=0
  bin/isohound run --isolation DetectConflicts=false --check si --txns 5000 || code=$?
  if [ "$code" != 1 ]; then
    echo "run.sh: expected a violation (exit code 1), got exit code $code" >&2
    exit 70
  fi
  echo
  echo "That violation was expected: nothing protects the second run. Open its report in a browser."
}

case "${1:-}" in
"")
  prepare_demo
  demo
  ;;
test)
  tests
  ;;
dgraph)
  dgraph
  ;;
tidb)
  tidb 2019 2024
  ;;
duckdb)
  duckdb
  ;;
*)
  prepare "$@"
  exec bin/isohound "$@"
  ;;
esac
