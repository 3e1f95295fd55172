#include "stack/modulo.h"

#include "base/units.h"

#define OPS_MAX 1200                    /* longer bodies gain little and take long to place */
#define BUNDLES_MAX 4096
#define PERIODS_TRIED 24
#define UNROLL_MAX 48
#define UNROLLS_TRIED 4

struct search {
    const struct modulo_body *l;
    struct arena *a;
    int64_t limit_cycles;               /* worth nothing from here on */
};

static int64_t cycles_of(const struct modulo_body *l, int period, int stages)
{
    return (l->count + stages - 1) * period;
}

static bool try_period(struct search *f, int period, struct isa_program *out,
                       struct modulo_schedule *s)
{
    int least;

    if (!modulo_place(f->l, period, s, f->a) ||
        cycles_of(f->l, period, s->stages) >= f->limit_cycles)
        return false;
    least = modulo_least_unroll(f->l, s, f->a);
    for (s->unroll = least; least && s->unroll < least + UNROLLS_TRIED; s->unroll++)
        if (s->unroll <= UNROLL_MAX && modulo_bundles(f->l, s) <= BUNDLES_MAX &&
            modulo_assign(f->l, s, f->a) && modulo_write(f->l, s, f->a, out))
            return true;
    return false;
}

bool modulo_loop(const struct code_block *b, int step_count, int counter, int64_t count,
                 int64_t limit_cycles, const struct chip *chip, struct isa_program *out,
                 struct modulo_result *result)
{
    struct modulo_body l;
    struct search f = {.l = &l, .a = b->arena, .limit_cycles = limit_cycles};
    struct modulo_schedule s;
    bool is_found = false;
    int period;

    if (b->op_count > OPS_MAX ||
        !modulo_body_init(&l, b, step_count, counter, count, chip, b->arena))
        return false;
    period = modulo_recurrence_period(&l, b->arena);
    *result = (struct modulo_result){.least_period = period};
    for (int i = 0; i < PERIODS_TRIED && !is_found && cycles_of(&l, period, 1) < limit_cycles; i++) {
        is_found = try_period(&f, period, out, &s);
        if (!is_found)
            period += 1 + period / 16;
    }
    if (is_found) {
        result->period = s.period;
        result->stages = s.stages;
        result->unroll = s.unroll;
        result->v_used = s.v_used;
    }
    modulo_body_fini(&l);
    return is_found;
}
