// FLOP of a cycle of the tensor pipe for each shape of mma.sync: as many instructions as are asked for, and nothing else.
//
//     nvcc -O3 -arch=native benchmarks/mma_rates.cu -o mma_rates
//     ncu --metrics sm__pipe_tensor_cycles_active.sum --csv ./mma_rates
//
// It prints each kernel's FLOP, which are to be divided by the kernel's cycles. What the chip has no instruction for runs
// as others, or on no tensor pipe. Which instructions they became: cuobjdump --dump-sass mma_rates.
#include <cstdint>
#include <cstdio>
#include <cuda_runtime.h>
#include <mma.h>

constexpr int WARPS = 4, ROUNDS = 4096;  // of a block, one for each pipe of an SM; instructions of each
constexpr size_t ZEROS = 4096;           // bytes

// What is multiplied doesn't matter to the counter, but the compiler must not know that it is 0: it would leave it out.
#define REGISTERS                                                                                                      \
    uint32_t a[4], b[2], h[2] = {}, n[4] = {};                                                                         \
    float f[8] = {};                                                                                                   \
    double da[8], db[4], dc[4] = {};                                                                                   \
    for (uint32_t &each : a) each = *zero;                                                                             \
    for (uint32_t &each : b) each = *zero;                                                                             \
    for (double &each : da) each = *zero;                                                                              \
    for (double &each : db) each = *zero;
#define KEEP                                                                                                           \
    float sum = 0;                                                                                                     \
    for (float each : f) sum += each;                                                                                  \
    for (uint32_t each : n) sum += each;                                                                               \
    for (double each : dc) sum += float(each);                                                                         \
    if (sum + h[0] + h[1] == 1.0f) *sink = sum;

#define KERNEL(NAME, ...)                                                                                              \
    __global__ void NAME(const volatile uint32_t *zero, float *sink) {                                                                              \
        REGISTERS                                                                                                      \
        for (int round = 0; round < ROUNDS; ++round) asm volatile(__VA_ARGS__);                                        \
        KEEP                                                                                                           \
    }

#define F4 "{%0,%1,%2,%3}"
#define OUT_F4 "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])
#define OUT_N4 "+r"(n[0]), "+r"(n[1]), "+r"(n[2]), "+r"(n[3])
#define IN_42 "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])
#define IN_21 "r"(a[0]), "r"(a[1]), "r"(b[0])
#define LARGE(SHAPE, TYPES) "mma.sync.aligned." SHAPE ".row.col." TYPES " " F4 ", {%4,%5,%6,%7}, {%8,%9}, " F4 ";"
#define SMALL(SHAPE, TYPES) "mma.sync.aligned." SHAPE ".row.col." TYPES " " F4 ", {%4,%5}, {%6}, " F4 ";"

KERNEL(fp16_m16n8k16, LARGE("m16n8k16", "f32.f16.f16.f32") : OUT_F4 : IN_42)
KERNEL(fp16_m16n8k8, SMALL("m16n8k8", "f32.f16.f16.f32") : OUT_F4 : IN_21)
KERNEL(fp16_m16n8k16_in_fp16,
       "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
       : "+r"(h[0]), "+r"(h[1])
       : IN_42)
KERNEL(fp16_m16n8k8_in_fp16, "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3}, {%4}, {%0,%1};"
       : "+r"(h[0]), "+r"(h[1])
       : IN_21)
KERNEL(bf16_m16n8k16, LARGE("m16n8k16", "f32.bf16.bf16.f32") : OUT_F4 : IN_42)
KERNEL(bf16_m16n8k8, SMALL("m16n8k8", "f32.bf16.bf16.f32") : OUT_F4 : IN_21)
KERNEL(tf32_m16n8k8, LARGE("m16n8k8", "f32.tf32.tf32.f32") : OUT_F4 : IN_42)
KERNEL(tf32_m16n8k4, SMALL("m16n8k4", "f32.tf32.tf32.f32") : OUT_F4 : IN_21)
KERNEL(int8_m16n8k32, LARGE("m16n8k32", "s32.s8.s8.s32") : OUT_N4 : IN_42)
KERNEL(int8_m16n8k16, SMALL("m16n8k16", "s32.s8.s8.s32") : OUT_N4 : IN_21)
KERNEL(int8_m8n8k16, "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"
       : "+r"(n[0]), "+r"(n[1])
       : "r"(a[0]), "r"(b[0]))
KERNEL(fp64_m8n8k4, "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
       : "+d"(dc[0]), "+d"(dc[1])
       : "d"(da[0]), "d"(db[0]))
KERNEL(fp16_m8n8k4,  // Volta's: the four quarters of a warp have a product each
       "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, {%10,%11}, "
       "{%0,%1,%2,%3,%4,%5,%6,%7};"
       : OUT_F4, "+f"(f[4]), "+f"(f[5]), "+f"(f[6]), "+f"(f[7])
       : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]))
#if __CUDA_ARCH__ >= 900 || !defined(__CUDA_ARCH__)
#define OUT_D4 "+d"(dc[0]), "+d"(dc[1]), "+d"(dc[2]), "+d"(dc[3])
KERNEL(fp64_m16n8k4, SMALL("m16n8k4", "f64.f64.f64.f64") : OUT_D4 : "d"(da[0]), "d"(da[1]), "d"(db[0]))
KERNEL(fp64_m16n8k8, LARGE("m16n8k8", "f64.f64.f64.f64")
       : OUT_D4
       : "d"(da[0]), "d"(da[1]), "d"(da[2]), "d"(da[3]), "d"(db[0]), "d"(db[1]))
KERNEL(fp64_m16n8k16,
       "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 " F4 ", {%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, " F4 ";"
       : OUT_D4
       : "d"(da[0]), "d"(da[1]), "d"(da[2]), "d"(da[3]), "d"(da[4]), "d"(da[5]), "d"(da[6]), "d"(da[7]), "d"(db[0]),
         "d"(db[1]), "d"(db[2]), "d"(db[3]))
#else
__global__ void fp64_m16n8k4(const volatile uint32_t *, float *) {}
__global__ void fp64_m16n8k8(const volatile uint32_t *, float *) {}
__global__ void fp64_m16n8k16(const volatile uint32_t *, float *) {}
#endif

// A WMMA product is some of these instructions, which the compiler chooses.
template <typename In, typename Element, typename Out, int K>
__device__ void wmma_loop(const volatile uint32_t *zero, float *sink) {
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, K, In, row_major> left;
    fragment<matrix_b, 16, 16, K, In, col_major> right;
    fragment<accumulator, 16, 16, K, Out> sum;
    load_matrix_sync(left, (const Element *)zero, 16), load_matrix_sync(right, (const Element *)zero + 256, 16);
    fill_fragment(sum, Out(0));
    for (int round = 0; round < ROUNDS; ++round) mma_sync(sum, left, right, sum);
    for (int n = 0; n < sum.num_elements; ++n)
        if (float(sum.x[n]) == 1.0f) *sink = 1;
}
#define WMMA(NAME, ...)                                                                                                \
    __global__ void NAME(const volatile uint32_t *zero, float *sink) { wmma_loop<__VA_ARGS__>(zero, sink); }
WMMA(fp16_wmma, half, half, float, 16)
WMMA(fp16_wmma_in_fp16, half, half, half, 16)
WMMA(bf16_wmma, __nv_bfloat16, __nv_bfloat16, float, 16)
WMMA(tf32_wmma, nvcuda::wmma::precision::tf32, float, float, 8)
WMMA(int8_wmma, signed char, signed char, int, 16)

struct Case {
    const char *name;
    void (*kernel)(const volatile uint32_t *, float *);
    int flop;  // of an instruction: twice the products
};
#define CASE(NAME, M, N, K) {#NAME, NAME, 2 * M * N * K}
const Case CASES[] = {
    CASE(fp16_m16n8k16, 16, 8, 16),
    CASE(fp16_m16n8k8, 16, 8, 8),
    CASE(fp16_m16n8k16_in_fp16, 16, 8, 16),
    CASE(fp16_m16n8k8_in_fp16, 16, 8, 8),
    CASE(fp16_m8n8k4, 4 * 8, 8, 4),
    CASE(bf16_m16n8k16, 16, 8, 16),
    CASE(bf16_m16n8k8, 16, 8, 8),
    CASE(tf32_m16n8k8, 16, 8, 8),
    CASE(tf32_m16n8k4, 16, 8, 4),
    CASE(int8_m16n8k32, 16, 8, 32),
    CASE(int8_m16n8k16, 16, 8, 16),
    CASE(int8_m8n8k16, 8, 8, 16),
    CASE(fp64_m8n8k4, 8, 8, 4),
    CASE(fp64_m16n8k4, 16, 8, 4),
    CASE(fp64_m16n8k8, 16, 8, 8),
    CASE(fp64_m16n8k16, 16, 8, 16),
    CASE(fp16_wmma, 16, 16, 16),
    CASE(fp16_wmma_in_fp16, 16, 16, 16),
    CASE(bf16_wmma, 16, 16, 16),
    CASE(tf32_wmma, 16, 16, 8),
    CASE(int8_wmma, 16, 16, 16),
};

int main() {
    cudaDeviceProp device;
    cudaGetDeviceProperties(&device, 0);
    float *sink;
    uint32_t *zero;
    cudaMalloc(&sink, sizeof(float)), cudaMalloc(&zero, ZEROS), cudaMemset(zero, 0, ZEROS);
    for (const Case &each : CASES) {
        each.kernel<<<device.multiProcessorCount, WARPS * 32>>>(zero, sink);
        const cudaError_t status = cudaDeviceSynchronize();
        const double flop = double(each.flop) * ROUNDS * WARPS * device.multiProcessorCount;
        std::printf("%-22s %.0f FLOP%s%s\n", each.name, flop, status ? ", failed: " : "", status ? cudaGetErrorString(status) : "");
    }
    return 0;
}
