/* Reads HDF5 files in a process of its own, which may come to grief over them. */
#include "files/h5.h"

#include <errno.h>
#include <hdf5.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEPTH_MAX 32                    /* of groups in groups */
#define ITEMS_MAX 200000
#define PATH_BYTES_MAX 4096

/* What the reading process says: a frame, the path, the attribute's name, the elements or texts. */
enum frame_kind { FRAME_ARRAY, FRAME_TEXTS, FRAME_FAILED, FRAME_END };
struct frame {
    int64_t kind, rank, dim[H5_RANK_MAX], path_bytes, name_bytes, value_bytes;
};

bool h5_is(const uint8_t *bytes, size_t size)
{
    return size >= 8 && memcmp(bytes, "\211HDF\r\n\032\n", 8) == 0;
}

/* ---- the process that reads */

struct reader {
    FILE *to;
    uint64_t file_bytes;
    int64_t left_bytes, left_items;
    char path[PATH_BYTES_MAX];
    int depth;
};

static void send(struct reader *r, struct frame *f, const char *name, const void *value,
                 size_t bytes)
{
    f->path_bytes = (int64_t)strlen(r->path);
    f->name_bytes = (int64_t)strlen(name);
    f->value_bytes = (int64_t)bytes;
    fwrite(f, sizeof(*f), 1, r->to);
    fwrite(r->path, 1, (size_t)f->path_bytes, r->to);
    fwrite(name, 1, (size_t)f->name_bytes, r->to);
    fwrite(value, 1, bytes, r->to);
}

/* This process ends with what it has to say. */
static _Noreturn void leave(struct reader *r, enum frame_kind kind, const char *why)
{
    struct frame f = {.kind = kind};

    send(r, &f, "", why, strlen(why));
    fflush(r->to);
    _exit(0);
}

static void *room(struct reader *r, uint64_t count, uint64_t each)
{
    void *p;

    if (count > (uint64_t)r->left_bytes / (each ? each : 1))
        leave(r, FRAME_FAILED, "unpacks to more than a file of its size should");
    r->left_bytes -= (int64_t)(count * each);
    p = malloc(count * each + 1);
    if (!p)
        leave(r, FRAME_FAILED, "does not fit the host's memory");
    return p;
}

static void count_item(struct reader *r)
{
    if (--r->left_items < 0)
        leave(r, FRAME_FAILED, "holds more than 200000 groups, arrays and attributes");
}

/* bf16 is two bytes without a meaning of their own */
static void widen(float *value, uint64_t count)
{
    const unsigned char *half = (const unsigned char *)value;

    for (uint64_t i = count; i-- > 0;) {
        uint32_t bits = (uint32_t)half[2 * i + 1] << 24 | (uint32_t)half[2 * i] << 16;

        memcpy(&value[i], &bits, sizeof(bits));
    }
}

/* Arrays of what is no number are passed over. */
static void read_array(struct reader *r, hid_t d)
{
    hid_t space = H5Dget_space(d), type = H5Dget_type(d), how = H5Dget_create_plist(d);
    H5T_class_t class = H5Tget_class(type);
    bool is_half = class == H5T_OPAQUE && H5Tget_size(type) == 2;
    int rank = H5Sget_simple_extent_ndims(space);
    struct frame f = {.kind = FRAME_ARRAY, .rank = rank};
    hsize_t dim[H5S_MAX_RANK];
    uint64_t count = 1;
    float *value;

    if (space < 0 || type < 0 || how < 0)
        leave(r, FRAME_FAILED, "an array cannot be read");
    if (class != H5T_FLOAT && class != H5T_INTEGER && !is_half)
        return;
    if (rank < 0 || rank > H5_RANK_MAX || H5Sget_simple_extent_dims(space, dim, NULL) < 0)
        leave(r, FRAME_FAILED, "an array has more than 8 dimensions, or none that can be read");
    if (H5Pget_layout(how) == H5D_VIRTUAL || H5Pget_external_count(how) != 0)
        leave(r, FRAME_FAILED, "the elements of an array lie in another file");
    for (int i = 0; i < rank; i++) {
        if (dim[i] && count > (uint64_t)r->left_bytes / dim[i])
            leave(r, FRAME_FAILED, "unpacks to more than a file of its size should");
        count *= dim[i];
        f.dim[i] = (int64_t)dim[i];
    }
    if (H5Pget_layout(how) != H5D_CHUNKED && count > r->file_bytes)
        leave(r, FRAME_FAILED, "an array goes beyond the end of the file");
    if (count * sizeof(*value) / 1100 > H5Dget_storage_size(d))
        leave(r, FRAME_FAILED, "an array unpacks to more than deflated bytes can");
    value = room(r, count, sizeof(*value));
    if (H5Dread(d, is_half ? type : H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) < 0)
        leave(r, FRAME_FAILED, "the elements of an array cannot be read");
    if (is_half)
        widen(value, count);
    send(r, &f, "", value, count * sizeof(*value));
    free(value);
    H5Pclose(how);
    H5Tclose(type);
    H5Sclose(space);
}

/* texts one behind the other, each with its end */
static char *join_texts(struct reader *r, const char *const *pointer, const char *fixed,
                        size_t width, uint64_t count, size_t *bytes)
{
    size_t size = 0;
    char *all, *to;

    for (uint64_t i = 0; i < count; i++)
        size += (pointer ? pointer[i] ? strlen(pointer[i]) : 0 : strnlen(fixed + i * width, width))
                + 1;
    all = to = room(r, size, 1);
    for (uint64_t i = 0; i < count; i++) {
        const char *from = pointer ? pointer[i] ? pointer[i] : "" : fixed + i * width;
        size_t length = pointer ? strlen(from) : strnlen(from, width);

        memcpy(to, from, length);
        to[length] = '\0';
        to += length + 1;
    }
    *bytes = size;
    return all;
}

/* Attributes that are no text are passed over. */
static herr_t read_attribute(hid_t group, const char *name, const H5A_info_t *info, void *context)
{
    struct reader *r = context;
    hid_t a = H5Aopen(group, name, H5P_DEFAULT), type = H5Aget_type(a), space = H5Aget_space(a);
    struct frame f = {.kind = FRAME_TEXTS};
    size_t width = H5Tget_size(type), bytes;
    bool is_pointer = H5Tis_variable_str(type) > 0;
    hssize_t count = H5Sget_simple_extent_npoints(space);
    char *all;
    void *raw;

    (void)info;
    count_item(r);
    if (a < 0 || type < 0 || space < 0 || count < 0)
        leave(r, FRAME_FAILED, "an attribute cannot be read");
    if (H5Tget_class(type) == H5T_STRING) {
        raw = room(r, (uint64_t)count, is_pointer ? sizeof(char *) : width);
        if (H5Aread(a, type, raw) < 0)
            leave(r, FRAME_FAILED, "an attribute's text cannot be read");
        all = join_texts(r, is_pointer ? raw : NULL, raw, width, (uint64_t)count, &bytes);
        send(r, &f, name, all, bytes);
        if (is_pointer)
            H5Dvlen_reclaim(type, space, H5P_DEFAULT, raw);
        free(raw);
        free(all);
    }
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(a);
    return 0;
}

static void read_group(struct reader *r, hid_t group);

/* what an optimizer keeps is no model's, and may be twice as much */
static bool is_optimizer(const struct reader *r)
{
    return strcmp(r->path, "optimizer") == 0 || strcmp(r->path, "optimizer_weights") == 0;
}

static herr_t read_link(hid_t group, const char *name, const H5L_info_t *info, void *context)
{
    struct reader *r = context;
    size_t length = strlen(r->path), more = strlen(name) + (length ? 1 : 0);
    hid_t object;

    count_item(r);
    if (length + more >= sizeof(r->path))
        leave(r, FRAME_FAILED, "the path of a group is longer than 4095 characters");
    snprintf(r->path + length, sizeof(r->path) - length, "%s%s", length ? "/" : "", name);
    if (info->type != H5L_TYPE_HARD)
        leave(r, FRAME_FAILED, "a link leads elsewhere; only groups and arrays are read");
    object = is_optimizer(r) ? -1 : H5Oopen(group, name, H5P_DEFAULT);
    if (object < 0 && !is_optimizer(r))
        leave(r, FRAME_FAILED, "a group or an array cannot be opened");
    if (object >= 0 && H5Iget_type(object) == H5I_GROUP)
        read_group(r, object);
    else if (object >= 0 && H5Iget_type(object) == H5I_DATASET)
        read_array(r, object);
    if (object >= 0)
        H5Oclose(object);
    r->path[length] = '\0';
    return 0;
}

static void read_group(struct reader *r, hid_t group)
{
    if (++r->depth > DEPTH_MAX)
        leave(r, FRAME_FAILED, "groups stand in groups more than 32 deep");
    if (H5Aiterate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, read_attribute, r) < 0 ||
        H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, read_link, r) < 0)
        leave(r, FRAME_FAILED, "a group cannot be read");
    r->depth--;
}

/* A reader that fails, or that never ends, is ended, and leaves nothing but a short stream. */
static void limit_process(size_t size)
{
    struct rlimit none = {0, 0}, seconds = {2 + size / (16 << 20), 3 + size / (16 << 20)};
    static const int signals[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGPIPE, SIGXCPU};

    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_CPU, &seconds);
    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        signal(signals[i], SIG_DFL);
    if (!freopen("/dev/null", "w", stderr))
        _exit(1);
}

static _Noreturn void run_reader(const uint8_t *bytes, size_t size, int fd)
{
    struct reader r = {.to = fdopen(fd, "wb"), .left_items = ITEMS_MAX,
                       .file_bytes = size, .left_bytes = archive_unpacked_max((int64_t)size)};
    hid_t access, file, root;

    if (!r.to)
        _exit(1);
    limit_process(size);
    H5Eset_auto(H5E_DEFAULT, NULL, NULL);
    H5PLset_loading_state(0);           /* no code that the file's filters name */
    access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_core(access, 1 << 20, 0);
    /* libhdf5 takes a copy, and does not change what it is given */
    H5Pset_file_image(access, (void *)(uintptr_t)bytes, size);
    file = H5Fopen("image", H5F_ACC_RDONLY, access);
    root = file < 0 ? -1 : H5Gopen(file, "/", H5P_DEFAULT);
    if (root < 0)
        leave(&r, FRAME_FAILED, "is damaged or cut off: libhdf5 cannot open it");
    read_group(&r, root);
    leave(&r, FRAME_END, "");
}

/* ---- the process that asked */

static int take_bytes(int fd, void *to, size_t bytes)
{
    char *at = to;

    while (bytes > 0) {
        ssize_t got = read(fd, at, bytes);

        if (got == 0 || (got < 0 && errno != EINTR))
            return -1;
        if (got > 0) {
            at += got;
            bytes -= (size_t)got;
        }
    }
    return 0;
}

static char *take_text(int fd, int64_t bytes, struct arena *a)
{
    char *text = arena_alloc(a, (size_t)bytes + 1);

    return take_bytes(fd, text, (size_t)bytes) == 0 ? text : NULL;
}

/* is it one that an honest reader would send? */
static bool is_plausible(const struct frame *f, int64_t *left)
{
    int64_t elems = 1;

    if (f->kind < FRAME_ARRAY || f->kind > FRAME_END || f->rank < 0 || f->rank > H5_RANK_MAX ||
        f->path_bytes < 0 || f->path_bytes > PATH_BYTES_MAX || f->name_bytes < 0 ||
        f->name_bytes > 1 << 16 || f->value_bytes < 0 || f->value_bytes > *left)
        return false;
    *left -= f->value_bytes;
    if (f->kind != FRAME_ARRAY)
        return true;
    for (int64_t i = 0; i < f->rank; i++) {
        if (f->dim[i] < 0 || (f->dim[i] && elems > f->value_bytes / f->dim[i]))
            return false;
        elems *= f->dim[i];
    }
    return elems * 4 == f->value_bytes;
}

static void split_texts(struct h5_item *item, char *all, int64_t bytes, struct arena *a)
{
    int count = 0;

    for (int64_t i = 0; i < bytes; i++)
        count += !all[i];
    item->text = arena_array(a, (size_t)count + 1, sizeof(*item->text));
    for (int i = 0; i < count; i++) {
        item->text[i] = all;
        all += strlen(all) + 1;
    }
    item->text_count = count;
}

/* 1: one more; 0: that was all; -1 */
static int take_item(int fd, struct h5_item *item, int64_t *left, const char *path,
                     struct arena *a, struct err *e)
{
    struct frame f;
    char *place, *name, *value;

    if (take_bytes(fd, &f, sizeof(f)) != 0 || !is_plausible(&f, left))
        return err_at(e, path, 0, 0, "is damaged: the reader of HDF5 files ended over it");
    place = take_text(fd, f.path_bytes, a);
    name = take_text(fd, f.name_bytes, a);
    value = take_text(fd, f.value_bytes, a);
    if (!place || !name || !value)
        return err_at(e, path, 0, 0, "is damaged: the reader of HDF5 files ended over it");
    if (f.kind == FRAME_END)
        return 0;
    if (f.kind == FRAME_FAILED)
        return *place ? err_at(e, path, 0, 0, "%s (\"%s\")", value, place)
                      : err_at(e, path, 0, 0, "%s", value);
    *item = (struct h5_item){.path = place};
    if (f.kind == FRAME_TEXTS) {
        item->attribute = name;
        split_texts(item, value, f.value_bytes, a);
        return 1;
    }
    item->rank = (int)f.rank;
    memcpy(item->dim, f.dim, sizeof(item->dim));
    item->value = (const float *)(const void *)value;
    return 1;
}

static int take_items(int fd, size_t size, struct h5_file *out, struct arena *a, struct err *e)
{
    int64_t left = 2 * archive_unpacked_max((int64_t)size);
    struct h5_item *list = NULL;
    size_t capacity = 0;
    int status;

    do {
        list = mem_grow(list, &capacity, (size_t)out->count + 1, sizeof(*list));
        status = take_item(fd, &list[out->count], &left, out->path, a, e);
        out->count += status > 0;
    } while (status > 0);
    out->item = arena_take(a, list, (size_t)out->count, sizeof(*list));
    return status;
}

int h5_read(const uint8_t *bytes, size_t size, const char *path, struct arena *a,
            struct h5_file *out, struct err *e)
{
    int ends[2], status, how;
    pid_t child;

    *out = (struct h5_file){.path = path};
    if (pipe(ends) != 0)
        return err_at(e, path, 0, 0, "cannot be read: %s", strerror(errno));
    child = fork();
    if (child == 0) {
        close(ends[0]);
        run_reader(bytes, size, ends[1]);
    }
    close(ends[1]);
    status = child < 0 ? err_at(e, path, 0, 0, "cannot be read: %s", strerror(errno))
                       : take_items(ends[0], size, out, a, e);
    close(ends[0]);
    while (child > 0 && waitpid(child, &how, 0) < 0 && errno == EINTR)
        ;
    return status;
}

const struct h5_item *h5_find(const struct h5_file *f, const char *path, const char *attribute)
{
    for (int i = 0; i < f->count; i++) {
        const struct h5_item *item = &f->item[i];

        if (strcmp(item->path, path) == 0 &&
            (attribute ? item->attribute && strcmp(item->attribute, attribute) == 0
                       : !item->attribute))
            return item;
    }
    return NULL;
}
