/* What files of `systole exec` share and nobody else needs. */
#ifndef CLI_EXEC_IMPL_H
#define CLI_EXEC_IMPL_H
#include "cli/exec/exec.h"

struct hlo_builder;

/* a test's call of a function on several devices at once */
bool exec_is_parallel(const struct hlo_instruction *i);
/* the same by all devices of the module, which it is made for; -1: it cannot be done */
int exec_run_parallel(struct hlo_builder *b, const struct hlo_instruction *from, const int *operand,
                      struct err *e);
#endif
