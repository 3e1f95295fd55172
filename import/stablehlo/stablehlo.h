/*
 * StableHLO, with CHLO, MHLO, Shardy and check: from the tree of MLIR to a program, and a program
 * as StableHLO text.
 *
 * What becomes of operations that HLO has not:
 *   functions           computations; the entry is `main`, else the first function that is public
 *                       and that nobody calls
 *   several results     a tuple, and get-tuple-element of it; one result is no tuple
 *   while, case, if     take the values that their regions use of those around them as operands:
 *                       a loop behind its own, each branch as a tuple; constants are made again in
 *                       each region
 *   composite           OPCODE_CALL of its decomposition with `target` its name; frontend has
 *                       composite.attributes={k = 4 : i64}, composite.name and composite.version,
 *                       other has is_composite=true, as XLA writes them
 *   sdy.manual_computation   hlo_enter_manual, a call, hlo_leave_manual (import/program/sharding.h)
 *   sdy.sharding_constraint  custom-call "Sharding" with a sharding
 *   check.expect_*      custom-call "check.expect_eq" and so on of (got, wanted), without a result;
 *                       the attributes stand in `frontend`; those with _const have a constant for
 *                       `wanted` and lose the _const
 *   interpreter.run_parallel of StableHLO's own tests: custom-call of that name; its computations
 *                       are the functions of the table `programs`, row by row: a row is a replica,
 *                       its functions the partitions' programs
 *   chlo.top_k, mhlo.topk    OPCODE_TOPK; custom_call @mhlo.erf and the like: their opcode
 *   dynamic_*           the static operation, where what says the shape is a constant; refused else
 * Attributes that no field holds: mhlo.frontend_attributes in `frontend`, others in `other` as MLIR
 * writes them; of a function's results as "res_attrs" of its root. Quantized types are refused.
 */
#ifndef IMPORT_STABLEHLO_H
#define IMPORT_STABLEHLO_H
#include "import/mlir/mlir.h"
#include "import/program/program.h"

/*
 * A program of each module of the tree, joined by `next`, in the arena, which must hold the tree's
 * too. NULL: a mistake, with the place in the text. Not verified yet: hlo_verify. Free each one's
 * lists with hlo_module_fini.
 */
struct hlo_module *stablehlo_to_program(const struct mlir_tree *t, struct arena *a, struct err *e);
/* the same of text; file: for messages */
struct hlo_module *stablehlo_read_text(const char *text, size_t bytes, const char *file,
                                       struct arena *a, struct err *e);

/*
 * A module as a tree of StableHLO, in the arena, or as its text, without those that follow it. What
 * is printed can be read again, and gives the same text. -1: an operation of optimized HLO (fusion,
 * asynchronous pairs, bitcast) that StableHLO has not, by its name.
 */
int stablehlo_from_program(struct mlir_tree *t, struct arena *a, const struct hlo_module *m,
                           struct err *e);
int stablehlo_print(const struct hlo_module *m, FILE *to, const struct mlir_print_options *o,
                    struct err *e);
#endif
