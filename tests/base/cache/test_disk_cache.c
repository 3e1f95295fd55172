/* The cache on disk: what is found is what was kept, whoever is killed, damages or shares it. */
#include "tests/test.h"

#include "base/arena.h"
#include "base/cache/disk_cache.h"
#include "base/cache/disk_entry.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct place {
    char top[64], folder[96];
};

static void make_place(struct place *p)
{
    snprintf(p->top, sizeof(p->top), "/tmp/systole_cache_XXXXXX");
    assert_non_null(mkdtemp(p->top));
    snprintf(p->folder, sizeof(p->folder), "%s/a/b", p->top);
}

static void remove_place(const struct place *p)
{
    char command[96];

    snprintf(command, sizeof(command), "rm -rf %s", p->top);
    assert_int_equal(system(command), 0);
}

static void open_cache(struct disk_cache *c, const struct place *p, int64_t bytes_max)
{
    struct err e;

    assert_int_equal(disk_cache_open(c, p->folder, bytes_max, &e), 0);
}

static void keep(struct disk_cache *c, const char *key, const char *value)
{
    struct err e;

    assert_int_equal(disk_cache_keep(c, key, strlen(key), value, strlen(value), &e), 0);
}

static bool finds(const struct disk_cache *c, const char *key, const char *value)
{
    struct bytes b = {0};
    bool found = disk_cache_find(c, key, strlen(key), &b);

    if (found) {
        assert_int_equal(b.size, strlen(value));
        assert_memory_equal(b.data, value, b.size);
    }
    mem_free(b.data);
    return found;
}

static void path_of_key(const struct place *p, const char *key, char path[160])
{
    char name[DISK_ENTRY_NAME_BYTES];

    disk_entry_name(key, strlen(key), name);
    snprintf(path, 160, "%s/%s", p->folder, name);
}

static void set_age(const struct place *p, const char *key, int seconds)
{
    char path[160];
    struct timespec t[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};

    path_of_key(p, key, path);
    assert_int_equal(utimensat(AT_FDCWD, path, t, 0), 0);
}

TEST(what_was_kept_is_found_by_its_key_alone_and_by_the_next_process)
{
    struct place p;
    struct disk_cache c, next;
    struct disk_cache_use use;
    struct stat st;
    struct err e;

    make_place(&p);
    open_cache(&c, &p, 1 << 20);
    assert_false(finds(&c, "key", ""));
    keep(&c, "key", "value");
    keep(&c, "key2", "");
    keep(&c, "", "of no key");
    assert_true(finds(&c, "key", "value"));
    assert_true(finds(&c, "key2", ""));
    assert_true(finds(&c, "", "of no key"));
    assert_false(finds(&c, "ke", ""));
    keep(&c, "key", "another");
    open_cache(&next, &p, 1 << 20);
    assert_true(finds(&next, "key", "another"));
    assert_int_equal(disk_cache_count(&next, &use, &e), 0);
    assert_int_equal(use.entries, 3);
    assert_int_equal(use.bytes, disk_entry_bytes(3, 7) + disk_entry_bytes(4, 0) +
                                disk_entry_bytes(0, 9));
    assert_int_equal(stat(p.folder, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(disk_cache_clear(&next, &use, &e), 0);
    assert_int_equal(use.entries, 3);
    assert_false(finds(&c, "key", ""));
    disk_cache_close(&c);
    disk_cache_close(&next);
    remove_place(&p);
}

/* every byte in turn, and every length */
TEST(a_damaged_entry_is_a_miss_and_goes_away)
{
    struct place p;
    struct disk_cache c;
    char path[160];
    int64_t size = disk_entry_bytes(3, 5);

    make_place(&p);
    open_cache(&c, &p, 1 << 20);
    path_of_key(&p, "key", path);
    for (int64_t i = 0; i < 2 * size; i++) {
        FILE *f;
        int was;

        keep(&c, "key", "value");
        if (i < size) {
            f = fopen(path, "r+b");
            assert_non_null(f);
            fseek(f, i, SEEK_SET);
            was = fgetc(f);
            fseek(f, i, SEEK_SET);
            fputc(was ^ (1 << (i % 8)), f);
            fclose(f);
        } else
            assert_int_equal(truncate(path, i - size), 0);
        assert_false(finds(&c, "key", ""));
        assert_int_equal(access(path, F_OK), -1);
    }
    keep(&c, "key", "value");
    assert_true(finds(&c, "key", "value"));
    disk_cache_close(&c);
    remove_place(&p);
}

TEST(what_is_no_entry_is_a_miss_and_is_left_alone)
{
    struct place p;
    struct disk_cache c;
    char path[160], other[160];

    make_place(&p);
    open_cache(&c, &p, 1 << 20);
    path_of_key(&p, "pipe", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(finds(&c, "pipe", ""));
    path_of_key(&p, "folder", path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_false(finds(&c, "folder", ""));
    keep(&c, "true", "value");
    path_of_key(&p, "true", other);
    path_of_key(&p, "link", path);
    assert_int_equal(symlink(other, path), 0);
    assert_false(finds(&c, "link", ""));
    path_of_key(&p, "copy", path);              /* another key's entry under this one's name */
    assert_int_equal(link(other, path), 0);
    assert_false(finds(&c, "copy", ""));
    assert_true(finds(&c, "true", "value"));
    disk_cache_close(&c);
    remove_place(&p);
}

TEST(a_folder_that_others_may_write_is_refused)
{
    struct place p;
    struct disk_cache c;
    struct err e;

    make_place(&p);
    open_cache(&c, &p, 1 << 20);
    disk_cache_close(&c);
    assert_int_equal(chmod(p.folder, 0770), 0);
    assert_int_equal(disk_cache_open(&c, p.folder, 1 << 20, &e), -1);
    assert_non_null(strstr(e.msg, "others may write into it"));
    assert_int_equal(chmod(p.folder, 0700), 0);
    snprintf(p.folder + strlen(p.folder), 8, "/link");
    assert_int_equal(symlink(p.top, p.folder), 0);
    assert_int_equal(disk_cache_open(&c, p.folder, 1 << 20, &e), -1);
    assert_int_equal(disk_cache_open(&c, "/proc/nobody/cache", 1 << 20, &e), -1);
    remove_place(&p);
}

TEST(what_was_not_used_for_longest_goes_first)
{
    struct place p;
    struct disk_cache c;
    char value[1001], key[16];
    struct disk_cache_use use;
    struct err e;
    int64_t each = disk_entry_bytes(2, 1000);

    make_place(&p);
    memset(value, 'x', 1000);
    value[1000] = '\0';
    open_cache(&c, &p, 10 * each + each / 2);
    for (int i = 0; i < 10; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        keep(&c, key, value);
        set_age(&p, key, 100 - i);
    }
    assert_int_equal(disk_cache_count(&c, &use, &e), 0);
    assert_int_equal(use.entries, 10);
    assert_true(finds(&c, "k0", value));        /* used: the oldest is k1 now */
    keep(&c, "kA", value);
    assert_false(finds(&c, "k1", value));
    assert_true(finds(&c, "k0", value));
    assert_true(finds(&c, "kA", value));
    assert_true(finds(&c, "k9", value));
    disk_cache_close(&c);
    remove_place(&p);
}

TEST(a_full_cache_stays_below_its_bound)
{
    struct place p;
    struct disk_cache c;
    unsigned char value[3000] = {0};
    struct disk_cache_use use;
    struct err e;

    make_place(&p);
    open_cache(&c, &p, 100000);
    for (int i = 0; i < 500; i++) {
        size_t bytes = (size_t)(i * 7919) % sizeof(value);

        assert_int_equal(disk_cache_keep(&c, &i, sizeof(i), value, bytes, &e), 0);
        assert_int_equal(disk_cache_count(&c, &use, &e), 0);
        assert_true(use.bytes <= 100000);
    }
    assert_true(use.bytes > 80000);
    /* what is larger than all of it is not kept, and nothing makes way for it */
    assert_int_equal(disk_cache_keep(&c, "large", 5, value, 100000, &e), 0);
    assert_false(finds(&c, "large", ""));
    disk_cache_close(&c);
    remove_place(&p);
}

/* ----- several processes, some of which are killed */

#define KEYS 12

static size_t value_of(int key, unsigned char *to)
{
    size_t bytes = (size_t)(key * 3571 + 100);

    for (size_t i = 0; i < bytes; i++)
        to[i] = (unsigned char)(i * 31 + (size_t)key);
    return bytes;
}

static bool find_is_right(const struct disk_cache *c, int key, bool *found)
{
    unsigned char want[KEYS * 3571 + 100];
    size_t bytes = value_of(key, want);
    struct bytes b = {0};
    bool is_right;

    *found = disk_cache_find(c, &key, sizeof(key), &b);
    is_right = !*found || (b.size == bytes && memcmp(b.data, want, bytes) == 0);
    mem_free(b.data);
    return is_right;
}

/* keeps and finds until somebody kills it; a wrong value ends it at once */
static void use_cache(const struct place *p, unsigned seed)
{
    unsigned char value[KEYS * 3571 + 100];
    struct disk_cache c;
    struct err e;
    bool found;

    if (disk_cache_open(&c, p->folder, 150000, &e))
        _exit(2);
    for (;;) {
        seed = seed * 1103515245 + 12345;
        int key = (int)(seed >> 16) % KEYS;

        if (!find_is_right(&c, key, &found))
            _exit(3);
        if (!found && disk_cache_keep(&c, &key, sizeof(key), value, value_of(key, value), &e))
            _exit(4);
    }
}

static int count_files(const char *folder)
{
    DIR *dir = opendir(folder);
    int count = 0;

    assert_non_null(dir);
    for (struct dirent *d; (d = readdir(dir)) != NULL; )
        count += d->d_name[0] != '.';
    closedir(dir);
    return count;
}

TEST(kills_and_other_processes_leave_nothing_wrong)
{
    struct place p;
    struct disk_cache c;
    struct disk_cache_use use;
    struct err e;
    char unwritten[128];
    unsigned char value[KEYS * 3571 + 100];
    bool found;
    int key = 3, rounds = test_is_long() ? 500 : 40;

    make_place(&p);
    open_cache(&c, &p, 150000);
    for (int round = 0; round < rounds; round++) {
        pid_t child[3];

        for (int i = 0; i < 3; i++) {
            child[i] = fork();
            if (child[i] == 0)
                use_cache(&p, (unsigned)(round * 3 + i));
        }
        nanosleep(&(struct timespec){.tv_nsec = 2000000 + round % 7 * 1300000}, NULL);
        for (int i = 0; i < 3; i++) {
            int status;

            kill(child[i], SIGKILL);
            assert_int_equal(waitpid(child[i], &status, 0), child[i]);
            assert_true(WIFSIGNALED(status));   /* none has ended by itself */
        }
        for (int k = 0; k < KEYS; k++)
            assert_true(find_is_right(&c, k, &found));
        assert_int_equal(disk_cache_count(&c, &use, &e), 0);
        assert_true(use.bytes <= 150000 + 3 * 150000 / 16 + 3 * 40000);
    }
    c.bytes_free = 0;                           /* counts, and so cleans, before it keeps */
    assert_int_equal(disk_cache_keep(&c, &key, sizeof(key), value, value_of(key, value), &e), 0);
    snprintf(unwritten, sizeof(unwritten), "%s/unwritten", p.folder);
    assert_int_equal(count_files(unwritten), 0);
    assert_true(find_is_right(&c, key, &found));
    assert_true(found);
    disk_cache_close(&c);
    remove_place(&p);
}

TEST(the_environment_says_where_it_is_and_how_large)
{
    int64_t bytes;
    bool is_wrong;
    struct err e;
    char *place;

    setenv("XDG_CACHE_HOME", "/x/cache", 1);
    setenv("HOME", "/home/y", 1);
    unsetenv("SYSTOLE_CACHE");
    place = disk_cache_place("programs", &bytes, &is_wrong, &e);
    assert_string_equal(place, "/x/cache/systole/programs");
    assert_int_equal(bytes, DISK_CACHE_BYTES_MAX);
    mem_free(place);
    setenv("XDG_CACHE_HOME", "relative", 1);    /* which its specification says to ignore */
    setenv("SYSTOLE_CACHE", "500M", 1);
    place = disk_cache_place("programs", &bytes, &is_wrong, &e);
    assert_string_equal(place, "/home/y/.cache/systole/programs");
    assert_int_equal(bytes, (int64_t)500 << 20);
    mem_free(place);
    setenv("SYSTOLE_CACHE", "0", 1);
    assert_null(disk_cache_place("programs", &bytes, &is_wrong, &e));
    assert_false(is_wrong);
    setenv("SYSTOLE_CACHE", "much", 1);
    assert_null(disk_cache_place("programs", &bytes, &is_wrong, &e));
    assert_true(is_wrong);
    assert_non_null(strstr(e.msg, "\"much\""));
    unsetenv("SYSTOLE_CACHE");
    unsetenv("HOME");
    assert_null(disk_cache_place("programs", &bytes, &is_wrong, &e));
    assert_false(is_wrong);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_kept_is_found_by_its_key_alone_and_by_the_next_process),
        cmocka_unit_test(a_damaged_entry_is_a_miss_and_goes_away),
        cmocka_unit_test(what_is_no_entry_is_a_miss_and_is_left_alone),
        cmocka_unit_test(a_folder_that_others_may_write_is_refused),
        cmocka_unit_test(what_was_not_used_for_longest_goes_first),
        cmocka_unit_test(a_full_cache_stays_below_its_bound),
        cmocka_unit_test(kills_and_other_processes_leave_nothing_wrong),
        cmocka_unit_test(the_environment_says_where_it_is_and_how_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
