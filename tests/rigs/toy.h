/*
 * A hand-made launch for tests of report/: two one-core chips, numbers that can
 * be checked by eye. Also folders that tests write to,
 * and readings of JSON.
 */
#ifndef TESTS_TOY_H
#define TESTS_TOY_H
#include "report/view/view.h"

#include <jansson.h>

enum { TRACK_SCALAR, TRACK_VALU, TRACK_LOAD, TRACK_MXU, TRACK_PUSH, TRACK_DMA, TRACK_COUNT };

struct toy {
    struct report_view view;
    struct chip chip;
    struct slice slice;
    struct core_counters counters[2];
    const struct core_counters *core[2];
    struct hbm_stats memory[2];
    const struct hbm_stats *hbm[2];
    struct net_link_stats wire[2];
    const struct net_link_stats *link[2];
    struct isa_bundle bundle[4];
    struct isa_op op[2];
    struct view_bundle done[4];
    int64_t executed[2];
    const char *note[2];
    struct isa_program program;
};

/* 10,000 cycles at 1000 MHz */
void toy_init(struct toy *t);

struct report_run toy_run(void);        /* two epochs, two steps, three options; no machine */

/* a new empty folder in TMPDIR or /tmp; returns path */
char *toy_make_folder(char *path, size_t path_bytes);
int toy_remove_folder(const char *path);        /* with its files; returns how many they were */
char *toy_read_text(const char *path);          /* gunzipped if gzipped; free() it */

/* members that must be there, of this kind */
json_int_t toy_get_int(const json_t *object, const char *key);
double toy_get_real(const json_t *object, const char *key);
#endif
