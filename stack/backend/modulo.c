/*
 * Modulo scheduling: tries initiation intervals from the least possible upwards, each with several
 * orders of operations.
 */
#include "stack/backend/modulo.h"

#define OPS_MAX 1200                    /* longer bodies gain little and take long to place */
#define BUNDLES_MAX 8192
#define II_TRIES 24                     /* close to each other, */
#define II_TRIES_COARSE 14              /* then farther apart, until one has registers */
#define FEW_ROUNDS 16
#define II_TRIES_BEHIND 3               /* beyond the first that will do, for few rounds */
#define UNROLL_MAX 64
#define UNROLLS_TRIED 4

struct search {
    const struct modulo_body *l;
    struct arena *a;
    int64_t limit_cycles;               /* worth nothing from here on */
};

/* from the first bundle of the first round to the last one of the last */
static int64_t cycles_of(const struct modulo_body *l, int ii, int span)
{
    return (l->count - 1) * ii + span;
}

static bool try_order(struct search *f, int ii, enum modulo_order order,
                      struct modulo_schedule *s, struct isa_program *out)
{
    int least;

    if (!modulo_place(f->l, ii, order, s, f->a) ||
        cycles_of(f->l, ii, s->span) >= f->limit_cycles)
        return false;
    least = modulo_least_unroll(f->l, s, f->a);
    for (s->unroll = least; least && s->unroll < least + UNROLLS_TRIED; s->unroll++)
        if (s->unroll <= UNROLL_MAX && modulo_bundles(f->l, s) <= BUNDLES_MAX &&
            modulo_assign(f->l, s, f->a) && modulo_write(f->l, s, f->a, out, NULL))
            return true;
    return false;
}

static bool try_ii(struct search *f, int ii, struct modulo_schedule *s,
                   struct isa_program *out)
{
    return try_order(f, ii, MODULO_BY_PATH, s, out) ||
           try_order(f, ii, MODULO_BY_SOURCE, s, out) ||
           try_order(f, ii, MODULO_LATE, s, out) ||
           try_order(f, ii, MODULO_IN_ORDER, s, out);
}

/*
 * The least II is the best one for long loops; with few rounds a longer one
 * with shorter rounds may be better, so a few more are tried.
 */
static bool search_ii(struct search *f, int ii, struct modulo_schedule *best,
                      struct isa_program *out)
{
    int tries = II_TRIES + II_TRIES_COARSE;
    bool is_found = false;

    while (tries-- > 0 && cycles_of(f->l, ii, 1) < f->limit_cycles) {
        struct modulo_schedule s = {.phase = 0};
        struct isa_program p;

        if (try_ii(f, ii, &s, &p)) {
            if (!is_found && tries > II_TRIES_BEHIND)
                tries = f->l->count <= FEW_ROUNDS ? II_TRIES_BEHIND : 0;
            is_found = true;
            *best = s;
            *out = p;
            f->limit_cycles = cycles_of(f->l, ii, s.span);
        }
        ii += 1 + ii / (!is_found && tries < II_TRIES_COARSE ? 4 : 16);
    }
    return is_found;
}

bool modulo_loop(const struct code_block *b, int step_count, int counter, int64_t count,
                 int64_t limit_cycles, const struct chip *chip, struct isa_program *out,
                 struct modulo_result *result)
{
    struct modulo_body l;
    struct search f = {.l = &l, .a = b->arena, .limit_cycles = limit_cycles};
    struct modulo_schedule s;
    bool is_found;
    int ii;

    if (b->op_count > OPS_MAX ||
        !modulo_body_init(&l, b, step_count, counter, count, chip, b->arena))
        return false;
    ii = modulo_mii(&l, b->arena);
    is_found = search_ii(&f, ii, &s, out);
    if (is_found) {
        *result = (struct modulo_result){
            .ii = s.ii, .stages = s.stages, .unroll = s.unroll, .v_used = s.v_used,
            .op_count = l.block->op_count, .v_count = l.block->v_count, .m_count = l.block->m_count,
            .post_first = modulo_post_first(&l, &s), .time = s.time, .v_register = s.v_register, .m_register = s.m_register};
    }
    modulo_body_fini(&l);
    return is_found;
}
