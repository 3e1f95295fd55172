/*
 * Loops whose rounds overlap, found once: like kernels have them in common, since only
 * what copies their windows knows where arrays lie.
 */
#include "stack/backend/backend.h"

#include <string.h>

struct known_loop {
    bool is_found;
    struct isa_program program;
    struct modulo_result result;
};

static void add_op(struct memo_key *k, const struct vcode_op *v)
{
    memo_key_add(k, &v->op, sizeof(v->op));
    memo_key_add(k, &v->region, sizeof(v->region));
}

static struct memo_key key_of(const struct code_block *b, const int64_t *numbers, size_t bytes,
                              const struct chip *chip)
{
    static const char kind[] = "loop";
    struct memo_key k = {0};

    memo_key_add(&k, kind, sizeof(kind));
    memo_key_add(&k, &chip, sizeof(chip));
    memo_key_add(&k, numbers, bytes);
    memo_key_add(&k, b->v_fixed, (size_t)b->v_count * sizeof(*b->v_fixed));
    for (int i = 0; i < b->op_count; i++)
        add_op(&k, &b->op[i]);
    return k;
}

/* a program without notes and symbols, as loops are */
static void keep_program(struct isa_program *p, struct arena *a)
{
    p->op = arena_copy(a, p->op, p->op_count, sizeof(*p->op));
    p->bundle = arena_copy(a, p->bundle, p->bundle_count, sizeof(*p->bundle));
}

void modulo_keep_result(struct modulo_result *r, struct arena *a)
{
    size_t unroll = (size_t)r->unroll;

    r->time = arena_copy(a, r->time, (size_t)r->op_count, sizeof(int));
    r->v_register = arena_copy(a, r->v_register, (size_t)r->v_count * unroll, sizeof(int));
    r->m_register = arena_copy(a, r->m_register, (size_t)r->m_count * unroll, sizeof(int));
}

bool modulo_loop_once(const struct code_block *b, int step_count, int counter, int64_t count,
                      int64_t limit_cycles, const struct chip *chip, struct memo *memo,
                      struct isa_program *out, struct modulo_result *result)
{
    const int64_t numbers[] = {step_count, counter, count, limit_cycles, b->v_count, b->m_count,
                               (int64_t)b->v_free, b->branch_tail_cycles, b->op_count};
    struct known_loop *known;
    struct memo_key k;

    if (!memo)
        return modulo_loop(b, step_count, counter, count, limit_cycles, chip, out, result);
    k = key_of(b, numbers, sizeof(numbers), chip);
    known = memo_find(memo, &k);
    if (!known) {
        known = arena_alloc(&memo->arena, sizeof(*known));
        known->is_found = modulo_loop(b, step_count, counter, count, limit_cycles, chip,
                                      &known->program, &known->result);
        if (known->is_found) {
            keep_program(&known->program, &memo->arena);
            modulo_keep_result(&known->result, &memo->arena);
        }
        memo_keep(memo, &k, known);
    }
    memo_key_fini(&k);
    *out = known->program;
    *result = known->result;
    return known->is_found;
}
