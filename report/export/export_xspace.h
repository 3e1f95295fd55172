/* Private to the XSpace exporter: declares the plane being made, stats, names of lines. */
#ifndef REPORT_EXPORT_XSPACE_H
#define REPORT_EXPORT_XSPACE_H
#include "isa/matrix.h"
#include "report/export/export_names.h"
#include "report/export/export_pb.h"
#include "report/proto/xplane.pb-c.h"

enum export_xstat {
#define XSTAT(id, name) XSTAT_##id,
#include "report/export/export_xstats.def"
    XSTAT_COUNT
};

#define XSTATS_MAX 20
struct export_xstats {
    XStat item[XSTATS_MAX], *list[XSTATS_MAX];
    size_t count;
};

struct export_xline {
    char name[64];
    struct export_pb_bytes events;
    ps_t end_ps;
};

/* What the executions of one source operation in this plane came to. */
struct export_xop {
    uint32_t name;
    int64_t count, flops, read_bytes, write_bytes;
};

struct export_xspace {
    struct export_run *r;
    FILE *to;
    int64_t bytes;
    const struct export_process *process;
    struct export_xline *line;
    size_t line_count, line_capacity;
    size_t *line_of, line_of_capacity;  /* by track id */
    struct export_pb_bytes metadata;    /* of events and stats */
    bool has_stat[XSTAT_COUNT], has_key[KEY_COUNT];
    uint8_t *has_name, *has_text;       /* by name: bit per use; whether it is a stat */
    size_t name_capacity, text_capacity;
    struct export_xop *op;              /* by note */
    size_t op_capacity;
};

void export_xspace_add_int(struct export_xspace *w, struct export_xstats *s, enum export_xstat stat,
                           int64_t value);
void export_xspace_add_uint(struct export_xspace *w, struct export_xstats *s,
                            enum export_xstat stat, uint64_t value);
void export_xspace_add_double(struct export_xspace *w, struct export_xstats *s,
                              enum export_xstat stat, double value);
void export_xspace_add_text(struct export_xspace *w, struct export_xstats *s,
                            enum export_xstat stat, const char *text);

/* export_xspace_names.c: what a track is called; a plane's own name and stats, appended to *to */
void export_xspace_line_name(const struct export_track *t, char *name, size_t name_bytes);
void export_xspace_describe_plane(struct export_xspace *w, const struct export_process *p,
                                  struct export_pb_bytes *to);
#endif
