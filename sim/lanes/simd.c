/*
 * Chooses the SIMD path: tests each against plain C on adversarial tiles, and times the products
 * of those that pass.
 */
#include "sim/lanes/simd.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "sim/lanes/simd_paths.h"

#if defined(__x86_64__)
#include <xmmintrin.h>

static int host_has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static int host_has_avx512(void)
{
    return host_has_avx2() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq");
}

static int host_has_avx512bf16(void)
{
    return host_has_avx512() && __builtin_cpu_supports("avx512bf16");
}
#else
static int host_has_avx2(void) { return 0; }
static int host_has_avx512(void) { return 0; }
static int host_has_avx512bf16(void) { return 0; }
#endif

static int host_has_c(void) { return 1; }

/* best first, but for what faster_of says: the order in which "auto" looks */
static const struct {
    const char *name;
    const struct simd_path *const *path;
    int (*host_has)(void);
    const char *needs;
} candidates[] = {
    {"avx512bf16", &simd_path_avx512bf16, host_has_avx512bf16, "AVX-512 F, BW, VL, DQ and BF16"},
    {"avx512", &simd_path_avx512, host_has_avx512, "AVX-512 F, BW, VL and DQ"},
    {"avx2", &simd_path_avx2, host_has_avx2, "AVX2 and FMA"},
    {"c", &simd_path_c, host_has_c, "nothing"},
};

#define CANDIDATE_COUNT (sizeof(candidates) / sizeof(candidates[0]))
#define PRODUCT_LOOKS 16

enum { AVX512BF16, AVX512 };            /* places in it */

/* what the self-test found, once per process */
static const char *difference[CANDIDATE_COUNT];
static int is_tested[CANDIDATE_COUNT];
static pthread_mutex_t tested_lock = PTHREAD_MUTEX_INITIALIZER;

static int is_available(size_t i) { return *candidates[i].path && candidates[i].host_has(); }

static const struct simd_path *tested_path(size_t i, struct err *e)
{
    const char *what;

    pthread_mutex_lock(&tested_lock);
    if (!is_tested[i])
        difference[i] = simd_selftest(*candidates[i].path);
    is_tested[i] = 1;
    what = difference[i];
    pthread_mutex_unlock(&tested_lock);
    if (!what)
        return *candidates[i].path;
    err_set(e, "simd path \"%s\" fails its self-test on this host: %s differs from path \"c\"",
            candidates[i].name, what);
    return NULL;
}

static int64_t clock_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* nanoseconds of one product, the least of several; a path for this host */
static int64_t product_ns(const struct simd_path *path)
{
    static const uint32_t row[8][64], pair[SIMD_ARRAY_PAIRS][128];
    _Alignas(64) uint32_t out[SIMD_TILE_WORDS];
    int64_t least = INT64_MAX;

    for (int i = 0; i < PRODUCT_LOOKS; i++) {
        int64_t begin = clock_ns(), taken;

        path->matmul(out, NULL, row, pair);
        taken = clock_ns() - begin;
        least = taken < least ? taken : least;
    }
    return least;
}

static bool bf16_is_fast;

static void measure_products(void)
{
    uint32_t saved = simd_thread_begin();

    bf16_is_fast = product_ns(simd_path_avx512bf16) <= product_ns(simd_path_avx512);
    simd_thread_end(saved);
}

/* whether vdpbf16ps keeps up with the multiply-adds that it stands for; the host has both */
static bool is_bf16_fast(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, measure_products);
    return bf16_is_fast;
}

/* the first that is not slower than the next; CANDIDATE_COUNT: there is none of that name */
static size_t find_path(const char *name)
{
    bool is_auto = strcmp(name, "auto") == 0;
    size_t i = 0;

    if (is_auto && is_available(AVX512BF16) && !is_bf16_fast())
        return AVX512;
    while (i < CANDIDATE_COUNT
           && !(is_auto ? is_available(i) : strcmp(name, candidates[i].name) == 0))
        i++;
    return i;
}

const struct simd_path *simd_select(const char *name, struct err *e)
{
    size_t i = find_path(name);

    if (i == CANDIDATE_COUNT)
        err_set(e, "unknown simd path \"%s\", expected auto, c, avx2, avx512 or avx512bf16", name);
    else if (!is_available(i))
        err_set(e, "simd path \"%s\" needs %s, which this host does not have", name,
                candidates[i].needs);
    else
        return tested_path(i, e);
    return NULL;
}

void simd_halves(const struct simd_path *path, enum simd_unary op, uint32_t *d, const uint32_t *a)
{
    _Alignas(64) uint32_t low[SIMD_TILE_WORDS], high[SIMD_TILE_WORDS];

    path->unary[UN_UNPACK_I_L](low, a);
    path->unary[UN_UNPACK_I_H](high, a);
    path->unary[op](low, low);
    path->unary[op](high, high);
    path->binary[BIN_PACK_I_BF16](d, high, low);
}

#if defined(__x86_64__)
/* all exceptions masked, to nearest even, flush to zero, subnormals are zeros */
#define CONTROL_WORD (0x1f80u | 0x8000u | 0x0040u)

uint32_t simd_thread_begin(void)
{
    uint32_t saved = _mm_getcsr();

    _mm_setcsr(CONTROL_WORD);
    return saved;
}

void simd_thread_end(uint32_t saved) { _mm_setcsr(saved); }
#else
uint32_t simd_thread_begin(void) { return 0; }

void simd_thread_end(uint32_t saved) { (void)saved; }     /* the plain path changes nothing */
#endif
