/* Of a scheduled program what its own compiler decided; a file of its own, for it reads JSON. */
#include "exec/program_graph.h"

int program_graph_keep(struct program_graph *p, bool has_values, struct arena *a, struct err *e)
{
    if (asis_program(p->device, &p->scheduled, a, has_values, &p->kept, e))
        return -1;
    p->is_kept = true;
    return 0;
}
