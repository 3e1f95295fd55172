#include "tests/rigs/restored.h"

#include "stack/module/module_archive.h"
#include "tests/test.h"

void restore_module(struct module *m, const struct module_settings *s, struct arena *a)
{
    struct bytes saved = {0}, again = {0};
    const void *kept;
    struct err e;

    module_save(m, s, &saved);
    kept = arena_copy(a, saved.data, saved.size, 1);
    memset(m, 0xa5, sizeof(*m));        /* nothing of it is left */
    if (module_restore(kept, saved.size, s, a, m, &e))
        fail_msg("cannot be restored: %s", e.msg);
    module_save(m, s, &again);
    assert_int_equal(again.size, saved.size);
    assert_memory_equal(again.data, saved.data, saved.size);
    mem_free(saved.data);
    mem_free(again.data);
}
