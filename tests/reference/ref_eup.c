/*
 * The transcendental unit for one value: the functions of sim/lanes/simd_eup.inc,
 * which are their definition, over single floats of sim/lanes/f32_exact.h.
 */
#include "sim/lanes/f32_exact.h"
#include "tests/reference/ref_impl.h"
#include "tests/test.h"

typedef float vf;
typedef uint32_t vi;
typedef bool vm;

static vi v_bits(vf x) { return f32_bits(x); }
static vf v_of_bits(vi x) { return f32_from_bits(x); }
static vf v_set(float x) { return x; }
static vi v_seti(uint32_t x) { return x; }
static vf v_add(vf a, vf b) { return f32_add(a, b); }
static vf v_sub(vf a, vf b) { return f32_sub(a, b); }
static vf v_mul(vf a, vf b) { return f32_mul(a, b); }
static vf v_div(vf a, vf b) { return f32_div(a, b); }
static vf v_fma(vf a, vf b, vf c) { return f32_fma(a, b, c); }
static vf v_sqrt(vf a) { return f32_sqrt(a); }
static vf v_neg(vf a) { return f32_from_bits(f32_bits(a) ^ 0x80000000u); }
static vf v_canon(vf a) { return a; }
static vm v_eq(vf a, vf b) { return f32_flush(a) == f32_flush(b); }
static vm v_lt(vf a, vf b) { return f32_flush(a) < f32_flush(b); }
static vm v_le(vf a, vf b) { return f32_flush(a) <= f32_flush(b); }
static vm v_ieq(vi a, vi b) { return a == b; }
static vf v_select(vm m, vf a, vf b) { return m ? a : b; }
static vi v_iadd(vi a, vi b) { return a + b; }
static vi v_isub(vi a, vi b) { return a - b; }
static vi v_iand(vi a, vi b) { return a & b; }
static vi v_ior(vi a, vi b) { return a | b; }
static vi v_ixor(vi a, vi b) { return a ^ b; }
static vi v_shl(vi a, int count) { return a << count; }
static vi v_sra(vi a, int count) { return (vi)((int32_t)a >> count); }
static vf v_from_s32(vi a) { return (float)(int32_t)a; }
static vi v_to_s32(vf a) { return (vi)f32_to_s32(a); }

#include "sim/lanes/simd_eup.inc"

typedef float eup_fn(float x);
static eup_fn *const functions[] = {eup_pow2, eup_log2, eup_rcp, eup_rsqrt, eup_tanh, eup_sinq,
                                    eup_cosq};

static void compute(struct ref_op *x, int function)
{
    const uint32_t (*a)[LANES] = ref_v(x, 0);
    ref_tile tile;

    for (int i = 0; i < 8; i++)
        for (int j = 0; j < LANES; j++)
            tile[i][j] = f32_bits(functions[function](f32_from_bits(a[i][j])));
    ref_push(x, x->fifo, x->ready_at, OP_VPOP_EUP, false, (const uint32_t (*)[LANES])tile);
}

void ref_VPOW2(struct ref_op *x) { compute(x, 0); }
void ref_VLOG2(struct ref_op *x) { compute(x, 1); }
void ref_VRCP(struct ref_op *x) { compute(x, 2); }
void ref_VRSQRT(struct ref_op *x) { compute(x, 3); }
void ref_VTANH(struct ref_op *x) { compute(x, 4); }
void ref_VTRIG(struct ref_op *x) { compute(x, 5 + ref_choice(x, 0)); }

void ref_VEUP_BF16(struct ref_op *x)
{
    const uint32_t (*a)[LANES] = ref_v(x, 0);
    eup_fn *function = functions[ref_choice(x, 0)];
    ref_tile tile;

    for (int i = 0; i < 8; i++)
        for (int j = 0; j < LANES; j++) {
            uint32_t low = bf16_from_f32(function(f32_from_bits(a[i][j] << 16)));
            uint32_t high = bf16_from_f32(function(f32_from_bits(a[i][j] & 0xffff0000u)));

            tile[i][j] = low | high << 16;
        }
    ref_push(x, x->fifo, x->ready_at, OP_VPOP_EUP, false, (const uint32_t (*)[LANES])tile);
}

void ref_VPOP_EUP(struct ref_op *x) { ref_pop(x, &x->c->eup); }
