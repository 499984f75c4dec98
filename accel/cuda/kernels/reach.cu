// The programs of accel/cuda that run on the GPU. docs/cuda.md says how reach.ptx
// is made of them.
#include "common.cuh"
#include "closure.cuh"
#include "insert.cuh"
#include "square.cuh"
#include "ask.cuh"
