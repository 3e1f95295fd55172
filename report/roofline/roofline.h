/*
 * Rooflines of runs: what one core could do, and what its source operations
 * and its whole step did.
 *
 * Roofs and points are per core: a chip's HBM and links are shared out evenly.
 * FLOP are those issued to the matrix units. A point's intensity is in FLOP per
 * byte of the memory that it uses most of, so that it lies under that memory's
 * roof; what an operation is bound by is the resource with the highest use.
 * Operations without FLOP have no point and stand in the tables alone.
 */
#ifndef REPORT_ROOFLINE_H
#define REPORT_ROOFLINE_H
#include "base/text.h"
#include "report/view/run_folder.h"
#include "sim/chip/chip.h"

#include <stdio.h>

#define ROOF_TYPE_COUNT 4               /* bf16, int8, int4, fp8 */
#define ROOF_RUN_MAX 8

/* ROOF_COMPUTE is the matrix units; the others have bytes */
enum roofline_resource {
    ROOF_HBM, ROOF_VMEM_READ, ROOF_VMEM_WRITE, ROOF_ICI, ROOF_MEMORY_COUNT,
    ROOF_COMPUTE = ROOF_MEMORY_COUNT, ROOF_RESOURCE_COUNT
};

struct roofline_roofs {
    double flops[ROOF_TYPE_COUNT];      /* per second; 0 = the chip does not take the type */
    double bytes[ROOF_MEMORY_COUNT];    /* per second; 0 = none */
};

struct roofline_point {
    const char *name;                   /* of the source operation, or "whole step" */
    double seconds, share;              /* of the step, 0..1 */
    double flops, bytes[ROOF_MEMORY_COUNT];
    double use[ROOF_RESOURCE_COUNT];    /* 0..1; a copy may go on after its operation's time */
    enum roofline_resource bound;       /* the highest use */
    enum roofline_resource memory;      /* the highest use of those with bytes */
    double intensity, rate;             /* FLOP per byte of it, FLOP per second; 0 = no point */
};

struct roofline {
    const struct run_folder *run;
    struct chip chip;
    struct roofline_roofs roofs;
    struct roofline_point step;
    struct roofline_point *op;          /* the longest first */
    size_t op_count;
    bool has_ops;                       /* the run tells of source operations */
};

struct roofline_roofs roofline_roofs_of_chip(const struct chip *c);
/* what a point uses and where it lies, from its times, FLOP, bytes and use of ROOF_COMPUTE */
void roofline_point_place(struct roofline_point *p, const struct roofline_roofs *roofs);

/* *run stays open as long as *r is used. -1: a run without cycles or without a chip. */
int roofline_make(struct roofline *r, const struct run_folder *run, struct arena *a,
                  struct err *e);

struct short_text roofline_rate(double per_second, const char *unit);   /* "61.6 TFLOP/s" */
const char *roofline_roof_name(enum roofline_resource r); /* "HBM", "VMEM load", "MXU" */
const char *roofline_type_name(int type);               /* "bf16" */

/* one after the other, then all in one plot of `columns` characters */
void roofline_print_text(const struct roofline *r, size_t count, FILE *to);
void roofline_print_plot(const struct roofline *r, size_t count, int columns, FILE *to);
void roofline_print_csv(const struct roofline *r, size_t count, FILE *to);
void roofline_print_svg(const struct roofline *r, size_t count, FILE *to);

/* The part of the plane that holds all roofs and points, in powers of ten. */
struct roofline_frame {
    double x0, x1, y0, y1;              /* log10 of FLOP/B, of FLOP/s; whole numbers */
};
void roofline_frame_find(const struct roofline *r, size_t count, struct roofline_frame *f);
#endif
