/*
 * Inside `systole kernel`: a kernel of Pallas by itself.
 *
 * kernel_find.c reads a program, or a Mosaic module alone, and makes of each kernel in it a graph of
 * its own; kernel_run.c times one; kernel_lines.c shares its cycles out among the lines of the Python
 * source; kernel_print.c puts the figures into tables, prints them and writes JSON;
 * kernel_bundles.c prints its bundles beside the source; kernel_check.c carries it out on the host and
 * tells what it does wrong.
 */
#ifndef CLI_KERNEL_H
#define CLI_KERNEL_H
#include "cli/common/options.h"
#include "cli/exec/exec.h"
#include "report/native_trace/ntrace_listing.h"
#include "report/view/line_share.h"
#include "report/view/view.h"
#include "stack/mosaic/mosaic.h"

struct kernel_request {
    struct exec_options exec;           /* first: chip, engine, folder, the program's inputs */
    const char *which, *json;
    int64_t vmem_limit_kib;             /* 0: as the program says */
    bool wants_bundles, check_bounds;
};

struct kernel_found {                   /* one of a program */
    const char *name, *source;          /* "": not known */
    const struct mosaic_kernel *kernel;
    struct graph *graph;                /* of this kernel alone */
    int devices;                        /* that it runs on at once: it reaches others; else 1 */
    /* a table that it needs before the launch and that nobody has told: what it is made of */
    const char *unknown;
};

struct kernel_file {
    struct arena arena;                 /* of all here */
    struct exec_program program;        /* not of a module alone */
    bool is_program;
    struct kernel_found *found;
    int count;
    size_t capacity;
};

/* Reads the file. kernel_close is the caller's, whatever the status. */
int kernel_open(const struct kernel_request *r, struct kernel_file *f, struct err *e);
void kernel_close(struct kernel_file *f);
/* by its name, or its number counted from 1; NULL: the only one. NULL with those that there are */
const struct kernel_found *kernel_choose(const struct kernel_file *f, const char *which,
                                         struct err *e);

/* The place of operation `number` of the kernel; one without a file where it has none. */
struct mosaic_place kernel_place(const struct mosaic_kernel *k, int number);

/* steps of a dimension of the grid; 0: only the call knows */
int64_t kernel_bound(const struct mosaic_kernel *k, int dim);

/* Where the cycles went, by line of the source. */
struct kernel_line {
    const char *file;                   /* NULL: what no line of the source stands for */
    int line;
    const char *text;                   /* of the line, where the file is here; or what it is */
    struct line_sums sums;
};
struct kernel_lines { struct kernel_line *line; int count; };

/* Lines that a program's operations are for; line 0 is none. Without sums. */
struct kernel_source {
    struct kernel_line *line;
    int count;
    int *of_op;                         /* by operation of the program */
    int *of_number, number_count;       /* by number of the kernel's operation */
};
void kernel_source_of(const struct isa_program *p, const struct mosaic_kernel *k, struct arena *a,
                      struct kernel_source *to);

/* cycles that each bundle waited, by reason; the sums are those of the view */
struct kernel_waits { uint32_t bundle_count; double (*waited)[STALL_COUNT]; };

/* Lines by cycles, most first. Texts of files that can be read; all in the arena. */
void kernel_lines(const struct report_view *v, const struct kernel_waits *w,
                  const struct kernel_source *s, struct arena *a, struct kernel_lines *to);

/* What the program was made of, for a trace: lines, code before it was scheduled, buffers. */
int kernel_list(const struct kernel_source *s, const struct module *m, struct arena *a,
                struct ntrace_listing *to, struct err *e);

/* Behind the line in each note of the program its text, where the file is here. */
void kernel_tell_source(const struct mosaic_kernel *k, struct isa_program *p, struct arena *a);

struct kernel_timed {                   /* a kernel that has run */
    const struct kernel_found *found;
    const struct chip *chip;
    const struct module *module;
    const struct segment *segment;      /* its code */
    struct report_view view;
    struct kernel_waits waits;
    struct kernel_lines lines;
    int64_t steps;                      /* of the grid, 0: not known before the launch */
};

/* Compiles and runs it, and has `told` tell. */
int kernel_time(struct op_options *o, const struct kernel_found *k, struct arena *a,
                int (*told)(void *user, const struct kernel_timed *t, struct err *e), void *user,
                struct err *e);

/*
 * Carries the program out on the host and prints what its kernels do that they must not; the number of
 * that in *found. -1: it was broken off, by an access outside of an array, for one.
 */
bool kernel_is_checked(const struct kernel_request *r);
int kernel_check(const struct kernel_request *r, struct kernel_file *f, struct arena *a, int *found,
                 struct err *e);

void kernel_print(const struct kernel_request *r, const struct kernel_timed *t, struct arena *a);
int kernel_write_json(const struct kernel_request *r, const struct kernel_timed *t, struct arena *a,
                      struct err *e);
void kernel_print_beside(const struct kernel_timed *t, FILE *to);
#endif
