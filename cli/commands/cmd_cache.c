/* systole cache: what was compiled before and lies on disk for the next time. */
#include "cli/commands/cli.h"

#include "base/arena.h"
#include "base/cache/disk_cache.h"
#include "base/text.h"
#include "cli/common/options.h"

#include <stdio.h>
#include <sys/stat.h>

struct arguments {
    bool is_cleared;
};

static const struct cli_option options[] = {
    {"clear", 0, NULL, "remove all of it", 1, CLI_FLAG, CLI_AT(struct arguments, is_cleared)},
    {0}};

static const struct cli_syntax syntax = {
    .own = {.row = options}, .args_doc = "",
    .doc =
    "Show how much of compiled programs lies on disk, or remove it. A program of JAX or PyTorch/XLA "
    "that was compiled for a slice is not compiled again, by no process: its code is found by "
    "the program, the chip, the settings and this build.\v"
    "The folder is systole/programs below XDG_CACHE_HOME, else below ~/.cache. It holds at most "
    "2 GiB; what was not used for longest goes first. SYSTOLE_CACHE=500M sets another bound, "
    "SYSTOLE_CACHE=0 does without it."};

static int print_use(struct disk_cache *c, struct err *e)
{
    struct disk_cache_use use;

    if (disk_cache_count(c, &use, e))
        return -1;
    printf("%s: %s program%s, %s of at most %s\n", c->folder, text_thousands(use.entries).text,
           use.entries == 1 ? "" : "s", text_bytes(use.bytes).text, text_bytes(c->bytes_max).text);
    return 0;
}

static int clear(struct disk_cache *c, struct err *e)
{
    struct disk_cache_use removed;

    if (disk_cache_clear(c, &removed, e))
        return -1;
    printf("%s: removed %s program%s, %s\n", c->folder, text_thousands(removed.entries).text,
           removed.entries == 1 ? "" : "s", text_bytes(removed.bytes).text);
    return 0;
}

static int use_folder(const struct arguments *args, const char *folder, int64_t bytes_max,
                      struct err *e)
{
    struct disk_cache c;
    struct stat st;
    int status;

    if (stat(folder, &st) != 0) {
        printf("%s: nothing was kept yet\n", folder);
        return 0;
    }
    if (disk_cache_open(&c, folder, bytes_max, e))
        return -1;
    status = args->is_cleared ? clear(&c, e) : print_use(&c, e);
    disk_cache_close(&c);
    return status;
}

int cmd_cache(int argc, char **argv)
{
    struct arguments args = {0};
    int64_t bytes_max;
    bool is_wrong;
    struct err e;
    char *folder;
    int status;

    cli_parse(&syntax, argc, argv, &args);
    folder = disk_cache_place(DISK_CACHE_PROGRAMS, &bytes_max, &is_wrong, &e);
    if (!folder && is_wrong)
        return cli_fail(&e);
    if (!folder) {
        puts("nothing is kept: SYSTOLE_CACHE is 0, or there is no home");
        return 0;
    }
    status = use_folder(&args, folder, bytes_max, &e);
    mem_free(folder);
    return status ? cli_fail(&e) : 0;
}
