/* Arrays of too many dimensions without those of size one, of parameters and results, too. */
#ifndef EXPAND_SQUEEZE_H
#define EXPAND_SQUEEZE_H
#include "import/program/program.h"

#define SQUEEZE_RANK_MAX 8              /* dimensions that the compiler has (stack/hlo/graph.h) */

int squeeze_rewrite(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                    struct err *e);
#endif
