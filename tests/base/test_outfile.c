/* Files appear whole or not at all, and devices survive. */
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/outfile.h"

struct place {
    char folder[64], path[96];
};

static void make_place(struct place *p)
{
    snprintf(p->folder, sizeof(p->folder), "/tmp/systole_outfile_XXXXXX");
    assert_non_null(mkdtemp(p->folder));
    snprintf(p->path, sizeof(p->path), "%s/file", p->folder);
}

static void expect_text(const char *path, const char *text)
{
    char found[32] = "";
    FILE *f = fopen(path, "r");

    assert_non_null(f);
    assert_int_equal(fread(found, 1, sizeof(found) - 1, f), strlen(text));
    fclose(f);
    assert_string_equal(found, text);
}

TEST(file_keeps_its_old_contents_until_the_new_are_complete)
{
    struct place p;
    struct outfile f;
    struct err e;

    make_place(&p);
    assert_int_equal(outfile_begin(&f, p.path, &e), 0);
    fputs("old", f.to);
    assert_int_equal(access(p.path, F_OK), -1);
    assert_int_equal(outfile_commit(&f, &e), 0);
    expect_text(p.path, "old");

    assert_int_equal(outfile_begin(&f, p.path, &e), 0);
    fputs("new", f.to);
    expect_text(p.path, "old");
    outfile_abandon(&f);
    expect_text(p.path, "old");
    assert_int_equal(outfile_check(p.path, &e), 0);
    expect_text(p.path, "old");
    assert_int_equal(unlink(p.path), 0);
    assert_int_equal(rmdir(p.folder), 0);           /* nothing else is left */
}

TEST(a_file_keeps_its_rights_and_no_link_is_followed)
{
    struct place p;
    struct outfile f;
    struct stat st;
    struct err e;
    char target[128];

    make_place(&p);
    snprintf(target, sizeof(target), "%s/target", p.folder);
    assert_int_equal(outfile_begin(&f, target, &e), 0);
    fputs("theirs", f.to);
    assert_int_equal(outfile_commit(&f, &e), 0);
    assert_int_equal(chmod(target, 0640), 0);
    assert_int_equal(symlink(target, p.path), 0);
    assert_int_equal(outfile_begin(&f, p.path, &e), 0);
    fputs("mine", f.to);
    assert_int_equal(outfile_commit(&f, &e), 0);
    expect_text(target, "theirs");
    expect_text(p.path, "mine");
    assert_int_equal(lstat(p.path, &st), 0);
    assert_true(S_ISREG(st.st_mode));
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(unlink(target), 0);
    assert_int_equal(unlink(p.path), 0);
    assert_int_equal(rmdir(p.folder), 0);
}

/* in a process of its own: 0 where it gets the lock */
static int status_elsewhere(const char *path, const char *message)
{
    struct outfile_lock l;
    struct err e = {.line = 0};
    int status;
    pid_t pid = fork();

    if (pid == 0)
        _exit(outfile_lock(&l, path, &e) == 0 ? 0 : strstr(e.msg, message) ? 1 : 2);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status);
}

TEST(a_lock_is_one_processs_and_names_it)
{
    struct outfile_lock l = {.path = NULL};
    char holder[200];
    struct place p;
    struct err e;

    make_place(&p);
    outfile_unlock(&l);
    snprintf(holder, sizeof(holder), "%s is being written by process %ld", p.path, (long)getpid());
    assert_int_equal(status_elsewhere(p.path, holder), 0);      /* and dies with it */
    assert_int_equal(outfile_lock(&l, p.path, &e), 0);
    assert_int_equal(status_elsewhere(p.path, holder), 1);
    outfile_unlock(&l);
    assert_int_equal(status_elsewhere(p.path, holder), 0);
    assert_int_equal(outfile_lock(&l, p.path, &e), 0);
    outfile_unlock(&l);
    assert_int_equal(outfile_lock(&l, "/dev/null", &e), 0);
    assert_int_equal(rmdir(p.folder), 0);
}

TEST(what_a_killed_writer_left_is_taken_away_and_nothing_else)
{
    struct place p;
    struct outfile f;
    struct err e;
    pid_t pid;

    make_place(&p);
    pid = fork();
    if (pid == 0) {
        outfile_begin(&f, p.path, &e);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(rmdir(p.folder), -1);
    assert_int_equal(outfile_begin(&f, p.path, &e), 0);
    fputs("alive", f.to);
    outfile_clean(p.folder);
    assert_int_equal(outfile_commit(&f, &e), 0);
    expect_text(p.path, "alive");
    assert_int_equal(unlink(p.path), 0);
    assert_int_equal(rmdir(p.folder), 0);
}

TEST(a_process_without_memory_ends_with_status_1_and_leaves_nothing)
{
    struct outfile_lock lock;
    struct place p;
    struct outfile f;
    struct err e;
    int status, told[2];
    char text[80] = "";
    pid_t pid;

    make_place(&p);
    assert_int_equal(pipe(told), 0);
    pid = fork();
    if (pid == 0) {
        dup2(told[1], STDERR_FILENO);
        outfile_lock(&lock, p.path, &e);
        outfile_begin(&f, p.path, &e);
        fputs("half", f.to);
        outfile_temporary(p.path, &e);
        mem_exhausted(12);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_true(read(told[0], text, sizeof(text) - 1) > 0);
    assert_string_equal(text, "systole: out of host memory (12 bytes asked)\n");
    close(told[0]);
    close(told[1]);
    assert_int_equal(rmdir(p.folder), 0);
}

TEST(a_writer_takes_away_what_killed_ones_of_its_file_have_left)
{
    char *other;
    struct place p;
    struct outfile f;
    struct err e;
    pid_t pid;

    make_place(&p);
    pid = fork();
    if (pid == 0) {
        outfile_begin(&f, p.path, &e);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    other = outfile_temporary(p.path, &e);          /* of a process that lives */
    assert_non_null(other);
    assert_int_equal(outfile_check(p.path, &e), 0);
    assert_int_equal(access(other, F_OK), 0);
    outfile_drop(other);
    assert_int_equal(rmdir(p.folder), 0);
}

TEST(device_is_written_in_place_and_never_removed)
{
    struct outfile f;
    struct stat before, after;
    struct err e;

    if (stat("/dev/full", &before) != 0)
        skip();
    assert_int_equal(outfile_begin(&f, "/dev/full", &e), 0);
    fputs("too much", f.to);
    assert_int_equal(outfile_commit(&f, &e), -1);
    assert_string_equal(e.msg, "cannot write /dev/full: No space left on device");
    assert_int_equal(outfile_check("/dev/full", &e), 0);
    assert_int_equal(stat("/dev/full", &after), 0);
    assert_true(before.st_ino == after.st_ino && S_ISCHR(after.st_mode));
}

TEST(path_that_cannot_be_written_is_named_and_nothing_is_left)
{
    struct place p;
    struct outfile f;
    struct err e;
    char below[128], expected[256];

    make_place(&p);
    assert_int_equal(outfile_begin(&f, p.folder, &e), -1);
    snprintf(expected, sizeof(expected), "cannot write %s: Is a directory", p.folder);
    assert_string_equal(e.msg, expected);
    snprintf(below, sizeof(below), "%s/none/file", p.folder);
    assert_int_equal(outfile_check(below, &e), -1);
    snprintf(expected, sizeof(expected), "cannot write %s: No such file or directory", below);
    assert_string_equal(e.msg, expected);

    assert_int_equal(outfile_begin(&f, p.path, &e), 0);
    assert_int_equal(mkdir(p.path, 0777), 0);       /* so that the rename fails */
    assert_int_equal(outfile_commit(&f, &e), -1);
    assert_non_null(strstr(e.msg, p.path));
    assert_int_equal(rmdir(p.path), 0);
    assert_int_equal(rmdir(p.folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_keeps_its_old_contents_until_the_new_are_complete),
        cmocka_unit_test(a_file_keeps_its_rights_and_no_link_is_followed),
        cmocka_unit_test(a_lock_is_one_processs_and_names_it),
        cmocka_unit_test(what_a_killed_writer_left_is_taken_away_and_nothing_else),
        cmocka_unit_test(a_process_without_memory_ends_with_status_1_and_leaves_nothing),
        cmocka_unit_test(a_writer_takes_away_what_killed_ones_of_its_file_have_left),
        cmocka_unit_test(device_is_written_in_place_and_never_removed),
        cmocka_unit_test(path_that_cannot_be_written_is_named_and_nothing_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
