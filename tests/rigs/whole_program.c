/* A segment becomes a program by one bundle more. */
#include "tests/rigs/whole_program.h"

#include <string.h>

static void append_halt(struct isa_program *p, struct arena *a)
{
    struct isa_op *op = arena_array(a, p->op_count + 1, sizeof(*op));
    struct isa_bundle *bundle = arena_array(a, p->bundle_count + 1, sizeof(*bundle));

    if (p->op_count)
        memcpy(op, p->op, p->op_count * sizeof(*op));
    if (p->bundle_count)
        memcpy(bundle, p->bundle, p->bundle_count * sizeof(*bundle));
    op[p->op_count] = (struct isa_op){.code = OP_SHALT, .pred = ISA_PRED_ALWAYS};
    bundle[p->bundle_count] = (struct isa_bundle){.first_op = p->op_count, .op_count = 1};
    p->op = op;
    p->bundle = bundle;
    p->op_count++;
    p->bundle_count++;
}

int whole_program(const struct vcode *c, const struct chip *chip, int64_t spill_base_row,
                  int64_t spill_tiles, struct arena *a, struct isa_program *program,
                  struct vcode_stats *stats, struct err *e)
{
    struct vcode all = *c;

    all.kept_sregs = UINT32_MAX;
    if (vcode_compile_segment(&all, chip, spill_base_row, spill_tiles, a, program, stats, e))
        return -1;
    append_halt(program, a);
    stats->op_count++;
    stats->bundle_count++;
    return 0;
}
