// Multiply two matrices twice: on Tensor Cores with the WMMA API, and on CUDA cores with a thread for each element.
//
// Both read the same float16 matrices and add up in float32; in one, a warp has a Tensor Core multiply whole tiles.
// Neither keeps tiles in shared memory: both mostly wait for data, and stay far below what cuBLAS reaches. A profiler sees
// a kernel's name and the types of its arguments: 'wmma' and 'half' tell it the instructions and the precision.
//
//     nvcc -O3 -arch=native workloads/wmma.cu -o wmma
//     ./wmma --size 4096 --steps 10
//
// Tensor Cores begin with Volta. For a GPU that is not in this machine, name its architecture: -arch=sm_70 for Volta
// (up to CUDA 12), sm_75 for Turing, sm_80 for A100, sm_90 for H100 and H200.

#include <cuda_fp16.h>
#include <cuda_profiler_api.h>
#include <mma.h>
#include <nvtx3/nvToolsExt.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

constexpr int TILE = 16;            // rows and columns of a tile
constexpr int WARP = 32;            // threads that work on a tile together
constexpr int BLOCK_TILES = 4;      // a block computes 4 x 4 tiles: its warps find each other's data in the L1 cache
constexpr int WARM_UP_STEPS = 2;
constexpr int CHECKED = 1000;       // elements that are held against the CPU
constexpr double TOLERANCE = 1e-5;  // for each product that is added up

struct Matrices { const half *a, *b; float *c; int size; };  // square and stored row by row

struct Range {  // an NVTX range, from here to the end of the block
    explicit Range(const char* name) { nvtxRangePushA(name); }
    ~Range() { nvtxRangePop(); }
};

#define CHECK(call) check((call), __LINE__)
void check(cudaError_t status, int line) {
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "wmma.cu:%d: %s\n", line, cudaGetErrorString(status));
    std::exit(1);
}

__global__ void wmma_product(const half* left, const half* right, float* product, size_t size) {
    using namespace nvcuda::wmma;
    const size_t row = (blockIdx.y * BLOCK_TILES + threadIdx.z) * TILE;
    const size_t column = (blockIdx.x * BLOCK_TILES + threadIdx.y) * TILE;
    if (row >= size || column >= size) return;  // for all threads of a warp or for none, as WMMA demands
    fragment<matrix_a, TILE, TILE, TILE, half, row_major> a;
    fragment<matrix_b, TILE, TILE, TILE, half, row_major> b;
    fragment<accumulator, TILE, TILE, TILE, float> sum;
    fill_fragment(sum, 0.0f);
    for (size_t k = 0; k < size; k += TILE) {
        load_matrix_sync(a, left + row * size + k, size);
        load_matrix_sync(b, right + k * size + column, size);
        mma_sync(sum, a, b, sum);
    }
    store_matrix_sync(product + row * size + column, sum, size, mem_row_major);
}

__global__ void plain_product(const half* left, const half* right, float* product, size_t size) {
    const size_t row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;  // the size is a multiple of the block's: no thread is outside
    for (size_t k = 0; k < size; ++k) sum += float(left[row * size + k]) * float(right[k * size + column]);
    product[row * size + column] = sum;
}

const char* name_of(bool tensor_cores) { return tensor_cores ? "tensor cores" : "cuda cores"; }

void launch(bool tensor_cores, const Matrices& m) {
    const Range range("step");
    const int tiles = m.size / TILE, blocks = (tiles + BLOCK_TILES - 1) / BLOCK_TILES;
    if (tensor_cores)
        wmma_product<<<dim3(blocks, blocks), dim3(WARP, BLOCK_TILES, BLOCK_TILES)>>>(m.a, m.b, m.c, m.size);
    else
        plain_product<<<dim3(tiles, tiles), dim3(TILE, TILE)>>>(m.a, m.b, m.c, m.size);
    CHECK(cudaGetLastError());
}

float time_launches(bool tensor_cores, const Matrices& m, int steps) {  // milliseconds for each
    const Range range(name_of(tensor_cores));
    cudaEvent_t begin, end;
    for (cudaEvent_t* event : {&begin, &end}) CHECK(cudaEventCreate(event));
    CHECK(cudaEventRecord(begin));
    for (int n = 0; n < steps; ++n) launch(tensor_cores, m);
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));  // waits for the GPU
    float milliseconds;
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    return milliseconds / steps;
}

// The largest error among some elements of C, against sums in float64; infinite where one is NaN.
double largest_error(const std::vector<half>& a, const std::vector<half>& b, const Matrices& m) {
    const size_t size = m.size;
    std::vector<float> c(a.size());
    CHECK(cudaMemcpy(c.data(), m.c, sizeof(float) * c.size(), cudaMemcpyDeviceToHost));
    std::mt19937 random(1);
    double largest = 0;
    for (int n = 0; n < CHECKED; ++n) {
        const size_t place = n ? random() % c.size() : c.size() - 1, row = place / size, column = place % size;
        double sum = 0;
        for (size_t k = 0; k < size; ++k) sum += double(a[row * size + k]) * double(b[k * size + column]);
        largest = std::max(largest, std::isnan(c[place]) ? INFINITY : std::abs(c[place] - sum));
    }
    return largest;
}

int main(int argc, char** argv) {
    int size = 4096, steps = 10;
    bool usable = argc % 2;  // each option has a value
    for (int n = 1; usable && n < argc; n += 2) {
        int* option = !std::strcmp(argv[n], "--size") ? &size : !std::strcmp(argv[n], "--steps") ? &steps : nullptr;
        char rest;
        usable = option && std::sscanf(argv[n + 1], "%d%c", option, &rest) == 1;
    }
    if (!usable || size < TILE || size > 32768 || size % TILE || steps < 1) {
        std::fprintf(stderr, "usage: wmma [--size N] [--steps N]: a multiple of 16 up to 32768; from 1 on\n");
        return 2;
    }
    std::mt19937 random(0);
    std::vector<half> numbers[2];
    half* on_gpu[2];
    float* c;  // all are freed with the process
    const size_t count = size_t(size) * size;
    for (int n = 0; n < 2; ++n) {
        while (numbers[n].size() < count) numbers[n].push_back(random() / 2147483648.0f - 1.0f);  // from -1 to 1
        CHECK(cudaMalloc(&on_gpu[n], sizeof(half) * count));
        CHECK(cudaMemcpy(on_gpu[n], numbers[n].data(), sizeof(half) * count, cudaMemcpyHostToDevice));
    }
    CHECK(cudaMalloc(&c, sizeof(float) * count));
    const Matrices matrices{on_gpu[0], on_gpu[1], c, size};
    const double operations = 2.0 * count * size;
    for (bool tensor_cores : {true, false}) {  // loads the kernels, and checks what they compute
        CHECK(cudaMemset(c, 0xff, sizeof(float) * count));  // NaN: what is never written shows
        const Range range("warm-up");
        time_launches(tensor_cores, matrices, WARM_UP_STEPS);
        const double error = largest_error(numbers[0], numbers[1], matrices);
        std::printf("%-12s  largest error %.1e\n", name_of(tensor_cores), error);
        if (error > TOLERANCE * size) {
            std::fprintf(stderr, "wmma: the %s computed a wrong product\n", name_of(tensor_cores));
            return 1;
        }
    }
    CHECK(cudaProfilerStart());
    const float slow = time_launches(false, matrices, steps), fast = time_launches(true, matrices, steps);
    CHECK(cudaProfilerStop());
    std::printf("cuda cores: %.3f ms per launch, %.1f TFLOP/s\n", slow, operations / slow / 1e9);
    std::printf("time per step: %.3f ms, %.1f TFLOP/s (tensor cores)\n", fast, operations / fast / 1e9);
}
