/*
 * Small programs for one core: text, assembled, loaded and run, with tiles in
 * and out of VMEM.
 */
#include "report/numerics/check_internal.h"

#include "base/text.h"
#include "isa/asm.h"

#include <stdlib.h>
#include <string.h>

int check_init(struct check *c, const struct slice *slice, const struct chip *chip,
               const char *simd, struct err *e)
{
    struct machine_options options = {.thread_count = 1, .simd = simd};

    memset(c, 0, sizeof(*c));
    arena_init(&c->arena);
    arena_init(&c->scratch);
    c->slice = *slice;
    c->chip = *chip;
    c->simd = simd;
    c->machine = machine_create(slice, chip, &options, e);
    return c->machine ? 0 : -1;
}

void check_fini(struct check *c)
{
    machine_destroy(c->machine);
    mem_free(c->row);
    mem_free(c->order);
    mem_free(c->left_out);
    arena_fini(&c->arena);
    arena_fini(&c->scratch);
}

void check_text_open(struct check_text *t, const struct check *c)
{
    memset(t, 0, sizeof(*t));
    t->delay_bundles = (int)c->chip.core_branch_delay_bundles;
    t->to = text_memory(&t->text, &t->bytes);
}

int check_loop_begin(struct check_text *t, int sreg, int64_t first)
{
    fprintf(t->to, "{ s%d = smov %lld }\nloop%d:\n", sreg, (long long)first, t->label_count);
    return t->label_count++;
}

void check_loop_end(struct check_text *t, int label, int sreg, int64_t step, int64_t end)
{
    fprintf(t->to, "{ s%d = sadd.s32 s%d, %lld }\n", sreg, sreg, (long long)step);
    fprintf(t->to, "{ p0 = scmp.lt.s32.totalorder s%d, %lld }\n", sreg, (long long)end);
    fprintf(t->to, "{ sbr.rel (p0) target = loop%d }\n", label);
    for (int i = 0; i < t->delay_bundles; i++)
        fprintf(t->to, "{ s31 = smov 0 }\n");
}

static int assemble(const struct check_text *t, struct check *c, struct isa_program *p,
                    struct err *e)
{
    struct isa_errors errors = {.count = 0};

    if (isa_assemble(t->text, t->bytes, "check", &c->arena, p, &errors) == 0)
        return 0;
    *e = errors.err[0];
    return -1;
}

int check_text_run(struct check_text *t, struct check *c, struct err *e)
{
    struct isa_program *p = arena_alloc(&c->arena, sizeof(*p));
    int status;

    fprintf(t->to, "{ shalt }\n");
    text_memory_end(t->to, &t->text);
    status = assemble(t, c, p, e);
    if (status == 0 && machine_load(c->machine, 0, p, e))
        status = CHECK_REFUSED;
    if (status == 0)
        status = machine_run(c->machine, e);
    free(t->text);
    return status;
}

int check_vmem_write(struct check *c, int64_t row, const uint32_t *words, int64_t count,
                     struct err *e)
{
    return machine_vmem_write(c->machine, 0, row * CHECK_ROW_BYTES, words, 4 * count, e);
}

int check_vmem_read(struct check *c, int64_t row, uint32_t *words, int64_t count, struct err *e)
{
    return machine_vmem_read(c->machine, 0, row * CHECK_ROW_BYTES, words, 4 * count, e);
}

int64_t check_vmem_rows(const struct check *c)
{
    return c->chip.vmem_bytes / CHECK_ROW_BYTES;
}
