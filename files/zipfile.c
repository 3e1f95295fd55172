/* Reads and writes zip archives by libzip. */
#include "files/zipfile.h"

#include <string.h>
#include <zip.h>

#define MEMBERS_MAX 65536

bool zipfile_is(const uint8_t *bytes, size_t size)
{
    return size >= 4 && memcmp(bytes, "PK", 2) == 0 &&
           (memcmp(bytes + 2, "\3\4", 2) == 0 || memcmp(bytes + 2, "\5\6", 2) == 0);
}

static int fail(const char *path, zip_error_t *why, struct err *e)
{
    err_at(e, path, 0, 0, "is no whole zip archive: %s", zip_error_strerror(why));
    zip_error_fini(why);
    return -1;
}

int zipfile_open(struct zipfile *z, const uint8_t *bytes, size_t size, const char *path,
                 struct arena *a, struct err *e)
{
    zip_error_t why;
    zip_source_t *from;
    zip_int64_t count;

    *z = (struct zipfile){.path = path, .left_bytes = archive_unpacked_max((int64_t)size)};
    zip_error_init(&why);
    from = zip_source_buffer_create(bytes, size, 0, &why);
    z->zip = from ? zip_open_from_source(from, ZIP_RDONLY, &why) : NULL;
    if (!z->zip) {
        zip_source_free(from);
        return fail(path, &why, e);
    }
    zip_error_fini(&why);
    count = zip_get_num_entries(z->zip, 0);
    if (count < 0 || count > MEMBERS_MAX) {
        zipfile_close(z);
        return err_at(e, path, 0, 0, "has more than %d members", MEMBERS_MAX);
    }
    z->name = arena_array(a, (size_t)count + 1, sizeof(*z->name));
    for (z->count = 0; z->count < count; z->count++) {
        const char *name = zip_get_name(z->zip, (zip_uint64_t)z->count, 0);

        z->name[z->count] = arena_strdup(a, name ? name : "");
    }
    return 0;
}

void zipfile_close(struct zipfile *z)
{
    if (z->zip)
        zip_discard(z->zip);
    z->zip = NULL;
}

int zipfile_find(const struct zipfile *z, const char *name)
{
    for (int i = 0; i < z->count; i++)
        if (strcmp(z->name[i], name) == 0)
            return i;
    return -1;
}

static int check_member(struct zipfile *z, int member, zip_stat_t *s, struct err *e)
{
    const char *name = z->name[member];

    zip_stat_init(s);
    if (zip_stat_index(z->zip, (zip_uint64_t)member, 0, s) != 0 || !(s->valid & ZIP_STAT_SIZE))
        return err_at(e, z->path, 0, 0, "%s: its size is not told", name);
    if (s->encryption_method != ZIP_EM_NONE)
        return err_at(e, z->path, 0, 0, "%s is encrypted", name);
    if (s->comp_method != ZIP_CM_STORE && s->comp_method != ZIP_CM_DEFLATE)
        return err_at(e, z->path, 0, 0, "%s is packed by method %d; read are stored and deflated "
                      "members", name, s->comp_method);
    if (s->size > (zip_uint64_t)z->left_bytes)
        return err_at(e, z->path, 0, 0, "%s unpacks to %llu bytes, more than a file of its size "
                      "should; SYSTOLE_UNPACK_BYTES allows more", name,
                      (unsigned long long)s->size);
    if (!(s->valid & ZIP_STAT_COMP_SIZE) || s->size / 1100 > s->comp_size)
        return err_at(e, z->path, 0, 0, "%s unpacks to more than deflated bytes can", name);
    z->left_bytes -= (int64_t)s->size;
    return 0;
}

/* An honest member ends where it says, with the checksum that it says. */
int zipfile_read(struct zipfile *z, int member, struct arena *a, uint8_t **bytes, size_t *size,
                 struct err *e)
{
    zip_stat_t s;
    zip_file_t *from;
    zip_int64_t got = 0, end = -1;

    if (check_member(z, member, &s, e) != 0)
        return -1;
    from = zip_fopen_index(z->zip, (zip_uint64_t)member, 0);
    *size = (size_t)s.size;
    *bytes = arena_alloc(a, *size + 1);
    if (from) {
        got = *size ? zip_fread(from, *bytes, *size) : 0;
        end = zip_fread(from, &(char){0}, 1);
        zip_fclose(from);
    }
    if (!from || got != (zip_int64_t)*size || end != 0)
        return err_at(e, z->path, 0, 0, "%s is damaged or cut off", z->name[member]);
    return 0;
}

char *zipfile_print(const struct zipfile *z, char *buf, size_t buf_bytes)
{
    size_t length = 0;

    snprintf(buf, buf_bytes, "nothing");
    for (int i = 0; i < z->count && length < buf_bytes; i++)
        length += (size_t)snprintf(buf + length, buf_bytes - length, "%s%s", i ? ", " : "",
                                   i < 8 ? z->name[i] : "...");
    return buf;
}

/* ---- writing */

/* the bytes of what has been written; the source is given up */
static int take_bytes(zip_source_t *from, struct bytes *to)
{
    zip_stat_t s;
    int status = -1;

    zip_stat_init(&s);
    if (zip_source_open(from) == 0 && zip_source_stat(from, &s) == 0) {
        *to = (struct bytes){mem_alloc((size_t)s.size + 1), (size_t)s.size, (size_t)s.size + 1};
        status = zip_source_read(from, to->data, s.size) == (zip_int64_t)s.size ? 0 : -1;
        zip_source_close(from);
    }
    zip_source_free(from);
    return status;
}

static int add_member(zip_t *zip, const struct zipfile_member *m)
{
    zip_source_t *from = zip_source_buffer(zip, m->data, m->size, 0);
    zip_int64_t i = from ? zip_file_add(zip, m->name, from, ZIP_FL_ENC_UTF_8) : -1;

    if (i < 0) {
        zip_source_free(from);
        return -1;
    }
    /* the first day of that calendar: the same file at any time */
    return zip_set_file_compression(zip, (zip_uint64_t)i, ZIP_CM_STORE, 0) ||
           zip_file_set_dostime(zip, (zip_uint64_t)i, 0, 1 << 5 | 1, 0) ? -1 : 0;
}

int zipfile_write(const struct zipfile_member *member, int count, struct bytes *to, struct err *e)
{
    zip_source_t *into = zip_source_buffer_create(NULL, 0, 0, NULL);
    zip_t *zip = into ? zip_open_from_source(into, ZIP_TRUNCATE, NULL) : NULL;
    int status = 0;

    *to = (struct bytes){0};
    if (!zip) {
        zip_source_free(into);
        return err_set(e, "libzip cannot make an archive in memory");
    }
    zip_source_keep(into);
    for (int i = 0; i < count && status == 0; i++)
        status = add_member(zip, &member[i]);
    if (status == 0)
        status = zip_close(zip);
    if (status)
        zip_discard(zip);
    if (status)
        zip_source_free(into);
    else
        status = take_bytes(into, to);
    return status ? err_set(e, "libzip cannot make the archive in memory") : 0;
}
