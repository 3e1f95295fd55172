/* Writes steps.csv, a row for each training step. */
#include "report/folder/files.h"

#include <inttypes.h>

void csv_print_steps(const struct report_run *r, FILE *to)
{
    fprintf(to, "step,epoch,loss,accuracy,step_cycles\n");
    for (size_t i = 0; i < r->row_count; i++) {
        const struct report_step_row *row = &r->row[i];

        fprintf(to, "%" PRId64 ",%d,%.9g,%.9g,%" PRId64 "\n", row->step, row->epoch, row->loss,
                row->accuracy, row->launch_cycles / row->step_count);
    }
}
