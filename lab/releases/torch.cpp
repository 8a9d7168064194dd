// torch.cpp: what the runtimes of old releases take from libtorch: information about the processor, a thread pool, and
// products of matrices.
//
// The processor has AVX2 and what came before, and there is one thread: the results are the same on each machine that
// has these.

#include <cstddef>
#include <cstdint>
#include <complex>

namespace {
uint8_t nothing[4096];

template <typename T>
void gemm(const char* transpose_a, const char* transpose_b, const int* m, const int* n, const int* k, const T* alpha, const T* a, const int* lda,
          const T* b, const int* ldb, const T* beta, T* c, const int* ldc) {
  const bool ta = *transpose_a != 'n' && *transpose_a != 'N';
  const bool tb = *transpose_b != 'n' && *transpose_b != 'N';
  for (int j = 0; j < *n; ++j) {
    for (int i = 0; i < *m; ++i) {
      T sum = 0;
      for (int l = 0; l < *k; ++l) {
        sum += (ta ? a[l + size_t(i) * *lda] : a[i + size_t(l) * *lda]) * (tb ? b[j + size_t(l) * *ldb] : b[l + size_t(j) * *ldb]);
      }
      T& to = c[i + size_t(j) * *ldc];
      to = *beta == T(0) ? *alpha * sum : *alpha * sum + *beta * to;
    }
  }
}

size_t least(size_t a, size_t b) { return a < b ? a : b; }
} // namespace

#define GEMM(name, T)                                                                                                                          \
  void name(const char* ta, const char* tb, const int* m, const int* n, const int* k, const T* alpha, const T* a, const int* lda, const T* b, \
            const int* ldb, const T* beta, T* c, const int* ldc) {                                                                             \
    gemm<T>(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                                                                             \
  }

using Z = size_t;
#define EACH(i, n) for (Z i = 0; i < n; ++i)
#define TILES(i, n, t) for (Z i = 0; i < n; i += t)
#define POOL(name, task, ...) void pthreadpool_parallelize_##name(void*, void (*call) task, void* c, __VA_ARGS__, uint32_t)

extern "C" {
uint8_t cpuinfo_isa[256];
bool cpuinfo_initialize() {
  // Offsets in the cpuinfo of torch 2.5 to 2.10: SSSE3, SSE4, AVX, FMA, F16C, AVX2.
  for (const size_t at : {20, 21, 22, 27, 28, 29, 32, 33}) {
    cpuinfo_isa[at] = 1;
  }
  return true;
}
uint32_t cpuinfo_get_processors_count() { return 1; }
uint32_t cpuinfo_get_uarchs_count() { return 1; }
const void* cpuinfo_get_processor(uint32_t) { return nothing; }
const void* cpuinfo_get_core(uint32_t) { return nothing; }
const void* cpuinfo_get_uarch(uint32_t) { return nothing; }

GEMM(sgemm_, float)
GEMM(dgemm_, double)
GEMM(cgemm_, std::complex<float>)
GEMM(zgemm_, std::complex<double>)

void* pthreadpool_create(size_t) { return nothing; }
void* pthreadpool_create_v2(const void*, void*, size_t) { return nothing; }
void pthreadpool_destroy(void*) {}
bool pthreadpool_update_executor(void*, const void*, void*) { return true; }
void pthreadpool_release_executor_threads(void*) {}
size_t pthreadpool_get_threads_count(void*) { return 1; }
POOL(1d, (void*, Z), Z a) { EACH(i, a) call(c, i); }
POOL(1d_with_thread, (void*, Z, Z), Z a) { EACH(i, a) call(c, 0, i); }
POOL(1d_tile_1d, (void*, Z, Z), Z a, Z ta) { TILES(i, a, ta) call(c, i, least(ta, a - i)); }
POOL(2d, (void*, Z, Z), Z a, Z b) { EACH(i, a) EACH(j, b) call(c, i, j); }
POOL(2d_with_thread, (void*, Z, Z, Z), Z a, Z b) { EACH(i, a) EACH(j, b) call(c, 0, i, j); }
POOL(2d_tile_1d, (void*, Z, Z, Z), Z a, Z b, Z tb) { EACH(i, a) TILES(j, b, tb) call(c, i, j, least(tb, b - j)); }
POOL(2d_tile_2d, (void*, Z, Z, Z, Z), Z a, Z b, Z ta, Z tb) {
  TILES(i, a, ta) TILES(j, b, tb) call(c, i, j, least(ta, a - i), least(tb, b - j));
}
POOL(3d, (void*, Z, Z, Z), Z a, Z b, Z d) { EACH(i, a) EACH(j, b) EACH(k, d) call(c, i, j, k); }
POOL(3d_tile_1d, (void*, Z, Z, Z, Z), Z a, Z b, Z d, Z td) { EACH(i, a) EACH(j, b) TILES(k, d, td) call(c, i, j, k, least(td, d - k)); }
POOL(3d_tile_1d_with_thread, (void*, Z, Z, Z, Z, Z), Z a, Z b, Z d, Z td) {
  EACH(i, a) EACH(j, b) TILES(k, d, td) call(c, 0, i, j, k, least(td, d - k));
}
POOL(3d_tile_2d, (void*, Z, Z, Z, Z, Z), Z a, Z b, Z d, Z tb, Z td) {
  EACH(i, a) TILES(j, b, tb) TILES(k, d, td) call(c, i, j, k, least(tb, b - j), least(td, d - k));
}
POOL(4d, (void*, Z, Z, Z, Z), Z a, Z b, Z d, Z e) { EACH(i, a) EACH(j, b) EACH(k, d) EACH(l, e) call(c, i, j, k, l); }
POOL(4d_tile_2d, (void*, Z, Z, Z, Z, Z, Z), Z a, Z b, Z d, Z e, Z td, Z te) {
  EACH(i, a) EACH(j, b) TILES(k, d, td) TILES(l, e, te) call(c, i, j, k, l, least(td, d - k), least(te, e - l));
}
// The tiles of these may be larger than the given ones, which they are not.
POOL(1d_tile_1d_dynamic, (void*, Z, Z), Z a, Z ta) { TILES(i, a, ta) call(c, i, least(ta, a - i)); }
POOL(1d_tile_1d_dynamic_with_thread, (void*, Z, Z, Z), Z a, Z ta) { TILES(i, a, ta) call(c, 0, i, least(ta, a - i)); }
POOL(2d_tile_1d_dynamic, (void*, Z, Z, Z), Z a, Z b, Z tb) { EACH(i, a) TILES(j, b, tb) call(c, i, j, least(tb, b - j)); }
POOL(2d_tile_1d_dynamic_with_thread, (void*, Z, Z, Z, Z), Z a, Z b, Z tb) { EACH(i, a) TILES(j, b, tb) call(c, 0, i, j, least(tb, b - j)); }
POOL(2d_tile_2d_dynamic, (void*, Z, Z, Z, Z), Z a, Z b, Z ta, Z tb) {
  TILES(i, a, ta) TILES(j, b, tb) call(c, i, j, least(ta, a - i), least(tb, b - j));
}
POOL(2d_tile_2d_dynamic_with_thread, (void*, Z, Z, Z, Z, Z), Z a, Z b, Z ta, Z tb) {
  TILES(i, a, ta) TILES(j, b, tb) call(c, 0, i, j, least(ta, a - i), least(tb, b - j));
}
POOL(3d_tile_1d_dynamic, (void*, Z, Z, Z, Z), Z a, Z b, Z d, Z td) {
  EACH(i, a) EACH(j, b) TILES(k, d, td) call(c, i, j, k, least(td, d - k));
}
POOL(3d_tile_1d_dynamic_with_thread, (void*, Z, Z, Z, Z, Z), Z a, Z b, Z d, Z td) {
  EACH(i, a) EACH(j, b) TILES(k, d, td) call(c, 0, i, j, k, least(td, d - k));
}
POOL(3d_tile_2d_dynamic, (void*, Z, Z, Z, Z, Z), Z a, Z b, Z d, Z tb, Z td) {
  EACH(i, a) TILES(j, b, tb) TILES(k, d, td) call(c, i, j, k, least(tb, b - j), least(td, d - k));
}
POOL(3d_tile_2d_dynamic_with_thread, (void*, Z, Z, Z, Z, Z, Z), Z a, Z b, Z d, Z tb, Z td) {
  EACH(i, a) TILES(j, b, tb) TILES(k, d, td) call(c, 0, i, j, k, least(tb, b - j), least(td, d - k));
}
POOL(4d_tile_2d_dynamic, (void*, Z, Z, Z, Z, Z, Z), Z a, Z b, Z d, Z e, Z td, Z te) {
  EACH(i, a) EACH(j, b) TILES(k, d, td) TILES(l, e, te) call(c, i, j, k, l, least(td, d - k), least(te, e - l));
}
POOL(5d, (void*, Z, Z, Z, Z, Z), Z a, Z b, Z d, Z e, Z f) { EACH(i, a) EACH(j, b) EACH(k, d) EACH(l, e) EACH(m, f) call(c, i, j, k, l, m); }
POOL(5d_tile_2d, (void*, Z, Z, Z, Z, Z, Z, Z), Z a, Z b, Z d, Z e, Z f, Z te, Z tf) {
  EACH(i, a) EACH(j, b) EACH(k, d) TILES(l, e, te) TILES(m, f, tf) call(c, i, j, k, l, m, least(te, e - l), least(tf, f - m));
}
POOL(6d_tile_2d, (void*, Z, Z, Z, Z, Z, Z, Z, Z), Z a, Z b, Z d, Z e, Z f, Z g, Z tf, Z tg) {
  EACH(i, a) EACH(j, b) EACH(k, d) EACH(l, e) TILES(m, f, tf) TILES(n, g, tg)
  call(c, i, j, k, l, m, n, least(tf, f - m), least(tg, g - n));
}
}
