#include "tests/rigs/kernel_rig.h"

#include <math.h>

#include "base/floats.h"
#include "base/rng.h"
#include "base/units.h"
#include "stack/interp/interp.h"
#include "tests/test.h"
#include "stack/kernels/registry.h"
#include "tests/rigs/chip_set.h"

#define LEAST_ROWS 6144                 /* of VMEM that a kernel gets whatever lies there */
#define FIRST_ROW 64                    /* VMEM below it is nobody's */

static void must(int status, const struct err *e)
{
    if (status)
        fail_msg("%s", e->msg);
}

static void load_chip(struct kernel_rig *r)
{
    char *copy = arena_strdup(&r->arena, r->set ? r->set : ""), *rest = NULL;
    struct err e;

    if (!slice_of_chip(&r->slice, r->chip, 0))
        fail_msg("no chip %s", r->chip);
    must(chip_load_builtin(&r->machine_chip, r->chip, NULL, &r->arena, &e), &e);
    for (char *s = strtok_r(copy, " ", &rest); s; s = strtok_r(NULL, " ", &rest))
        must(chip_set(&r->machine_chip, s, NULL, &r->arena, &e), &e);
}

struct places { int64_t hbm, vmem_end; };

static void place(struct array *a, bool is_in_vmem, struct places *p)
{
    is_in_vmem = is_in_vmem && p->vmem_end - a->bytes > LEAST_ROWS * ARRAY_ROW_BYTES;
    a->space = is_in_vmem ? SPACE_VMEM : SPACE_HBM;
    if (is_in_vmem) {
        p->vmem_end -= a->bytes;
        a->address = p->vmem_end;
    } else {
        a->address = p->hbm;
        p->hbm += a->bytes;
    }
}

static void make_arrays(struct kernel_rig *r, struct places *p)
{
    const struct graph *g = r->body;

    for (int i = 0; i < g->parameter_count; i++) {
        const struct graph_node *n = &g->node[g->parameter[i]];

        array_init(&r->operand[i], n->name, &n->shape, r->operand_order[i]);
        place(&r->operand[i], r->operands_in_vmem >> i & 1, p);
        r->operand[i].is_fixed = true;
    }
    for (int i = 0; i < g->output_count; i++) {
        struct array *a = &r->result_array[i];

        array_init(a, g->output[i].name, &g->node[g->output[i].node].shape, r->result_order[i]);
        if (r->alias[i]) {
            a->space = r->operand[r->alias[i] - 1].space;
            a->address = r->operand[r->alias[i] - 1].address;
            r->operand[r->alias[i] - 1].is_fixed = false;
        } else {
            place(a, r->results_in_vmem >> i & 1, p);
        }
    }
}

static void make_job(struct kernel_rig *r, const struct places *p)
{
    const struct array **list = arena_array(&r->arena, 2 * KERNEL_RIG_ARRAYS, sizeof(*list));

    for (int i = 0; i < KERNEL_RIG_ARRAYS; i++) {
        list[i] = &r->operand[i];
        list[KERNEL_RIG_ARRAYS + i] = &r->result_array[i];
    }
    r->job = (struct kernel_job){
        .chip = &r->machine_chip, .codegen = r->codegen, .name = r->body->name, .source = "rig",
        .body = r->body, .operand = list, .result = list + KERNEL_RIG_ARRAYS,
        .operand_count = r->body->parameter_count, .result_count = r->body->output_count,
        .vmem_row = FIRST_ROW, .first_flag = 2, .flag_count = 60, .smem = LINK_SMEM_END,
        .smem_bytes = r->machine_chip.smem_bytes - LINK_SMEM_END, .core_count = 1,
        .tiling = r->tiling};
    r->job.vmem_rows = p->vmem_end / ARRAY_ROW_BYTES - FIRST_ROW;
    if (r->vmem_rows && r->vmem_rows < r->job.vmem_rows)
        r->job.vmem_rows = r->vmem_rows;
}

static void link_alone(struct kernel_rig *r)
{
    struct link_item item = {.kind = LINK_SEGMENT, .segment = &r->segment,
                             .note = r->body->name};
    struct err e;

    must(link_program(&item, 1, &r->machine_chip, r->body->name, &r->arena, &r->linked, &e), &e);
}

void kernel_rig_open(struct kernel_rig *r, const struct graph *body)
{
    struct places p = {0};
    struct err e;

    arena_init(&r->arena);
    r->body = body;
    r->refusal[0] = 0;
    assert_in_range(body->parameter_count, 0, KERNEL_RIG_ARRAYS);
    load_chip(r);
    p.vmem_end = r->machine_chip.vmem_bytes;
    make_arrays(r, &p);
    make_job(r, &p);
    if (kernel_compile(&r->job, &r->arena, &r->segment, &e)) {
        if (!r->may_refuse)
            fail_msg("%s", e.msg);
        snprintf(r->refusal, sizeof(r->refusal), "%s", e.msg);
        return;
    }
    link_alone(r);
}

void kernel_rig_close(struct kernel_rig *r)
{
    arena_fini(&r->arena);
}

/* ----- data */

static uint32_t random_bits(enum graph_dtype dtype, enum rig_values values, struct rng *r)
{
    static const float hard[] = {0.0f, -0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, NAN, 1e-40f,
                                 3.4e38f, -3.4e38f, 1e-30f, 65536.5f, 0.5f};
    uint32_t any = (uint32_t)(rng_next(r) >> 16);
    float f;

    if (dtype == DTYPE_PRED)
        return any & 1;
    if (dtype != DTYPE_F32 && dtype != DTYPE_BF16 && values == RIG_HARD)
        return dtype == DTYPE_S8 ? (uint32_t)(int8_t)any : dtype == DTYPE_U8 ? any & 255 : any;
    if (dtype != DTYPE_F32 && dtype != DTYPE_BF16)
        return dtype == DTYPE_U32 || dtype == DTYPE_U8 ? any % 9 : (uint32_t)((int)(any % 17) - 8);
    f = values == RIG_UNIFORM ? rng_uniform(r, -1, 1) : (float)((int)(any % 17) - 8);
    if (values == RIG_HARD)
        f = any % 4 ? f32_from_bits((uint32_t)rng_next(r)) : hard[any / 4 % COUNT_OF(hard)];
    if (dtype == DTYPE_BF16)
        f = f32_round_to_bf16(f);
    return f32_bits(f);
}

void *kernel_rig_random(struct arena *a, const struct shape *s, enum rig_values values,
                        uint64_t seed)
{
    int64_t count = shape_elems(s);
    uint32_t *data = arena_array(a, (size_t)count, sizeof(*data));
    struct rng r;

    rng_init(&r, seed);
    for (int64_t i = 0; i < count; i++)
        data[i] = random_bits(s->dtype, values, &r);
    return data;
}

static const void *input_of(struct kernel_rig *r, int i, uint64_t seed)
{
    const struct shape *s = &r->operand[i].shape;
    uint32_t *data;

    if (r->input[i])
        return r->input[i];
    data = kernel_rig_random(&r->arena, s, r->values, seed * 97 + (uint64_t)i);
    if (r->index_end && (s->dtype == DTYPE_S32 || s->dtype == DTYPE_U32))
        for (int64_t k = 0; k < shape_elems(s); k++)
            data[k] = (data[k] + 8) % (uint32_t)r->index_end;
    return data;
}

/* ----- running */

static struct machine *make_machine(struct kernel_rig *r, enum run_mode mode)
{
    struct machine_options options = {.mode = mode, .thread_count = 1, .simd = "auto",
                                      .check_races = r->checks_accesses,
                                      .check_unwritten = r->checks_accesses};
    struct machine *m;
    struct err e;

    m = machine_create(&r->slice, &r->machine_chip, &options, &e);
    if (!m)
        fail_msg("%s", e.msg);
    must(machine_load(m, 0, &r->linked.program, &e), &e);
    return m;
}

static void write_array(struct machine *m, const struct array *a, const void *tiles)
{
    struct err e;

    must(a->space == SPACE_HBM ? machine_hbm_write(m, 0, a->address, tiles, a->bytes, &e)
                               : machine_vmem_write(m, 0, a->address, tiles, a->bytes, &e), &e);
}

/* ones in every bit, NaN of floats, where no element lies */
static void spoil_padding(struct kernel_rig *r, const struct array *a, uint8_t *tiles)
{
    int64_t count = shape_elems(&a->shape);
    uint32_t *ones = arena_array(&r->arena, (size_t)count, sizeof(*ones));
    uint8_t *is_element = arena_alloc(&r->arena, (size_t)a->bytes);

    for (int64_t i = 0; i < count; i++)
        ones[i] = UINT32_MAX;
    array_pack(a, ones, is_element);
    for (int64_t i = 0; i < a->bytes / a->element_bytes; i++) {
        uint8_t *element = is_element + i * a->element_bytes, any = 0;

        for (int b = 0; b < a->element_bytes; b++)
            any |= element[b];
        if (!any)
            memset(tiles + i * a->element_bytes, 0xff, (size_t)a->element_bytes);
    }
}

static void put_inputs(struct kernel_rig *r, struct machine *m, const void *const *input)
{
    for (int i = 0; i < r->body->parameter_count; i++) {
        void *tiles = arena_alloc(&r->arena, (size_t)r->operand[i].bytes);

        array_pack(&r->operand[i], input[i], tiles);
        if (r->spoils_padding)
            spoil_padding(r, &r->operand[i], tiles);
        write_array(m, &r->operand[i], tiles);
    }
}

static void get_results(struct kernel_rig *r, struct machine *m)
{
    struct err e;

    for (int i = 0; i < r->body->output_count; i++) {
        const struct array *a = &r->result_array[i];
        void *tiles = arena_alloc(&r->arena, (size_t)a->bytes);
        void *dense = arena_alloc(&r->arena, (size_t)shape_elems(&a->shape) * 4);

        must(a->space == SPACE_HBM ? machine_hbm_read(m, 0, a->address, tiles, a->bytes, &e)
                                   : machine_vmem_read(m, 0, a->address, tiles, a->bytes, &e),
             &e);
        array_unpack(a, tiles, dense);
        r->result[i] = dense;
    }
}

cycle_t kernel_rig_time(struct kernel_rig *r)
{
    struct machine *m = make_machine(r, MODE_TIMING);
    struct err e;

    must(machine_run(m, &e), &e);
    r->cycles = machine_cycles(m);
    machine_destroy(m);
    return r->cycles;
}

/* ----- comparing */

/* distance in units of the last place of `expected` in the type */
static double ulps(float got, float expected, enum graph_dtype dtype)
{
    int exponent, bits = dtype == DTYPE_BF16 ? 8 : 24;

    if (got == expected)
        return 0;
    if (!isfinite(got) || !isfinite(expected))
        return INFINITY;
    frexp((double)expected, &exponent);
    if (exponent < -125)
        exponent = -125;
    return fabs((double)got - (double)expected) / ldexp(1, exponent - bits);
}

static void compare(struct kernel_rig *r, int result, const uint32_t *expected, uint64_t seed)
{
    const struct shape *s = &r->result_array[result].shape;
    const uint32_t *got = r->result[result];
    bool is_float = s->dtype == DTYPE_F32 || s->dtype == DTYPE_BF16;

    for (int64_t i = 0; i < shape_elems(s); i++) {
        float g = f32_from_bits(got[i]), x = f32_from_bits(expected[i]);
        double off = is_float ? ulps(g, x, s->dtype) : INFINITY;

        if (got[i] == expected[i] || (is_float && isnan(g) && isnan(x))
            || (is_float && r->any_zero && g == 0 && x == 0))
            continue;
        if (is_float && (r->ulp > 0 || r->absolute > 0)
            && (off <= r->ulp || fabs((double)g - (double)x) <= r->absolute)) {
            r->worst_ulp = off > r->worst_ulp ? off : r->worst_ulp;
            continue;
        }
        fail_msg("%s on %s, seed %llu: result %d element %lld is %08x (%g), expected %08x (%g)",
                 r->body->name, r->chip, (unsigned long long)seed, result, (long long)i, got[i],
                 (double)g, expected[i], (double)x);
    }
}

static void run(struct kernel_rig *r, uint64_t seed, const void **input)
{
    struct machine *m = make_machine(r, MODE_BOTH);
    struct err e;

    for (int i = 0; i < r->body->parameter_count; i++)
        input[i] = input_of(r, i, seed);
    put_inputs(r, m, input);
    must(machine_run(m, &e), &e);
    r->cycles = machine_cycles(m);
    get_results(r, m);
    machine_destroy(m);
}

void kernel_rig_run(struct kernel_rig *r, uint64_t seed)
{
    const void *input[KERNEL_RIG_ARRAYS];

    run(r, seed, input);
}

void kernel_rig_check(struct kernel_rig *r, uint64_t seed)
{
    const void *input[KERNEL_RIG_ARRAYS];
    struct interp_value in[KERNEL_RIG_ARRAYS], out[KERNEL_RIG_ARRAYS];
    struct err e;

    run(r, seed, input);
    for (int i = 0; i < r->body->parameter_count; i++)
        in[i].data = (void *)(uintptr_t)input[i];
    must(interp_run(r->body, INTERP_DOT_BF16, in, out, &r->arena, &e), &e);
    r->worst_ulp = 0;
    for (int i = 0; i < r->body->output_count; i++)
        compare(r, i, out[i].data, seed);
}
