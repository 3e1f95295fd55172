/* Checkpoints: is the last one whole whatever happens, and is every damage found? */
#include "tests/test.h"

#include "base/arena.h"
#include "data/dataset.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/tensor_npy.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LARGE (3 * CHECKPOINT_BLOCK_BYTES / 4 + 7)      /* floats: three blocks, the last uneven */

static struct err e;
static char folder[] = "build/test_checkpoint.XXXXXX";

/* the variables of a training; all are `step` */
struct training {
    float kernel[12];
    int32_t count;
    uint16_t half[3];
    struct checkpoint_tensor tensor[3];
};

static void set_up(struct training *t, int64_t step)
{
    for (int i = 0; i < 12; i++)
        t->kernel[i] = (float)step;
    for (int i = 0; i < 3; i++)
        t->half[i] = (uint16_t)step;
    t->count = (int32_t)step;
    t->tensor[0] = checkpoint_memory("dense/kernel", ST_F32, 2, (int64_t[]){3, 4}, t->kernel);
    t->tensor[1] = checkpoint_memory("count", ST_I32, 0, NULL, &t->count);
    t->tensor[2] = checkpoint_memory("half", ST_BF16, 1, (int64_t[]){3}, t->half);
}

static int save(int64_t step, int keep)
{
    const struct checkpoint_state at = {.step = step, .epoch = 2, .seed = 3};
    struct training t;

    set_up(&t, step);
    return checkpoint_save(folder, t.tensor, 3, &at, keep, &e);
}

static const char *path_of(int64_t step)
{
    static char path[128];

    return checkpoint_path(folder, step, path, sizeof(path));
}

static void remove_all(void)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -rf %s/*", folder);
    assert_int_equal(system(command), 0);
}

/* the step of the newest whole one; its tensors must all be of that step; -1: none */
static int64_t latest(void)
{
    struct training t, expected;
    struct checkpoint c;
    struct err damaged;
    char path[128];
    int64_t step;
    int status = checkpoint_latest(folder, path, sizeof(path), &damaged, &e);

    assert_true(status >= 0);
    if (status == 0)
        return -1;
    set_up(&t, -1);
    assert_int_equal(checkpoint_open(&c, path, &e), 0);
    assert_int_equal(checkpoint_restore(&c, t.tensor, 3, &e), 0);
    step = c.state.step;
    checkpoint_close(&c);
    set_up(&expected, step);
    assert_memory_equal(t.kernel, expected.kernel, sizeof(t.kernel));
    assert_memory_equal(t.half, expected.half, sizeof(t.half));
    assert_int_equal(t.count, expected.count);
    return step;
}

TEST(what_is_saved_is_restored)
{
    const struct safetensors_pair extra = {"model", "mlp"};
    struct checkpoint_state at = {.step = 7, .epoch = 1, .seed = UINT64_MAX, .extra = &extra,
                                  .extra_count = 1, .data_position = "\0\xff" "a",
                                  .data_position_bytes = 3};
    struct checkpoint c;
    struct training t;

    set_up(&t, 7);
    assert_int_equal(checkpoint_save(folder, t.tensor, 3, &at, 0, &e), 0);
    assert_int_equal(latest(), 7);
    assert_int_equal(checkpoint_open(&c, path_of(7), &e), 0);
    assert_int_equal(c.state.epoch, 1);
    assert_true(c.state.seed == UINT64_MAX);
    assert_int_equal(c.state.data_position_bytes, 3);
    assert_memory_equal(c.state.data_position, "\0\xff" "a", 3);
    assert_int_equal(c.state.extra_count, 1);
    assert_string_equal(c.state.extra[0].value, "mlp");
    checkpoint_close(&c);
    remove_all();
}

TEST(the_newest_are_kept)
{
    struct err damaged;
    char path[128];

    assert_int_equal(checkpoint_latest("build/nowhere", path, sizeof(path), &damaged, &e), 0);
    assert_int_equal(checkpoint_latest("Makefile", path, sizeof(path), &damaged, &e), -1);
    assert_string_equal(e.msg, "the folder cannot be read: Not a directory");
    assert_int_equal(latest(), -1);
    for (int64_t step = 1; step <= 5; step++)
        assert_int_equal(save(step, 2), 0);
    assert_int_equal(access(path_of(3), F_OK), -1);
    assert_int_equal(access(path_of(4), F_OK), 0);
    assert_int_equal(save(123456789, 0), 0);
    assert_int_equal(latest(), 123456789);
    remove_all();
}

TEST(a_damaged_newest_is_passed_over_and_told)
{
    struct err damaged;
    char path[128];

    assert_int_equal(save(1, 0), 0);
    assert_int_equal(save(2, 0), 0);
    assert_int_equal(truncate(path_of(2), 100), 0);
    assert_int_equal(checkpoint_latest(folder, path, sizeof(path), &damaged, &e), 1);
    assert_string_equal(path, path_of(1));
    assert_string_equal(damaged.file, path_of(2));
    assert_non_null(strstr(damaged.msg, "truncated: header of"));
    remove_all();
}

static struct bytes read_all(const char *path)
{
    struct bytes b = {0};
    unsigned char part[4096];
    FILE *f = fopen(path, "rb");
    size_t got;

    assert_non_null(f);
    while ((got = fread(part, 1, sizeof(part), f)) > 0)
        bytes_append(&b, part, got);
    fclose(f);
    return b;
}

static int check(struct bytes *b, size_t size)
{
    struct checkpoint c;
    int status;

    if (checkpoint_of(&c, fmemopen(b->data, size, "rb"), "c", &e))
        return -1;
    status = checkpoint_verify(&c, &e);
    checkpoint_close(&c);
    return status;
}

TEST(every_flipped_bit_is_found)
{
    struct bytes b;

    assert_int_equal(save(1, 0), 0);
    b = read_all(path_of(1));
    assert_int_equal(check(&b, b.size), 0);
    for (size_t bit = 0; bit < 8 * b.size; bit++) {
        b.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_int_equal(check(&b, b.size), -1);
        b.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    for (size_t size = 1; size < b.size; size++)
        assert_int_equal(check(&b, size), -1);
    mem_free(b.data);
    remove_all();
}

TEST(a_flipped_bit_of_a_tensor_is_named_with_its_byte)
{
    struct bytes b;
    char expected[200];
    size_t data;

    assert_int_equal(save(1, 0), 0);
    b = read_all(path_of(1));
    data = b.size - 48 - 4 - 6;
    for (size_t byte = 0; byte < 48; byte++) {
        b.data[data + byte] ^= 0x20;
        assert_int_equal(check(&b, b.size), -1);
        snprintf(expected, sizeof(expected), "tensor \"dense/kernel\" is damaged: one bit of its "
                 "byte %zu (%zu of the file) has changed", byte, data + byte);
        assert_string_equal(e.msg, expected);
        b.data[data + byte] ^= 0x20;
    }
    b.data[b.size - 1] ^= 3;
    assert_int_equal(check(&b, b.size), -1);
    snprintf(expected, sizeof(expected), "tensor \"half\" is damaged between its bytes 0 and 6 "
             "(%zu and %zu of the file)", b.size - 6, b.size);
    assert_string_equal(e.msg, expected);
    b.data[b.size - 1] ^= 3;
    b.data[20] ^= 1;
    assert_int_equal(check(&b, b.size), -1);
    mem_free(b.data);
    remove_all();
}

TEST(large_tensors_go_through_in_blocks)
{
    float *from = mem_alloc(LARGE * sizeof(float)), *to = mem_alloc(LARGE * sizeof(float));
    const struct checkpoint_state at = {.step = 1};
    struct checkpoint_tensor t;
    struct checkpoint c;
    char expected[100];
    FILE *f;

    for (int64_t i = 0; i < LARGE; i++)
        from[i] = (float)i;
    t = checkpoint_memory("big", ST_F32, 1, (int64_t[]){LARGE}, from);
    assert_int_equal(checkpoint_save(folder, &t, 1, &at, 0, &e), 0);
    assert_int_equal(checkpoint_open(&c, path_of(1), &e), 0);
    t.context = to;
    assert_int_equal(checkpoint_restore(&c, &t, 1, &e), 0);
    assert_memory_equal(from, to, LARGE * sizeof(float));
    memset(to, 0, LARGE * sizeof(float));
    f = fopen(path_of(1), "r+b");
    fseeko(f, c.file.data_offset + 2 * CHECKPOINT_BLOCK_BYTES + 5, SEEK_SET);
    fputc(0x5a, f);
    fclose(f);
    assert_int_equal(checkpoint_restore(&c, &t, 1, &e), -1);
    snprintf(expected, sizeof(expected), "tensor \"big\" is damaged");
    assert_memory_equal(e.msg, expected, strlen(expected));
    for (int64_t i = 0; i < LARGE; i++)
        assert_true(to[i] == 0);        /* nothing of it has been written */
    checkpoint_close(&c);
    mem_free(from);
    mem_free(to);
    remove_all();
}

TEST(what_does_not_fit_is_named_and_nothing_written)
{
    struct training t;
    struct checkpoint c;
    char expected[64];

    assert_int_equal(save(1, 0), 0);
    assert_int_equal(checkpoint_open(&c, path_of(1), &e), 0);
    set_up(&t, 9);
    t.tensor[2].dim[0] = 2;
    assert_int_equal(checkpoint_restore(&c, t.tensor, 3, &e), -1);
    assert_string_equal(e.msg, "tensor \"half\" is BF16[3], needed is BF16[2]");
    t.tensor[2].name = "hulf";
    assert_int_equal(checkpoint_restore(&c, t.tensor, 3, &e), -1);
    assert_string_equal(e.msg, "has no tensor \"hulf\" (did you mean \"half\"?)");
    assert_true(t.kernel[0] == 9);
    assert_int_equal(checkpoint_restore(&c, t.tensor, 2, &e), 0);
    assert_true(t.kernel[0] == 1);
    checkpoint_close(&c);
    snprintf(expected, sizeof(expected), "%s/plain", folder);
    {
        FILE *f = fopen(expected, "wb");

        assert_int_equal(fwrite("\2\0\0\0\0\0\0\0{}", 1, 10, f), 10);
        fclose(f);
    }
    assert_int_equal(checkpoint_open(&c, expected, &e), -1);
    assert_string_equal(e.msg, "is a safetensors file, but no checkpoint: \"systole.checkpoint\" "
                               "is missing");
    remove_all();
}

static int refuse(void *context, int64_t first, void *to, int64_t bytes, struct err *err)
{
    (void)context;
    (void)first;
    (void)to;
    (void)bytes;
    return err_set(err, "the core is gone");
}

TEST(a_reader_that_fails_leaves_nothing)
{
    const struct checkpoint_state at = {.step = 2};
    const struct safetensors_pair own = {"systole.step", "3"};
    const struct checkpoint_state bad = {.step = 2, .extra = &own, .extra_count = 1};
    struct training t;

    assert_int_equal(save(1, 0), 0);
    set_up(&t, 2);
    t.tensor[1].read = refuse;
    assert_int_equal(checkpoint_save(folder, t.tensor, 3, &at, 1, &e), -1);
    assert_string_equal(e.msg, "the core is gone");
    assert_int_equal(latest(), 1);
    assert_int_equal(checkpoint_save(folder, t.tensor, 1, &bad, 1, &e), -1);
    assert_string_equal(e.msg, "key \"systole.step\": those that begin with \"systole.\" are the "
                               "checkpoint's own");
    assert_int_equal(checkpoint_save("build/no/folder", t.tensor, 1, &at, 1, &e), -1);
    assert_string_equal(e.msg, "cannot make the folder build/no/folder: No such file or directory");
    remove_all();
}

/* The limit of a file's size fails the write of each byte in turn. */
TEST(a_write_that_fails_at_any_byte_leaves_the_last_one_whole)
{
    struct rlimit all, few;
    struct stat st;

    assert_int_equal(save(1, 0), 0);
    assert_int_equal(stat(path_of(1), &st), 0);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
    for (off_t size = 0; size < st.st_size; size++) {
        int status;

        few = all;
        few.rlim_cur = (rlim_t)size;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
        status = save(2, 1);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
        assert_int_equal(status, -1);
        assert_non_null(strstr(e.msg, "cannot write build/"));
        assert_int_equal(access(path_of(2), F_OK), -1);
        assert_int_equal(latest(), 1);
    }
    assert_int_equal(save(2, 1), 0);
    assert_int_equal(latest(), 2);
    signal(SIGXFSZ, SIG_DFL);
    remove_all();
}

/* A child that saves without end, and tells of every checkpoint that is done. */
static void save_for_ever(int64_t step, int to)
{
    for (;; step++)
        if (save(step, 2) != 0 || write(to, &step, sizeof(step)) != sizeof(step))
            _exit(1);
}

TEST(a_writer_that_is_killed_at_any_instant_leaves_the_last_one_whole)
{
    int64_t found = 0;

    for (int round = 0; round < 40; round++) {
        int64_t step, told = -1;
        int ends[2];
        pid_t child;

        assert_int_equal(pipe(ends), 0);
        child = fork();
        assert_true(child >= 0);
        if (child == 0)
            save_for_ever(found + 1, ends[1]);
        close(ends[1]);
        assert_int_equal(read(ends[0], &told, sizeof(told)), sizeof(told));
        nanosleep(&(struct timespec){.tv_nsec = round * 211 % 3000 * 1000}, NULL);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        while (read(ends[0], &step, sizeof(step)) == sizeof(step))
            told = step;
        close(ends[0]);
        found = latest();
        assert_true(found == told || found == told + 1);
    }
    assert_int_equal(save(found + 1, 1), 0);      /* removes what the killed ones have left */
    assert_int_equal(system("test $(ls build/test_checkpoint.*/ | wc -l) = 1"), 0);
    remove_all();
}

/* ---- single tensors ---- */

TEST(single_tensors_go_out_to_npy_and_come_back)
{
    struct training t, back;
    char path[128];

    snprintf(path, sizeof(path), "%s/t.npy", folder);
    set_up(&t, 5);
    set_up(&back, 0);
    t.half[1] = 0xc0a1;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tensor_to_npy(&t.tensor[i], path, &e), 0);
        assert_int_equal(tensor_from_npy(&back.tensor[i], path, &e), 0);
    }
    assert_memory_equal(t.kernel, back.kernel, sizeof(t.kernel));
    assert_memory_equal(t.half, back.half, sizeof(t.half));
    assert_int_equal(t.count, back.count);
    assert_int_equal(tensor_from_npy(&t.tensor[0], path, &e), -1);
    assert_string_equal(e.msg, "is an array f4[3], tensor \"dense/kernel\" is F32[3,4]");
    t.tensor[0].dtype = ST_I64;
    assert_int_equal(tensor_to_npy(&t.tensor[0], path, &e), -1);
    assert_string_equal(e.msg, "tensor \"dense/kernel\" is I64[3,4]; .npy files are written and "
                               "read of F32, BF16, F16, I32, U32, I16, U16, I8, U8 and BOOL");
    remove_all();
}

/* ---- a training that goes on ---- */

static struct dataset *samples(void)
{
    struct dataset *d = dataset_range(0, 100, 1, &e);

    d = dataset_shuffle(d, 30, 5, true, &e);
    d = dataset_batch(dataset_repeat(d, DATA_INFINITE, &e), 7, true, &e);
    return dataset_prefetch(d, 2, &e);
}

/* something that every sample changes, in an order that matters */
static void train(float *w, struct data_iterator *it, int steps)
{
    for (int s = 0; s < steps; s++) {
        struct data_element *x;

        assert_int_equal(data_iterator_next(it, &x, &e), 1);
        for (int i = 0; i < 7; i++)
            *w = *w * 0.97f + (float)((const int32_t *)x->tensor[0].data)[i];
        element_release(x);
    }
}

TEST(a_training_goes_on_to_the_bit)
{
    struct dataset *d = samples();
    struct data_iterator *it = dataset_iterate(d, 0, &e);
    struct bytes position = {0};
    struct checkpoint_state at = {.step = 33};
    struct checkpoint c;
    float whole = 1, part = 0;
    struct checkpoint_tensor t = checkpoint_memory("w", ST_F32, 0, NULL, &whole);

    train(&whole, it, 33);
    assert_int_equal(data_iterator_save(it, &position, &e), 0);
    at.data_position = position.data;
    at.data_position_bytes = position.size;
    assert_int_equal(checkpoint_save(folder, &t, 1, &at, 0, &e), 0);
    train(&whole, it, 40);
    data_iterator_destroy(it);

    t.context = &part;
    assert_int_equal(checkpoint_open(&c, path_of(33), &e), 0);
    assert_int_equal(checkpoint_restore(&c, &t, 1, &e), 0);
    it = dataset_resume(d, c.state.data_position, c.state.data_position_bytes, &e);
    assert_non_null(it);
    train(&part, it, 40);
    assert_memory_equal(&part, &whole, sizeof(part));
    data_iterator_destroy(it);
    checkpoint_close(&c);
    mem_free(position.data);
    dataset_release(d);
    remove_all();
}

static int make_folder(void **unused)
{
    (void)unused;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **unused)
{
    char command[128];

    (void)unused;
    snprintf(command, sizeof(command), "rm -r %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_saved_is_restored),
        cmocka_unit_test(the_newest_are_kept),
        cmocka_unit_test(a_damaged_newest_is_passed_over_and_told),
        cmocka_unit_test(every_flipped_bit_is_found),
        cmocka_unit_test(a_flipped_bit_of_a_tensor_is_named_with_its_byte),
        cmocka_unit_test(large_tensors_go_through_in_blocks),
        cmocka_unit_test(what_does_not_fit_is_named_and_nothing_written),
        cmocka_unit_test(a_reader_that_fails_leaves_nothing),
        cmocka_unit_test(a_write_that_fails_at_any_byte_leaves_the_last_one_whole),
        cmocka_unit_test(a_writer_that_is_killed_at_any_instant_leaves_the_last_one_whole),
        cmocka_unit_test(single_tensors_go_out_to_npy_and_come_back),
        cmocka_unit_test(a_training_goes_on_to_the_bit),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
