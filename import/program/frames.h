/*
 * Tables of places: since 2025 a program says files, lines and frames once, in its head, and each
 * instruction the number of a frame (stack_frame_id).
 *
 * The module keeps the tables as HLO text has them (hlo_module.tables); this reads them. All are
 * counted from 1; what a number names that a table has not is not known.
 */
#ifndef IMPORT_FRAMES_H
#define IMPORT_FRAMES_H
#include "import/program/program.h"

struct hlo_file_location { int file, function, line, end_line, col, end_col; };
struct hlo_frame { int location, parent; };
struct hlo_frames {
    const char **file, **function;      /* with quotes and escapes, as they stand */
    const char **plain_file;            /* without */
    struct hlo_file_location *location;
    struct hlo_frame *frame;
    int file_count, function_count, location_count, frame_count;
    size_t file_room, function_room, location_room, frame_room;
};

/* `tables` may be NULL: no tables. Texts and lists are the arena's. */
void hlo_frames_read(struct hlo_frames *f, struct arena *a, const char *tables);
/* A place that has a frame and no file of its own is given file and lines of its frame; `more`: what
 * is more of it. */
void hlo_frames_resolve(const struct hlo_frames *f, struct hlo_place *p,
                        struct hlo_place_more *more);
#endif
