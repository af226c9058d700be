// What the L2 cache gives: passes over a buffer that stays in it, past the L1 cache.
//
//     nvcc -O3 -arch=native benchmarks/l2_bandwidth.cu -o l2_bandwidth && ./l2_bandwidth [TOTAL_GB]
#include <cstdio>
#include <cstdlib>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>

enum Mode { READ, WRITE, COPY };

template <Mode MODE>
__global__ void __launch_bounds__(256) pass(float4 *from, float4 *to, int chunks, int passes, float *sink) {
    const size_t threads = size_t(gridDim.x) * blockDim.x;
    float sum = 0;
    for (int p = 0; p < passes; ++p) {
        const size_t block = (blockIdx.x + size_t(p) * 37) % gridDim.x;  // another SM's share in each pass
        const size_t t = block * blockDim.x + threadIdx.x;
#pragma unroll 4
        for (int c = 0; c < chunks; ++c) {
            float4 v = make_float4(p, c, 0, 0);
            if (MODE != WRITE) v = __ldcg(from + c * threads + t);
            if (MODE == READ) sum += v.x + v.y + v.z + v.w;
            if (MODE != READ) __stcg(to + c * threads + t, v);
        }
    }
    if (sum == -1.0f) *sink = sum;
}

template <Mode MODE> void measure(const char *name, float4 *from, float4 *to, float *sink, int blocks, double total) {
    const double chunk = blocks * 256.0 * sizeof(float4);
    for (int chunks : {1, 2, 3, 4, 5, 6, 8, 10, 12, 60}) {
        const double bytes = chunks * chunk * (MODE == COPY ? 2 : 1);
        const int passes = total / bytes > 1 ? int(total / bytes) : 1;
        float best = 1e9f, ms;
        for (int i = 0; i < 3; ++i) {
            cudaEvent_t begin, end;
            cudaEventCreate(&begin), cudaEventCreate(&end);
            cudaEventRecord(begin);
            pass<MODE><<<blocks, 256>>>(from, to, chunks, passes, sink);
            cudaEventRecord(end), cudaEventSynchronize(end), cudaEventElapsedTime(&ms, begin, end);
            if (ms < best) best = ms;
        }
        printf("%s working set %.1f MB passes %d: %.3f ms, %.3f TB/s\n", name, bytes / 1e6, passes, best, bytes * passes / best / 1e9);
    }
}

int main(int count, char **words) {
    const double total = (count > 1 ? atof(words[1]) : 8) * 1e9;
    cudaDeviceProp device;
    cudaGetDeviceProperties(&device, 0);
    const int blocks = device.multiProcessorCount * 8;
    printf("%s, %d SMs, L2 %.1f MB\n", device.name, device.multiProcessorCount, device.l2CacheSize / 1e6);
    float4 *from, *to;
    float *sink;
    const size_t most = size_t(60) * blocks * 256 * sizeof(float4);
    cudaMalloc(&from, most), cudaMalloc(&to, most), cudaMalloc(&sink, 4);
    cudaMemset(from, 0, most), cudaMemset(to, 0, most);
    cudaDeviceSynchronize(), cudaProfilerStart();
    measure<READ>("read", from, to, sink, blocks, total);
    measure<WRITE>("write", from, to, sink, blocks, total);
    measure<COPY>("copy", from, to, sink, blocks, total);
    cudaDeviceSynchronize(), cudaProfilerStop();
    printf("%s\n", cudaGetErrorString(cudaGetLastError()));
}
