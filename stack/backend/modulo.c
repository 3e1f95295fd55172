#include "stack/backend/modulo.h"

#include "base/units.h"

#define OPS_MAX 1200                    /* longer bodies gain little and take long to place */
#define BUNDLES_MAX 4096
#define PERIODS_TRIED 24
#define FEW_ROUNDS 16
#define PERIODS_BEHIND 3                /* beyond the first that will do, for few rounds */
#define UNROLL_MAX 48
#define UNROLLS_TRIED 4

struct search {
    const struct modulo_body *l;
    struct arena *a;
    int64_t limit_cycles;               /* worth nothing from here on */
};

/* from the first bundle of the first round to the last one of the last */
static int64_t cycles_of(const struct modulo_body *l, int period, int span)
{
    return (l->count - 1) * period + span;
}

static bool try_order(struct search *f, int period, enum modulo_order order,
                      struct modulo_schedule *s, struct isa_program *out)
{
    int least;

    if (!modulo_place(f->l, period, order, s, f->a) ||
        cycles_of(f->l, period, s->span) >= f->limit_cycles)
        return false;
    least = modulo_least_unroll(f->l, s, f->a);
    for (s->unroll = least; least && s->unroll < least + UNROLLS_TRIED; s->unroll++)
        if (s->unroll <= UNROLL_MAX && modulo_bundles(f->l, s) <= BUNDLES_MAX &&
            modulo_assign(f->l, s, f->a) && modulo_write(f->l, s, f->a, out))
            return true;
    return false;
}

static bool try_period(struct search *f, int period, struct modulo_schedule *s,
                       struct isa_program *out)
{
    return try_order(f, period, MODULO_BY_PATH, s, out) ||
           try_order(f, period, MODULO_BY_SOURCE, s, out);
}

/*
 * The least period is the best one for long loops; with few rounds a longer one
 * with shorter rounds may be better, so a few more are tried.
 */
static bool search_periods(struct search *f, int period, struct modulo_schedule *best,
                           struct isa_program *out)
{
    int tries = PERIODS_TRIED;
    bool is_found = false;

    while (tries-- > 0 && cycles_of(f->l, period, 1) < f->limit_cycles) {
        struct modulo_schedule s;
        struct isa_program p;

        if (try_period(f, period, &s, &p)) {
            if (!is_found && tries > PERIODS_BEHIND)
                tries = f->l->count <= FEW_ROUNDS ? PERIODS_BEHIND : 0;
            is_found = true;
            *best = s;
            *out = p;
            f->limit_cycles = cycles_of(f->l, period, s.span);
        }
        period += 1 + period / 16;
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
    int period;

    if (b->op_count > OPS_MAX ||
        !modulo_body_init(&l, b, step_count, counter, count, chip, b->arena))
        return false;
    period = modulo_recurrence_period(&l, b->arena);
    *result = (struct modulo_result){.least_period = period};
    is_found = search_periods(&f, period, &s, out);
    if (is_found) {
        result->period = s.period;
        result->stages = s.stages;
        result->unroll = s.unroll;
        result->v_used = s.v_used;
    }
    modulo_body_fini(&l);
    return is_found;
}
