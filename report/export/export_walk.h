/*
 * Private to the walk of an export (export_walk.c): declares rows of tracks, and who adds to them.
 */
#ifndef REPORT_EXPORT_WALK_H
#define REPORT_EXPORT_WALK_H
#include "report/export/export_copies.h"
#include "report/export/export_names.h"

struct export_lane {
    struct export_track track;
    ps_t start, end;                    /* of the last slice */
};

/* Tracks of one name: as many lanes as slices overlap. */
struct export_row {
    enum export_kind kind;
    int index, rank;
    const char *name, *unit;
    struct export_lane **lane;
    size_t count, capacity;
};

struct export_walker {
    struct export_run *r;
    const struct export_sink *sink;
    const struct export_process *process;
    struct export_row *row;             /* of the process */
    int row_count;
    int track_count, process_count;
    struct arena arena;                 /* of the process */
    struct export_copies copies;
    int core;
    size_t next_wait;
    int launch;                         /* of the last slice */
};

bool export_shows(const struct export_run *r, enum export_kind kind);
void export_row_slice(struct export_walker *w, struct export_row *row, struct export_slice *s);
void export_row_sample(struct export_walker *w, struct export_row *row, cycle_t at, double value);
void export_arg_number(struct export_slice *s, enum export_key key, int64_t value);
void export_arg_text(struct export_slice *s, enum export_key key, uint32_t text);  /* not of 0 */

/* export_counters.c: rows for the counters of a core or of the HBM of a chip, their samples */
/* how many; row NULL: only that */
int export_counter_rows(const struct export_walker *w, struct export_row *row,
                        enum export_process_kind process);
void export_counter_samples(struct export_walker *w, struct export_row *row,
                            enum export_process_kind process, int index);
/* export_core.c */
void export_walk_core(struct export_walker *w, int core);
/* export_hbm.c */
void export_walk_hbm(struct export_walker *w, int chip);
void export_walk_links(struct export_walker *w);
void export_begin_process(struct export_walker *w, struct export_process *p, int row_count);
void export_end_process(struct export_walker *w);
bool export_has_link(const struct export_run *r, int link);
#endif
