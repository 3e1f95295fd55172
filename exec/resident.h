/*
 * An array as it lay in a simulated memory: whole pages of it are shared with that memory, what
 * stands in pages beside others is copied. It does not change, and outlives machine and program.
 */
#ifndef EXEC_RESIDENT_H
#define EXEC_RESIDENT_H
#include "sim/machine/machine.h"
#include "stack/hlo/array.h"

struct resident;

/* whether enough of it is whole pages, wherever it lies, that sharing them costs less than a copy */
bool resident_pays(const struct array *a);
/* NULL with the error: it cannot be read */
struct resident *resident_take(struct machine *m, int core, const struct array *a, struct err *e);
void resident_free(struct resident *r);         /* NULL is nothing */

/* whether its tiles mean the same elements there */
bool resident_is_like(const struct resident *r, const struct array *a);
int resident_put(const struct resident *r, struct machine *m, int core, int64_t address,
                 struct err *e);
/* its elements, dense, 4 bytes each */
void resident_unpack(const struct resident *r, void *dense);
#endif
