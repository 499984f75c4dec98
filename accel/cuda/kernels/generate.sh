#!/usr/bin/env bash
# Makes reach.ptx of reach.cu: docs/cuda.md. It needs nvcc and ptxas, of which the
# variables NVCC and PTXAS name others than those on PATH.
set -euo pipefail
export LC_ALL=C # the order of files
cd "$(dirname "$0")"
nvcc=${NVCC:-nvcc} ptxas=${PTXAS:-ptxas}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# shellcheck disable=SC2086 # NVCCFLAGS are several words
$nvcc ${NVCCFLAGS:-} -ptx -arch=compute_60 -O3 -o "$work/nvcc.ptx" reach.cu

# The name of the compiler's version of PTX shuts out drivers that are older than
# the compiler. The kernels need nothing newer than PTX 6.0, which ptxas verifies.
{
  echo "// Made by generate.sh. Not to be edited."
  echo "// source: $(cat ./*.cu ./*.cuh | sha256sum | cut -d' ' -f1)"
  sed 's/^\.version .*/.version 6.0/' "$work/nvcc.ptx"
} >"$work/reach.ptx"
for arch in ${ARCHS:-sm_60 sm_70 sm_80 sm_90}; do
  $ptxas -arch="$arch" --warn-on-spills --warn-on-local-memory-usage -Werror -o "$work/$arch.cubin" "$work/reach.ptx"
done
cp "$work/reach.ptx" reach.ptx
