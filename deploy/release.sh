#!/usr/bin/env bash
# deploy/release.sh [FOLDER]   builds the archives of a release into FOLDER (default dist)
#
# HEAD must have a tag, which is the version, and no file may be changed. The same commit and the
# same Go give the same files, byte by byte. Needs Go, git and GNU tar.
#   ISOHOUND_TARGETS   the systems, default "linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64"
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  echo "release.sh: $*" >&2
  exit 1
}

version=$(git describe --exact-match --tags HEAD 2>/dev/null) || fail "HEAD has no tag; tag it with the version: git tag v1.2.3"
[ -z "$(git status --porcelain)" ] || fail "there are changes that are not committed; git status lists them"
tar --version 2>/dev/null | grep -q GNU || fail "tar is not GNU tar, which makes archives that are always the same"

dist=${1:-dist}
[ ! -e "$dist" ] || fail "$dist exists; remove it or name another folder"
mkdir -p "$dist"
dist=$(cd "$dist" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
day=$(git log -1 --format=%ct)
time=$(TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd)
export SOURCE_DATE_EPOCH=$day CGO_ENABLED=0

build() { # SYSTEM PROCESSOR FILE
  GOOS=$1 GOARCH=$2 go build -trimpath -buildvcs=true -ldflags "-s -w" -o "$3" ./cmd/isohound
}

# Completions and manual pages come from the program for this machine.
build "$(go env GOHOSTOS)" "$(go env GOHOSTARCH)" "$work/isohound"
mkdir "$work/completion"
for shell in bash zsh fish powershell; do
  "$work/isohound" completion "$shell" >"$work/completion/isohound.$shell"
done
"$work/isohound" man "$work/man"

for target in ${ISOHOUND_TARGETS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64}; do
  system=${target%/*} processor=${target#*/}
  name=isohound-$version-$system-$processor
  program=isohound
  [ "$system" != windows ] || program=isohound.exe
  echo "$name" >&2
  mkdir "$work/$name"
  build "$system" "$processor" "$work/$name/$program"
  cp README.md CHANGELOG.md LICENSE "$work/$name"
  cp -r "$work/completion" "$work/man" "$work/$name"
  tar -C "$work" --sort=name --mtime="@$day" --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw,a-s -cf - "$name" | gzip -n -9 >"$dist/$name.tar.gz"
  # The list of all modules that are linked, with their checksums (software bill of materials,
  # CycloneDX), read from the program itself. Its time is that of the commit.
  go run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.9.0 bin -json -noserial "$work/$name/$program" |
    sed "s/\"timestamp\": \"[^\"]*\"/\"timestamp\": \"$time\"/" >"$dist/$name.cdx.json"
done
(cd "$dist" && sha256sum ./*.tar.gz ./*.cdx.json | sed 's, \./, ,' >SHA256SUMS)
echo "$dist" >&2
