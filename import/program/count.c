/* Counts the arithmetic of programs and the bytes that they move. */
#include "import/program/count.h"

#include "import/program/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One instruction, and where its cost goes */
struct counting {
    const struct hlo_module *m;
    const struct hlo_computation *c;
    const struct hlo_instruction *i;
    const struct hlo_cost *computation;
    struct hlo_cost *cost;
};

static const struct hlo_type *operand(const struct counting *g, int n)
{
    return g->c->instruction[g->i->operand[n]].type;
}

static double elements_of(const struct hlo_type *t) { return (double)hlo_type_elements(t); }

/* all of it that lies in a device's memory */
static double bytes_of(const struct hlo_type *t)
{
    double bytes = 0;

    if (!hlo_type_is_tuple(t))
        return ceil(elements_of(t)
                    * (t->element == ELEMENT_PRED ? 8 : hlo_element_bits(t->element)) / 8);
    for (int p = 0; p < t->part_count; p++)
        bytes += bytes_of(&t->part[p]);
    return bytes;
}

static const struct hlo_type *first_part(const struct hlo_type *t)
{
    return hlo_type_is_tuple(t) && t->part_count ? &t->part[0] : t;
}

/* `times` runs of a computation on scalars */
static void add_runs(const struct counting *g, int role, double times)
{
    const struct hlo_cost *each = &g->computation[hlo_detail(g->i)->computation[role]];

    g->cost->flops += times * each->flops;
    g->cost->transcendentals += times * each->transcendentals;
}

static void add(struct hlo_cost *sum, const struct hlo_cost *each, double times)
{
    sum->flops += times * each->flops;
    sum->transcendentals += times * each->transcendentals;
    sum->bytes += times * each->bytes;
    sum->collective_bytes += times * each->collective_bytes;
    sum->operations += times * each->operations;
    sum->unknown_loops += times * each->unknown_loops;
}

static void count_elements(const struct counting *g) { g->cost->flops += elements_of(g->i->type); }

static void count_transcendental(const struct counting *g)
{
    g->cost->transcendentals += elements_of(g->i->type);
}

/* A complex product is four real ones and two sums, which is four times a real multiply-add. */
static double multiply_add(const struct hlo_type *t)
{
    return hlo_element_is_complex(t->element) ? 8 : 2;
}

static void count_dot(const struct counting *g)
{
    double depth = 1;

    for (int n = 0; n < hlo_detail(g->i)->dot->lhs_contract.count; n++)
        depth *= (double)operand(g, 0)->dim[hlo_detail(g->i)->dot->lhs_contract.item[n]];
    g->cost->flops += multiply_add(operand(g, 0)) * elements_of(g->i->type) * depth;
}

static void count_convolution(const struct counting *g)
{
    const struct hlo_type *kernel = operand(g, 1);
    double taps = (double)kernel->dim[hlo_detail(g->i)->conv->kernel_in];

    for (int n = 0; n < hlo_detail(g->i)->window_count; n++)
        taps *= (double)hlo_detail(g->i)->window[n].size;
    g->cost->flops += multiply_add(kernel) * elements_of(g->i->type) * taps;
}

static void count_reduce(const struct counting *g)
{
    double given = elements_of(operand(g, 0)), left = elements_of(first_part(g->i->type));

    add_runs(g, 0, given > left ? given - left : 0);
}

static double window_taps(const struct counting *g)
{
    double taps = 1;

    for (int n = 0; n < hlo_detail(g->i)->window_count; n++)
        taps *= (double)hlo_detail(g->i)->window[n].size;
    return taps;
}

static void count_reduce_window(const struct counting *g)
{
    add_runs(g, 0, elements_of(first_part(g->i->type)) * (window_taps(g) - 1));
}

static void count_select_and_scatter(const struct counting *g)
{
    double windows = elements_of(operand(g, 1));

    add_runs(g, 0, windows * (window_taps(g) - 1));
    add_runs(g, 1, windows);
}

static void count_scatter(const struct counting *g)
{
    add_runs(g, 0, elements_of(operand(g, g->i->operand_count - 1)));
}

static void count_map(const struct counting *g) { add_runs(g, 0, elements_of(g->i->type)); }

/* n log n comparisons of each row */
static void count_sort(const struct counting *g)
{
    const struct hlo_type *t = operand(g, 0);
    double length =
        hlo_detail(g->i)->dims.count ? (double)t->dim[hlo_detail(g->i)->dims.item[0]] : 1;

    add_runs(g, 0, elements_of(t) * (length > 1 ? ceil(log2(length)) : 0));
}

static void count_fft(const struct counting *g)
{
    double length = 1, elements = fmax(elements_of(operand(g, 0)), elements_of(g->i->type));

    for (int n = 0; n < hlo_detail(g->i)->sizes.count; n++)
        length *= (double)hlo_detail(g->i)->sizes.item[n];
    if (length > 1)
        g->cost->flops += 5 * elements * log2(length);
}

static void count_cholesky(const struct counting *g)
{
    const struct hlo_type *t = operand(g, 0);

    g->cost->flops += elements_of(t) * (double)t->dim[t->rank - 1] / 3;
}

static void count_triangular_solve(const struct counting *g)
{
    const struct hlo_type *t = operand(g, 0);

    g->cost->flops += elements_of(operand(g, 1)) * (double)t->dim[t->rank - 1];
}

/* mean, variance, and what is done to each element */
static void count_batch_norm(const struct counting *g)
{
    g->cost->flops += 7 * elements_of(operand(g, 0));
}

static void count_all_reduce(const struct counting *g)
{
    for (int n = 0; n < g->i->operand_count; n++)
        add_runs(g, 0, elements_of(operand(g, n)));
}

static void count_call(const struct counting *g)
{
    struct hlo_cost each = g->computation[hlo_detail(g->i)->computation[0]];

    if (g->i->op == OPCODE_FUSION)
        each.bytes = 0;                 /* nothing of it leaves the chip but what the fusion gives */
    add(g->cost, &each, 1);
}

int64_t hlo_trip_count(const struct hlo_instruction *i)
{
    const char *at =
        hlo_detail(i)->config ? strstr(hlo_detail(i)->config, "known_trip_count") : NULL;
    long long count;

    at = at ? strstr(at, "\"n\"") : NULL;
    at = at ? strchr(at + 3, ':') : NULL;
    if (!at)
        return -1;
    at += strspn(at, ": \"");
    count = strtoll(at, NULL, 10);
    return *at >= '0' && *at <= '9' ? count : -1;
}

static void count_while(const struct counting *g)
{
    int64_t trips = hlo_trip_count(g->i);

    add(g->cost, &g->computation[hlo_detail(g->i)->computation[0]], trips < 0 ? 1 : (double)trips);
    add(g->cost, &g->computation[hlo_detail(g->i)->computation[1]],
        trips < 0 ? 1 : (double)trips + 1);
    g->cost->unknown_loops += trips < 0;
}

static void count_conditional(const struct counting *g)
{
    const struct hlo_cost *dearest = NULL;

    for (int n = 0; n < hlo_detail(g->i)->computation_count; n++) {
        const struct hlo_cost *one = &g->computation[hlo_detail(g->i)->computation[n]];

        if (!dearest || one->flops > dearest->flops)
            dearest = one;
    }
    if (dearest)
        add(g->cost, dearest, 1);
}

static void (*const rules[OPCODE_COUNT])(const struct counting *) = {
#define COUNT(op, rule) [OPCODE_##op] = count_##rule,
#include "import/program/count.def"
};

/* Operations that hand on what is there, or whose parts are counted by themselves. */
static bool is_free(enum hlo_opcode op)
{
    static const enum hlo_opcode free_ones[] = {
        OPCODE_PARAMETER, OPCODE_CONSTANT, OPCODE_TUPLE, OPCODE_GET_TUPLE_ELEMENT, OPCODE_BITCAST,
        OPCODE_OPT_BARRIER, OPCODE_DOMAIN, OPCODE_ADD_DEPENDENCY, OPCODE_AFTER_ALL, OPCODE_CALL,
        OPCODE_WHILE, OPCODE_CONDITIONAL, OPCODE_ASYNC_START, OPCODE_ASYNC_UPDATE,
        OPCODE_ASYNC_DONE, OPCODE_COPY_DONE, OPCODE_ALL_REDUCE_DONE, OPCODE_ALL_GATHER_DONE,
        OPCODE_COLLECTIVE_PERMUTE_DONE, OPCODE_SEND_DONE, OPCODE_RECV_DONE, OPCODE_PARTITION_ID,
        OPCODE_REPLICA_ID};

    for (size_t n = 0; n < sizeof(free_ones) / sizeof(*free_ones); n++) {
        if (free_ones[n] == op)
            return true;
    }
    return false;
}

/* Of a large array that is read or written in one place, only that place. */
static double moved_bytes(const struct counting *g)
{
    double bytes = bytes_of(g->i->type);

    switch (g->i->op) {
    case OPCODE_IOTA:
        return bytes;
    case OPCODE_DYNAMIC_SLICE:
    case OPCODE_SLICE:
    case OPCODE_COPY_START:
        return 2 * bytes_of(g->i->op == OPCODE_COPY_START ? operand(g, 0) : g->i->type);
    case OPCODE_GATHER:
        return 2 * bytes + bytes_of(operand(g, 1));
    case OPCODE_DYNAMIC_UPDATE_SLICE:
        return 2 * bytes_of(operand(g, 1));
    case OPCODE_SCATTER:
        return 3 * bytes_of(operand(g, g->i->operand_count - 1)) + bytes_of(operand(g, 1));
    default:
        for (int n = 0; n < g->i->operand_count; n++)
            bytes += bytes_of(operand(g, n));
        return bytes;
    }
}

static bool is_collective(enum hlo_opcode op)
{
    return (hlo_opcode_attributes(op) & HLO_HAS_GROUPS) && op != OPCODE_SEND_DONE
           && op != OPCODE_RECV && op != OPCODE_RECV_DONE;
}

struct hlo_cost hlo_count_instruction(const struct hlo_module *m, const struct hlo_computation *c,
                                      const struct hlo_instruction *i,
                                      const struct hlo_cost *computation)
{
    struct hlo_cost cost = {0};
    struct counting g = {m, c, i, computation, &cost};

    if (rules[i->op])
        rules[i->op](&g);
    if (is_free(i->op))
        return cost;
    cost.operations += i->op != OPCODE_FUSION;
    cost.bytes += moved_bytes(&g);
    for (int n = 0; n < i->operand_count && is_collective(i->op); n++)
        cost.collective_bytes += bytes_of(operand(&g, n));
    return cost;
}

const struct hlo_cost *hlo_count_computations(const struct hlo_module *m, struct arena *a)
{
    struct hlo_cost *cost = arena_array(a, (size_t)m->computation_count + 1, sizeof(*cost));
    int *order = mem_alloc(((size_t)m->computation_count + 1) * sizeof(*order));
    bool is_ordered = hlo_call_order(m, order) == 0;

    for (int n = 0; is_ordered && n < m->computation_count; n++) {
        const struct hlo_computation *c = &m->computation[order[n]];
        struct hlo_cost *sum = &cost[order[n]];

        for (int k = 0; k < c->count; k++) {
            struct hlo_cost one = hlo_count_instruction(m, c, &c->instruction[k], cost);

            add(sum, &one, 1);
        }
    }
    mem_free(order);
    return cost;
}
