/*
 * Which vector registers somebody may still read behind each bundle, from the
 * ends of the program backwards along all ways through it; and operations that
 * are the last to read their operands. At a halt every register counts as
 * read. Registers that stand for a tile elsewhere (sim/core/vregs.h) ask for it.
 *
 * A guarded write ends a register only where its guard holds: until then it is
 * read *unless* the guard holds, as are the sums of a convolution, which are
 * loaded in all passes but the first. Only the run knows; the analysis says of
 * which guard it is, one per bundle, and gives up where there are two.
 */
#include "sim/core/core.h"
#include "sim/core/decode.h"

#define EVERY UINT64_MAX

/* What is read at some place: always, and unless a guard holds (2 x predicate + is negated). */
struct demand {
    uint64_t always, unless;
    int guard;
};

struct flow {
    struct decoded_program *p;
    uint32_t delay_most;                /* bundles behind a branch before it takes effect */
    uint64_t *reads, *writes;           /* by bundle: before any write of it; whatever happens */
    struct demand *before;              /* by bundle: by it or later */
};

static void add_always(struct demand *d, uint64_t registers)
{
    d->always |= registers;
    d->unless &= ~d->always;
}

static void add_unless(struct demand *d, uint64_t registers, int guard)
{
    registers &= ~d->always;
    if (d->unless == 0)
        d->guard = guard;
    if (d->guard == guard)
        d->unless |= registers;
    else
        add_always(d, registers);
}

static void join(struct demand *d, const struct demand *other)
{
    add_always(d, other->always);
    add_unless(d, other->unless, other->guard);
}

static uint64_t bit_of(int thing)
{
    return thing >= REG_V && thing < REG_COUNT ? UINT64_C(1) << (thing - REG_V) : 0;
}

static bool is_copy(const struct decoded_op *o)
{
    return o->code == OP_COUNT;
}

static int guard_of(const struct decoded_op *o)
{
    return 2 * o->guard + o->guard_is_negated;
}

static uint64_t read_by(const struct flow *f, const struct decoded_op *o)
{
    struct touched t;
    uint64_t reads = 0;

    if (is_copy(o))
        return 0;                       /* of a temporary */
    decode_touched(&f->p->source->op[o->source], &t);
    for (int i = 0; i < t.read_count; i++)
        reads |= bit_of(t.read[i]);
    return reads;
}

/* results; those that go to a temporary are written by its copy */
static uint64_t results_of(const struct flow *f, const struct decoded_op *o)
{
    struct touched t;
    uint64_t writes = 0;

    decode_touched(&f->p->source->op[o->source], &t);
    for (int i = 0; i < t.write_count; i++)
        writes |= bit_of(t.write[i]);
    return writes && o->o[0] >= ISA_VREG_MAX ? 0 : writes;
}

static uint64_t written_by(const struct flow *f, const struct decoded_op *o)
{
    return o->is_guarded ? 0 : results_of(f, o);
}

static void sum_up(struct flow *f, uint32_t index)
{
    const struct decoded_bundle *b = &f->p->bundle[index];

    for (uint32_t i = b->op_count; i > 0; i--) {
        const struct decoded_op *o = &f->p->op[b->first_op + i - 1];
        uint64_t writes = written_by(f, o);

        f->writes[index] |= writes;
        f->reads[index] = (f->reads[index] & ~writes) | read_by(f, o);
        if (!is_copy(o) && isa_info(o->code)->writes & ISA_HALT)
            f->reads[index] = EVERY;
    }
}

/* branches of this bundle and of the ones before take effect behind it, if they are taken */
static struct demand behind(const struct flow *f, uint32_t index)
{
    uint32_t first = index > f->delay_most ? index - f->delay_most : 0;
    struct demand d = f->before[index + 1];

    for (uint32_t i = first; i <= index; i++) {
        const struct decoded_bundle *b = &f->p->bundle[i];

        for (uint32_t j = 0; b->has_branch && j < b->op_count; j++)
            if (f->p->op[b->first_op + j].code == OP_SBR)
                join(&d, &f->before[f->p->op[b->first_op + j].o[0]]);
    }
    return d;
}

static bool writes_predicate(const struct flow *f, const struct decoded_bundle *b, int predicate)
{
    struct touched t;

    for (uint32_t i = 0; i < b->op_count; i++) {
        decode_touched(&f->p->source->op[f->p->op[b->first_op + i].source], &t);
        for (int k = 0; k < t.write_count; k++)
            if (t.write[k] == REG_P + predicate)
                return true;
    }
    return false;
}

/* what is wanted of a register that is written where a guard holds */
static void write_guarded(struct demand *d, uint64_t results, int guard)
{
    uint64_t wanted = (d->always | d->unless) & results;

    if (d->unless && d->guard == (guard ^ 1))
        wanted &= ~d->unless;           /* only where it is written */
    d->always &= ~results;
    d->unless &= ~results;
    add_unless(d, wanted, guard);
}

/* from behind a bundle to before it */
static void step_back(const struct flow *f, uint32_t index, struct demand *d)
{
    const struct decoded_bundle *b = &f->p->bundle[index];

    if (d->unless && writes_predicate(f, b, d->guard / 2))
        add_always(d, d->unless);       /* what it holds from here on is another thing */
    d->always &= ~f->writes[index];
    d->unless &= ~f->writes[index];
    for (uint32_t i = b->has_guard ? b->op_count : 0; i > 0; i--) {
        const struct decoded_op *o = &f->p->op[b->first_op + i - 1];

        if (o->is_guarded)
            write_guarded(d, results_of(f, o), guard_of(o));
    }
    add_always(d, f->reads[index]);
}

/* once through the program, from the last bundle to the first; whether anything changed */
static bool walk(struct flow *f)
{
    bool has_changed = false;

    for (uint32_t i = f->p->bundle_count; i > 0; i--) {
        struct decoded_bundle *b = &f->p->bundle[i - 1];
        struct demand d = behind(f, i - 1), *before = &f->before[i - 1], old = *before;

        b->live_vectors = d.always | d.unless;
        b->live_unless = d.unless;
        b->unless_predicate = (uint8_t)(d.guard / 2);
        b->unless_is_negated = d.guard & 1;
        step_back(f, i - 1, &d);
        join(before, &d);               /* once wanted stays wanted: so this comes to an end */
        has_changed |= before->always != old.always || before->unless != old.unless;
    }
    return has_changed;
}

static bool is_last(int32_t index, uint64_t last)
{
    return index < ISA_VREG_MAX && (last >> index & 1);
}

/* an addition is told which operands nobody reads again: bit 1 and 2 */
static void choose_exec(struct decoded_op *o, uint64_t last)
{
    if (o->exec == exec_VST && is_last(o->o[4], last))
        o->exec = exec_last_VST;
    if (o->exec != exec_VADD_F32 || o->o[1] == o->o[2])
        return;
    o->o[VADD_LAST_READS] = is_last(o->o[1], last) << 1 | is_last(o->o[2], last) << 2;
    if (o->o[VADD_LAST_READS])
        o->exec = exec_last_VADD_F32;
}

static void choose_execs(const struct flow *f, const struct decoded_bundle *b)
{
    uint64_t live = b->live_vectors;

    for (uint32_t i = b->op_count; i > 0; i--) {
        struct decoded_op *o = &f->p->op[b->first_op + i - 1];
        uint64_t reads = read_by(f, o);

        live &= ~written_by(f, o);
        choose_exec(o, reads & ~live);
        live |= reads;
    }
}

void decode_live(struct decoded_program *p, const struct chip *chip)
{
    size_t count = p->bundle_count + 1;
    uint64_t *room = mem_alloc(2 * count * sizeof(*room));
    struct flow f = {.p = p, .delay_most = (uint32_t)chip->core_branch_delay_bundles,
                     .reads = room, .writes = room + count,
                     .before = mem_alloc(count * sizeof(*f.before))};

    for (uint32_t i = 0; i < p->bundle_count; i++)
        sum_up(&f, i);
    f.before[p->bundle_count].always = EVERY;
    while (walk(&f))
        ;
    for (uint32_t i = 0; i < p->bundle_count; i++)
        choose_execs(&f, &p->bundle[i]);
    mem_free(f.before);
    mem_free(room);
}
