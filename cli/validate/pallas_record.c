/* Writes what became of measured kernels of Pallas, and holds today's against it. */
#include "cli/validate/pallas_record.h"

#include "base/csv.h"
#include "base/outfile.h"
#include "base/text.h"
#include "isa/file.h"

#include <math.h>
#include <string.h>

#define WORSE_PERCENT 0.5

int pallas_record_write(const char *path, const struct pallas_row *row, int count, struct err *e)
{
    struct outfile out;

    if (outfile_begin(&out, path, e))
        return -1;
    fprintf(out.to, "file,tpu,op,measured_us,simulated_us,measured_mb,simulated_mb,message\n");
    for (int i = 0; i < count; i++) {
        const struct pallas_row *r = &row[i];

        text_print_file(out.to, "%s,%s,%s,%.1f,", r->file, r->tpu, r->op, r->measured_us);
        if (r->got.is_done)
            text_print_file(out.to, "%.3f,%.1f,%.1f,", r->got.us, r->measured_mb,
                            r->got.memory_mb);
        else
            text_print_file(out.to, ",%.1f,,", r->measured_mb);
        text_print_csv(r->got.is_done ? "" : r->got.message, out.to);
        fputc('\n', out.to);
    }
    return outfile_commit(&out, e);
}

/* as it was recorded, in us; 0: it was refused, or the file does not have it */
static int recorded(const struct csv *c, const struct pallas_row *r, double *us, struct err *e)
{
    int file = csv_column(c, "file", e), tpu = csv_column(c, "tpu", e);
    int op = csv_column(c, "op", e), time = csv_column(c, "simulated_us", e);
    int measured = csv_column(c, "measured_us", e);

    *us = 0;
    if (file < 0 || tpu < 0 || op < 0 || time < 0 || measured < 0)
        return -1;
    for (int i = 0; i < c->row_count; i++) {
        double of;

        if (strcmp(csv_text(c, i, file), r->file) || strcmp(csv_text(c, i, tpu), r->tpu) ||
            strcmp(csv_text(c, i, op), r->op) || !*csv_text(c, i, time))
            continue;
        if (csv_number(c, i, measured, 0, 1e12, &of, e))
            return -1;
        if (fabs(of - r->measured_us) < 0.1)    /* of two rows that share a file, this one */
            return csv_number(c, i, time, 0, 1e12, us, e);
    }
    return 0;
}

static double error_of(const struct pallas_row *r, double us)
{
    return 100 * fabs(us / r->measured_us - 1);
}

static bool is_worse(const struct pallas_row *r, double before)
{
    if (r->got.is_done && error_of(r, r->got.us) <= error_of(r, before) + WORSE_PERCENT)
        return false;
    printf("%s: %.1f %% from what was measured before, now ", r->file, error_of(r, before));
    if (r->got.is_done)
        printf("%.1f %%\n", error_of(r, r->got.us));
    else
        printf("%s\n", r->got.message);
    return true;
}

int pallas_record_worse(const char *path, const struct pallas_row *row, int count, struct arena *a,
                        struct err *e)
{
    struct csv c;
    uint8_t *text;
    size_t size;
    int worse = 0;

    if (isa_file_read(path, a, &text, &size, e) ||
        csv_parse(&c, path, (char *)text, NULL, a, e))
        return -1;
    for (int i = 0; i < count; i++) {
        double before;

        if (recorded(&c, &row[i], &before, e))
            return -1;
        worse += before > 0 && is_worse(&row[i], before);
    }
    return worse;
}
