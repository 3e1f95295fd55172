/* Looks a module up on disk by a hash of its key, compiles and keeps it where it is not there. */
#include "stack/module/module_once.h"

#include "base/cache/build_id.h"
#include "base/sha256.h"
#include "stack/module/module_archive.h"
#include "stack/module/module_key.h"

#include <string.h>

/* of this build, a graph and its settings; false: there is none */
static bool make_key(const struct graph *g, const struct module_settings *s, struct bytes *key)
{
    unsigned char digest[SHA256_BYTES];
    struct bytes whole = {0};
    struct sha256 hash;
    size_t bytes;
    const void *build = build_id(&bytes);
    bool has_key = build && module_key(g, s, &whole);

    if (has_key) {
        sha256_begin(&hash);
        sha256_add(&hash, whole.data, whole.size);
        sha256_end(&hash, digest);
        bytes_append(key, build, bytes);
        bytes_append(key, digest, sizeof(digest));
    }
    mem_free(whole.data);
    return has_key;
}

static bool find(const struct module_settings *s, const struct disk_cache *cache,
                 const struct bytes *key, struct arena *a, struct module *out)
{
    struct bytes saved = {0};
    struct err damaged;
    void *kept;

    if (!disk_cache_find(cache, key->data, key->size, &saved))
        return false;
    kept = arena_take(a, saved.data, saved.size, 1);
    return module_restore(kept, saved.size, s, a, out, &damaged) == 0;
}

static void keep(const struct module_settings *s, struct disk_cache *cache,
                 const struct bytes *key, const struct module *m)
{
    struct bytes saved = {0};
    struct err unwritten;

    module_save(m, s, &saved);
    disk_cache_keep(cache, key->data, key->size, saved.data, saved.size, &unwritten);
    mem_free(saved.data);
}

int module_compile_once(const struct graph *g, const struct module_settings *s,
                        struct disk_cache *cache, struct arena *a, struct module *out,
                        bool *was_found, struct err *e)
{
    struct bytes key = {0};
    bool has_key = cache && make_key(g, s, &key);
    bool found = has_key && find(s, cache, &key, a, out);
    int status = found ? 0 : module_compile(g, s, a, out, e);

    if (has_key && !found && status == 0)
        keep(s, cache, &key, out);
    mem_free(key.data);
    if (was_found)
        *was_found = found;
    return status;
}
