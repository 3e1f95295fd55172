/* Any bytes are a portable artifact, or give an error: as a tree, and as a program, whose functions
 * are read one by one. */
#include "import/bytecode/bytecode.h"
#include "import/stablehlo/stablehlo.h"
#include "tests/rigs/round_trip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct mlir_tree *t, const struct mlir_op *op)
{
    for (int i = 0; i < op->operand_count; i++) {
        if (op->operand[i]->id < 0 || op->operand[i]->id >= t->value_count)
            fuzz_fail("an operand of no value of the tree", op->name);
    }
    for (int r = 0; r < op->region_count; r++) {
        for (int b = 0; b < op->region[r].block_count; b++) {
            for (int i = 0; i < op->region[r].block[b].op_count; i++)
                check(t, op->region[r].block[b].op[i]);
        }
    }
}

static void check_program(const uint8_t *data, size_t size)
{
    struct err e = {.msg = ""};
    struct hlo_module *m = NULL, *next;
    struct mlir_tree t;
    struct arena a;

    arena_init(&a);
    mlir_tree_init(&t, &a, "input");
    if (mlir_open_bytecode(&t, data, size, &e) == 0)
        m = stablehlo_to_program(&t, &a, &e);
    if (!m && !e.msg[0])
        fuzz_fail("refused without a message", "");
    for (; m; m = next) {
        next = m->next;
        hlo_module_fini(m);
    }
    arena_fini(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = {.msg = ""};
    struct mlir_tree t;
    struct arena a;

    arena_init(&a);
    mlir_tree_init(&t, &a, "input");
    if (mlir_read_bytecode(&t, data, size, &e) == 0) {
        for (int i = 0; i < t.module_count; i++)
            check(&t, t.module[i]);
    } else if (!e.msg[0]) {
        fuzz_fail("refused without a message", "");
    }
    arena_fini(&a);
    check_program(data, size);
    return 0;
}
