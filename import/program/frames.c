/* Reads tables of places, `1 "file.py"`, `1 {line=3 column=4}`, and finds what a frame says. */
#include "import/program/frames.h"

#include <stdlib.h>
#include <string.h>

enum table { FILES, FUNCTIONS, LOCATIONS, FRAMES, TABLES };
static const char *const titles[TABLES] = {"FileNames", "FunctionNames", "FileLocations",
                                           "StackFrames"};

static const char *blank(const char *at) { return at + strspn(at, " \t\r\n"); }

/* behind the string or the braces that begin at `at` */
static const char *value_end(const char *at)
{
    char last = *at == '"' ? '"' : '}';

    for (at++; *at && *at != last; at++)
        at += *at == '\\' && at[1];
    return *at ? at + 1 : at;
}

/* without quotes; of escapes those that names of files have */
static const char *plain(struct arena *a, const char *quoted)
{
    char *made = arena_strdup(a, quoted[0] ? quoted + 1 : quoted), *to = made;

    for (const char *at = made; *at && *at != '"'; at++) {
        at += *at == '\\' && (at[1] == '\\' || at[1] == '"');
        *to++ = *at;
    }
    *to = 0;
    return made;
}

static int field_of(const char *at, const char *end, const char *name)
{
    size_t length = strlen(name);

    for (; at + length < end; at++) {
        if ((at[-1] == '{' || at[-1] == ' ') && strncmp(at, name, length) == 0 &&
            at[length] == '=')
            return atoi(at + length + 1);
    }
    return 0;
}

static struct hlo_file_location location_of(const char *at, const char *end)
{
    return (struct hlo_file_location){
        .file = field_of(at, end, "file_name_id"), .function = field_of(at, end, "function_name_id"),
        .line = field_of(at, end, "line"), .end_line = field_of(at, end, "end_line"),
        .col = field_of(at, end, "column"), .end_col = field_of(at, end, "end_column")};
}

static void add_value(struct hlo_frames *f, struct arena *a, enum table t, const char *at,
                      const char *end)
{
    switch (t) {
    case FILES:
        MEM_ADD(f->file, f->file_count, f->file_room) =
            arena_printf(a, "%.*s", (int)(end - at), at);
        break;
    case FUNCTIONS:
        MEM_ADD(f->function, f->function_count, f->function_room) =
            arena_printf(a, "%.*s", (int)(end - at), at);
        break;
    case LOCATIONS:
        MEM_ADD(f->location, f->location_count, f->location_room) = location_of(at + 1, end);
        break;
    case FRAMES:
        MEM_ADD(f->frame, f->frame_count, f->frame_room) =
            (struct hlo_frame){field_of(at + 1, end, "file_location_id"),
                               field_of(at + 1, end, "parent_frame_id")};
        break;
    case TABLES:
        break;
    }
}

void hlo_frames_read(struct hlo_frames *f, struct arena *a, const char *tables)
{
    enum table t = TABLES;

    *f = (struct hlo_frames){.file = NULL};
    for (const char *at = tables ? blank(tables) : ""; *at; at = blank(at)) {
        const char *end;

        for (size_t k = 0; k < TABLES; k++) {
            if (strncmp(at, titles[k], strlen(titles[k])) == 0)
                t = (enum table)k;
        }
        at += strcspn(at, " \t\r\n");   /* the title, or the number of what comes now */
        at = blank(at);
        if (*at != '"' && *at != '{')
            continue;
        end = value_end(at);
        add_value(f, a, t, at, end);
        at = end;
    }
    f->file = arena_take(a, f->file, (size_t)f->file_count, sizeof(*f->file));
    f->plain_file = arena_array(a, (size_t)f->file_count + 1, sizeof(*f->plain_file));
    for (int i = 0; i < f->file_count; i++)
        f->plain_file[i] = plain(a, f->file[i]);
    f->function = arena_take(a, f->function, (size_t)f->function_count, sizeof(*f->function));
    f->location = arena_take(a, f->location, (size_t)f->location_count, sizeof(*f->location));
    f->frame = arena_take(a, f->frame, (size_t)f->frame_count, sizeof(*f->frame));
}

void hlo_frames_resolve(const struct hlo_frames *f, struct hlo_place *p,
                        struct hlo_place_more *more)
{
    const struct hlo_file_location *l;
    int at;

    if (p->file || p->line || more->frame < 1 || more->frame > f->frame_count)
        return;
    at = f->frame[more->frame - 1].location;
    if (at < 1 || at > f->location_count)
        return;
    l = &f->location[at - 1];
    if (l->file < 1 || l->file > f->file_count)
        return;
    p->file = f->plain_file[l->file - 1];
    p->line = l->line;
    p->end_line = l->end_line;
    p->col = l->col;
    p->end_col = l->end_col;
    more->is_of_frame = true;
}
