/* What the files about executables share. */
#ifndef EXEC_EXECUTABLE_IMPL_H
#define EXEC_EXECUTABLE_IMPL_H
#include "exec/executable.h"
#include "import/eval/eval.h"

/* Steps of a launch on cores; what is made on the way is in `a`. */
int executable_begin(struct executable *x, struct err *e);      /* makes the machine, once */
int executable_write(struct executable *x, struct value *const *const *argument, struct arena *a,
                     struct err *e);
int executable_run(struct executable *x, struct err *e);
int executable_read(struct executable *x, struct value *const *const *result, struct arena *a,
                    struct err *e);
/* the same on the host; `with`: who takes and gives entries of queues; result NULL: not wanted */
int executable_evaluate(struct executable *x, const struct eval_settings *with,
                        struct value *const *const *argument, struct value *const *const *result,
                        struct arena *a, struct err *e);

/* of its module */
struct module_settings executable_module_settings(const struct executable *x);

/* queues that a launch can serve: of sends and receives, of one array each */
int executable_check_queues(const struct executable *x, struct err *e);
/* a launch of a program that has such */
int executable_converse(struct executable *x, const struct executable_host *host,
                        struct value *const *const *argument, struct value *const *const *result,
                        struct arena *a, struct err *e);
#endif
