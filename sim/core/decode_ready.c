/*
 * Registers that nobody has to wait for. A bundle takes a cycle at least, so a
 * result of L cycles is there L bundles later, whatever they are. How many
 * cycles a register can still need at each bundle follows from all ways that
 * lead there; where that is none, it is not checked, and a register that is
 * checked nowhere has no time.
 */
#include "sim/core/core.h"
#include "sim/core/decode.h"

#include <string.h>

/* cycles that each register may still need when a bundle begins */
struct needs {
    uint16_t cycles[REG_COUNT];
};

struct ways {
    struct decoded_program *p;
    int delay_most;                     /* bundles behind a branch before it takes effect */
    uint32_t *number;                   /* by bundle: 1 + index of a branch target, 0: none */
    struct needs *target;
    uint32_t target_count;
    bool has_changed;
};

static void merge(struct needs *into, const struct needs *from)
{
    for (int i = 0; i < REG_COUNT; i++)
        if (from->cycles[i] > into->cycles[i])
            into->cycles[i] = from->cycles[i];
}

static const struct decoded_op *ops_of(const struct decoded_program *p, uint32_t bundle)
{
    return &p->op[p->bundle[bundle].first_op];
}

static void number_targets(struct ways *w)
{
    struct decoded_program *p = w->p;

    w->number = mem_alloc((p->bundle_count + 1) * sizeof(*w->number));
    for (uint32_t i = 0; i < p->op_count; i++)
        if (p->op[i].code == OP_SBR && w->number[p->op[i].o[0]] == 0)
            w->number[p->op[i].o[0]] = ++w->target_count;
    w->target = mem_alloc((w->target_count + 1) * sizeof(*w->target));
}

/* the bundle issues: time passes, and its results begin to be waited for */
static void pass(const struct decoded_program *p, uint32_t bundle, struct needs *n)
{
    const struct decoded_op *op = ops_of(p, bundle);

    for (uint32_t i = 0; i < REG_COUNT; i++)
        n->cycles[i] = n->cycles[i] ? (uint16_t)(n->cycles[i] - 1) : 0;
    for (uint32_t i = 0; i < p->bundle[bundle].op_count; i++)
        if (op[i].reg != REG_NONE && op[i].latency > n->cycles[op[i].reg] + 1)
            n->cycles[op[i].reg] = (uint16_t)(op[i].latency - 1);
}

static void reach_target(struct ways *w, uint32_t bundle, const struct needs *n)
{
    struct needs *to = &w->target[w->number[bundle] - 1], before = *to;

    merge(to, n);
    w->has_changed |= memcmp(&before, to, sizeof(before)) != 0;
}

/* branches of this bundle and of the ones before take effect behind it, if they are taken */
static void follow_branches(struct ways *w, uint32_t bundle, const struct needs *n)
{
    uint32_t first = bundle > (uint32_t)w->delay_most ? bundle - (uint32_t)w->delay_most : 0;

    for (uint32_t i = first; i <= bundle; i++)
        for (uint32_t j = 0; j < w->p->bundle[i].op_count; j++)
            if (ops_of(w->p, i)[j].code == OP_SBR)
                reach_target(w, (uint32_t)ops_of(w->p, i)[j].o[0], n);
}

/* the registers that are waited for go to the end of the place of all that were checked */
static void keep_checks(struct decoded_program *p, struct decoded_bundle *b,
                        const struct needs *n, bool *is_checked)
{
    uint8_t *check = &p->list[b->first_list];
    uint32_t kept = 0;

    for (uint32_t i = b->check_count; i > 0; i--)
        if (n->cycles[check[i - 1]] > 0) {
            is_checked[check[i - 1]] = true;
            kept++;
            check[b->check_count - kept] = check[i - 1];
        }
    b->first_list += b->check_count - kept;
    b->check_count = (uint8_t)kept;
}

static void keep_results(struct decoded_program *p, struct decoded_bundle *b,
                         const bool *is_checked)
{
    struct decoded_def *def = &p->def[b->first_def];
    uint8_t kept = 0;

    for (uint8_t i = 0; i < b->def_count; i++)
        if (is_checked[def[i].reg])
            def[kept++] = def[i];
    b->def_count = kept;
}

/* once through the program, from the first bundle to the last */
static void walk(struct ways *w, bool *is_checked)
{
    struct needs n = {{0}};

    w->has_changed = false;
    for (uint32_t i = 0; i < w->p->bundle_count; i++) {
        if (w->number[i] > 0)
            merge(&n, &w->target[w->number[i] - 1]);
        if (is_checked)
            keep_checks(w->p, &w->p->bundle[i], &n, is_checked);
        pass(w->p, i, &n);
        follow_branches(w, i, &n);
    }
}

void decode_ready(struct decoded_program *p, const struct chip *chip)
{
    struct ways w = {.p = p, .delay_most = (int)chip->core_branch_delay_bundles};
    bool is_checked[REG_COUNT] = {false};

    number_targets(&w);
    do
        walk(&w, NULL);
    while (w.has_changed);
    walk(&w, is_checked);
    for (uint32_t i = 0; i < p->bundle_count; i++)
        keep_results(p, &p->bundle[i], is_checked);
    mem_free(w.number);
    mem_free(w.target);
}
