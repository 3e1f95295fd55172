/* Reads, writes and compares records of what became of programs. */
#include "cli/validate/programs_record.h"

#include "base/csv.h"
#include "base/outfile.h"
#include "isa/file.h"

#include <stdio.h>
#include <string.h>

static const char *const names[] = {[PROGRAM_FAILED] = "fails", [PROGRAM_WRONG] = "wrong",
                                    [PROGRAM_REFUSED] = "refused", [PROGRAM_DONE] = "right"};
enum { OUTCOMES = sizeof(names) / sizeof(names[0]) };

const char *program_outcome_name(enum program_outcome outcome) { return names[outcome]; }

void program_record_add(struct program_record *r, const struct program_record_row *row)
{
    MEM_ADD(r->item, r->count, r->capacity) = *row;
}

static int read_row(struct program_record *r, const struct csv *c, const int column[5], int row,
                    struct err *e)
{
    struct program_record_row own = {.path = csv_text(c, row, column[0]),
                                     .way = csv_text(c, row, column[1])};
    const char *outcome = csv_text(c, row, column[2]);
    double right, compared;
    int known = 0;

    while (known < OUTCOMES && strcmp(outcome, names[known]) != 0)
        known++;
    if (known == OUTCOMES)
        return err_at(e, c->path, c->row[row].line, 0, "outcome is \"%s\", one of right, refused, "
                      "wrong, fails is wanted", outcome);
    if (csv_number(c, row, column[3], 0, 1e6, &right, e) ||
        csv_number(c, row, column[4], 0, 1e6, &compared, e))
        return -1;
    own.outcome = (enum program_outcome)known;
    own.right = right > 0 ? (int)right : 0;             /* an empty field is NAN */
    own.compared = compared > 0 ? (int)compared : 0;
    program_record_add(r, &own);
    return 0;
}

int program_record_read(struct program_record *r, const char *path, struct arena *a, struct err *e)
{
    static const char *const wanted[] = {"path", "way", "outcome", "right", "compared"};
    int column[5];
    struct csv c;
    uint8_t *text;
    size_t size;

    if (isa_file_read(path, a, &text, &size, e) || csv_parse(&c, path, (char *)text, NULL, a, e))
        return -1;
    for (int k = 0; k < 5; k++)
        if ((column[k] = csv_column(&c, wanted[k], e)) < 0)
            return -1;
    for (int row = 0; row < c.row_count; row++)
        if (read_row(r, &c, column, row, e))
            return -1;
    return 0;
}

int program_record_write(const struct program_record *r, const char *path, struct err *e)
{
    struct outfile f;

    if (outfile_begin(&f, path, e))
        return -1;
    fprintf(f.to, "path,way,outcome,right,compared\n");
    for (int i = 0; i < r->count; i++) {
        const struct program_record_row *row = &r->item[i];

        fprintf(f.to, "%s,%s,%s,%d,%d\n", row->path, row->way, names[row->outcome], row->right,
                row->compared);
    }
    return outfile_commit(&f, e);
}

const struct program_record_row *program_record_find(const struct program_record *r,
                                                     const char *path, const char *way)
{
    for (int i = 0; i < r->count; i++)
        if (strcmp(r->item[i].path, path) == 0 && strcmp(r->item[i].way, way) == 0)
            return &r->item[i];
    return NULL;
}

int program_record_compare(const struct program_record_row *now,
                           const struct program_record_row *before)
{
    int wrong_now = now->compared - now->right, wrong_before = before->compared - before->right;

    if (now->outcome != before->outcome)
        return (int)now->outcome - (int)before->outcome;
    if (now->compared != before->compared)
        return now->compared - before->compared;
    return wrong_before - wrong_now;
}
