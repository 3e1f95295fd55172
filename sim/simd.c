#include "sim/simd.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "sim/simd_paths.h"

#if defined(__x86_64__)
#include <xmmintrin.h>

static int host_has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static int host_has_avx512bf16(void)
{
    return host_has_avx2() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bf16");
}
#else
static int host_has_avx2(void) { return 0; }
static int host_has_avx512bf16(void) { return 0; }
#endif

static int host_has_c(void) { return 1; }

/* best first: the order in which "auto" looks */
static const struct {
    const char *name;
    const struct simd_path *const *path;
    int (*host_has)(void);
    const char *needs;
} candidates[] = {
    {"avx512bf16", &simd_path_avx512bf16, host_has_avx512bf16, "AVX-512 F, BW, VL, DQ and BF16"},
    {"avx2", &simd_path_avx2, host_has_avx2, "AVX2 and FMA"},
    {"c", &simd_path_c, host_has_c, "nothing"},
};

#define CANDIDATE_COUNT (sizeof(candidates) / sizeof(candidates[0]))

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

const struct simd_path *simd_select(const char *name, struct err *e)
{
    int is_auto = strcmp(name, "auto") == 0;

    for (size_t i = 0; i < CANDIDATE_COUNT; i++) {
        if (!is_auto && strcmp(name, candidates[i].name) != 0)
            continue;
        if (is_available(i))
            return tested_path(i, e);
        if (!is_auto) {
            err_set(e, "simd path \"%s\" needs %s, which this host does not have", name,
                    candidates[i].needs);
            return NULL;
        }
    }
    err_set(e, "unknown simd path \"%s\", expected auto, c, avx2 or avx512bf16", name);
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
