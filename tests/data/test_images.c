/* The data sets: does the reader read and refuse the right files, are the drawn digits pinned? */
#include "tests/test.h"

#include "data/images.h"

#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define TRAIN_COUNT 6
#define TEST_COUNT 3
#define ROWS 4
#define COLUMNS 5

/* A folder with four small, correct files, which a test then spoils. */
struct fixture {
    char folder[64];
    struct arena arena;
    struct image_set train, test;
    struct err err;
};

static void put_big_endian(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> (24 - 8 * i));
}

static char *file_path(const struct fixture *f, const char *name, char path[160])
{
    snprintf(path, 160, "%s/%s", f->folder, name);
    return path;
}

static void write_plain(const struct fixture *f, const char *name, const uint8_t *bytes,
                        size_t size)
{
    char path[160];
    FILE *to = fopen(file_path(f, name, path), "wb");

    assert_non_null(to);
    assert_int_equal(fwrite(bytes, 1, size, to), size);
    assert_int_equal(fclose(to), 0);
}

static void write_gzip(const struct fixture *f, const char *name, const uint8_t *bytes,
                       size_t size)
{
    char path[160];
    gzFile to = gzopen(file_path(f, name, path), "wb");

    assert_non_null(to);
    assert_int_equal(gzwrite(to, bytes, (unsigned)size), size);
    assert_int_equal(gzclose(to), Z_OK);
}

static size_t make_images(uint8_t *bytes, int count)
{
    size_t payload = (size_t)(count * ROWS * COLUMNS);

    put_big_endian(bytes, 0x803);
    put_big_endian(bytes + 4, (uint32_t)count);
    put_big_endian(bytes + 8, ROWS);
    put_big_endian(bytes + 12, COLUMNS);
    for (size_t i = 0; i < payload; i++)
        bytes[16 + i] = (uint8_t)(7 * i);
    return 16 + payload;
}

static size_t make_labels(uint8_t *bytes, int count)
{
    put_big_endian(bytes, 0x801);
    put_big_endian(bytes + 4, (uint32_t)count);
    for (int i = 0; i < count; i++)
        bytes[8 + i] = (uint8_t)(9 - i);
    return 8 + (size_t)count;
}

static const char *const names[] = {
    "train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte"
};

static void open_fixture(struct fixture *f)
{
    uint8_t bytes[1024];

    memset(f, 0, sizeof(*f));
    arena_init(&f->arena);
    strcpy(f->folder, "/tmp/systole_data_XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    write_plain(f, names[0], bytes, make_images(bytes, TRAIN_COUNT));
    write_plain(f, names[1], bytes, make_labels(bytes, TRAIN_COUNT));
    write_plain(f, names[2], bytes, make_images(bytes, TEST_COUNT));
    write_plain(f, names[3], bytes, make_labels(bytes, TEST_COUNT));
}

static void remove_file(const struct fixture *f, const char *name)
{
    char path[160];

    unlink(file_path(f, name, path));
}

static void close_fixture(struct fixture *f)
{
    char zipped[64];

    for (int i = 0; i < 4; i++) {
        remove_file(f, names[i]);
        snprintf(zipped, sizeof(zipped), "%s.gz", names[i]);
        remove_file(f, zipped);
    }
    assert_int_equal(rmdir(f->folder), 0);
    arena_fini(&f->arena);
}

static int load(struct fixture *f)
{
    return data_load_idx(&f->train, &f->test, f->folder, &f->arena, &f->err);
}

/* The load fails, blames file `name` and says `msg`. */
static void assert_refused(struct fixture *f, const char *name, const char *msg)
{
    char path[160];

    assert_int_equal(load(f), -1);
    assert_string_equal(f->err.msg, msg);
    assert_string_equal(f->err.file, name ? file_path(f, name, path) : f->folder);
    close_fixture(f);
}

TEST(plain_files_are_read)
{
    struct fixture f;

    open_fixture(&f);
    assert_int_equal(load(&f), 0);
    assert_int_equal(f.train.count, TRAIN_COUNT);
    assert_int_equal(f.test.count, TEST_COUNT);
    assert_int_equal(f.train.rows, ROWS);
    assert_int_equal(f.train.columns, COLUMNS);
    assert_int_equal(f.train.elems, ROWS * COLUMNS);
    assert_int_equal(f.train.classes, 10);
    assert_int_equal(f.train.label[1], 8);
    for (int i = 0; i < TRAIN_COUNT * ROWS * COLUMNS; i++)
        assert_int_equal(f.train.pixel[i], (uint8_t)(7 * i));
    close_fixture(&f);
}

TEST(gzipped_files_are_read)
{
    struct fixture f;
    uint8_t bytes[1024];

    open_fixture(&f);
    remove_file(&f, names[0]);
    write_gzip(&f, "train-images-idx3-ubyte.gz", bytes, make_images(bytes, TRAIN_COUNT));
    assert_int_equal(load(&f), 0);
    assert_int_equal(f.train.count, TRAIN_COUNT);
    assert_int_equal(f.train.pixel[3], 21);
    close_fixture(&f);
}

TEST(missing_folder_is_refused)
{
    struct fixture f;

    open_fixture(&f);
    assert_int_equal(data_load_idx(&f.train, &f.test, "/nowhere/at all", &f.arena, &f.err), -1);
    assert_string_equal(f.err.file, "/nowhere/at all");
    assert_string_equal(f.err.msg, "not a folder; the data folder holds the four IDX files");
    close_fixture(&f);
}

TEST(missing_file_names_both_spellings)
{
    struct fixture f;

    open_fixture(&f);
    remove_file(&f, names[3]);
    assert_refused(&f, NULL, "no file t10k-labels-idx1-ubyte or t10k-labels-idx1-ubyte.gz in this "
                             "folder");
}

TEST(truncated_header_is_refused)
{
    struct fixture f;
    uint8_t bytes[1024];

    open_fixture(&f);
    make_images(bytes, TRAIN_COUNT);
    write_plain(&f, names[0], bytes, 10);
    assert_refused(&f, names[0], "truncated: ends at byte 10, but the header needs 16 bytes");
}

TEST(truncated_plain_images_are_refused)
{
    struct fixture f;
    uint8_t bytes[1024];
    size_t size;

    open_fixture(&f);
    size = make_images(bytes, TRAIN_COUNT);
    write_plain(&f, names[0], bytes, size - 1);
    assert_refused(&f, names[0], "truncated: header promises 120 bytes of data, the file of 135 "
                                 "bytes cannot hold them");
}

TEST(truncated_gzipped_images_are_refused)
{
    struct fixture f;
    uint8_t bytes[1024];
    size_t size;

    open_fixture(&f);
    remove_file(&f, names[0]);
    size = make_images(bytes, TRAIN_COUNT);
    write_gzip(&f, "train-images-idx3-ubyte.gz", bytes, size - 1);
    assert_refused(&f, "train-images-idx3-ubyte.gz", "truncated: ends at byte 135, but what the "
                                                     "header promises needs 136 bytes");
}

/* Stored blocks, so that a flipped byte breaks the checksum and nothing else. */
TEST(damaged_gzip_is_refused)
{
    struct fixture f;
    uint8_t bytes[1024];
    char path[160];
    FILE *file;
    gzFile to;
    size_t size;

    open_fixture(&f);
    remove_file(&f, names[1]);
    size = make_labels(bytes, TRAIN_COUNT);
    to = gzopen(file_path(&f, "train-labels-idx1-ubyte.gz", path), "wb0");
    assert_int_equal(gzwrite(to, bytes, (unsigned)size), size);
    gzclose(to);
    file = fopen(path, "r+b");
    assert_int_equal(fseek(file, -9, SEEK_END), 0);     /* last label, before CRC and length */
    fputc(1, file);
    fclose(file);
    assert_int_equal(load(&f), -1);
    assert_string_equal(f.err.file, path);
    assert_non_null(strstr(f.err.msg, "damaged gzip data at byte"));
    assert_null(strstr(f.err.msg, path));               /* it stands before the message */
    close_fixture(&f);
}

/* the data is whole: only what gzip puts behind it shows that the file is not */
TEST(truncated_or_damaged_gzip_trailer_is_refused)
{
    for (int is_cut = 0; is_cut <= 1; is_cut++) {
        struct fixture f;
        uint8_t bytes[1024];
        char path[160];
        struct stat st;
        FILE *file;

        open_fixture(&f);
        remove_file(&f, names[1]);
        write_gzip(&f, "train-labels-idx1-ubyte.gz", bytes, make_labels(bytes, TRAIN_COUNT));
        assert_int_equal(stat(file_path(&f, "train-labels-idx1-ubyte.gz", path), &st), 0);
        if (is_cut) {
            assert_int_equal(truncate(path, st.st_size - 4), 0);
        } else {
            file = fopen(path, "r+b");
            assert_int_equal(fseek(file, -8, SEEK_END), 0);
            fwrite("\1\2\3\4", 1, 4, file);           /* the checksum is another */
            fclose(file);
        }
        assert_int_equal(load(&f), -1);
        assert_string_equal(f.err.file, path);
        assert_non_null(strstr(f.err.msg, is_cut ? "truncated: the gzip data ends before its"
                                                 : "damaged gzip data at byte"));
        close_fixture(&f);
    }
}

TEST(header_that_promises_too_much_takes_no_memory)
{
    struct fixture f;
    uint8_t bytes[1024];
    size_t size;

    open_fixture(&f);
    size = make_images(bytes, TRAIN_COUNT);
    put_big_endian(bytes + 4, 50000000);
    write_plain(&f, names[0], bytes, size);
    assert_int_equal(load(&f), -1);
    assert_string_equal(f.err.msg, "truncated: header promises 1000000000 bytes of data, the file "
                                   "of 136 bytes cannot hold them");
    assert_true(f.arena.used_bytes < 1024);
    close_fixture(&f);
}

TEST(too_large_file_is_refused)
{
    struct fixture f;
    uint8_t bytes[1024];
    size_t size;

    open_fixture(&f);
    size = make_images(bytes, TRAIN_COUNT);
    put_big_endian(bytes + 4, 1000000000);
    write_plain(&f, names[0], bytes, size);
    assert_refused(&f, names[0], "header promises 20000000000 bytes, at most 1073741824 are "
                                 "allowed");
}

TEST(wrong_magic_is_refused)
{
    struct fixture f;
    uint8_t bytes[1024];
    size_t size;

    open_fixture(&f);
    size = make_images(bytes, TRAIN_COUNT);
    put_big_endian(bytes, 0x804);
    write_plain(&f, names[0], bytes, size);
    assert_refused(&f, names[0], "wrong magic number 0x00000804 at byte 0, expected 0x00000803 "
                                 "(IDX images)");
}

TEST(label_file_in_the_place_of_images_is_named_so)
{
    struct fixture f;
    uint8_t bytes[1024];

    open_fixture(&f);
    write_plain(&f, names[2], bytes, make_labels(bytes, TEST_COUNT));
    assert_refused(&f, names[2], "wrong magic number 0x00000801 at byte 0, expected 0x00000803 "
                                 "(IDX images): this is a label file");
}

TEST(zero_images_are_refused)
{
    struct fixture f;
    uint8_t bytes[1024];

    open_fixture(&f);
    write_plain(&f, names[0], bytes, make_images(bytes, 0));
    assert_refused(&f, names[0], "image count is 0, allowed are 1..1073741824");
}

TEST(images_of_unreasonable_size_are_refused)
{
    struct fixture f;
    uint8_t bytes[1024];
    size_t size;

    open_fixture(&f);
    size = make_images(bytes, TRAIN_COUNT);
    put_big_endian(bytes + 12, 5000);
    write_plain(&f, names[0], bytes, size);
    assert_refused(&f, names[0], "images are 4x5000 pixels, allowed are 1..4096 each way");
}

TEST(bytes_behind_the_data_are_refused)
{
    struct fixture f;
    uint8_t bytes[1024] = {0};
    size_t size;

    open_fixture(&f);
    size = make_images(bytes, TRAIN_COUNT);
    write_plain(&f, names[0], bytes, size + 1);
    assert_refused(&f, names[0], "goes on after byte 136, where its header says that it ends");
}

TEST(label_above_nine_is_named_with_its_offset)
{
    struct fixture f;
    uint8_t bytes[1024];
    size_t size;

    open_fixture(&f);
    size = make_labels(bytes, TRAIN_COUNT);
    bytes[8 + 4] = 10;
    write_plain(&f, names[1], bytes, size);
    assert_refused(&f, names[1], "label 10 at byte 12, allowed are 0..9");
}

TEST(counts_that_differ_are_refused)
{
    struct fixture f;
    uint8_t bytes[1024];
    char path[160], msg[300];

    open_fixture(&f);
    write_plain(&f, names[1], bytes, make_labels(bytes, TRAIN_COUNT - 1));
    snprintf(msg, sizeof(msg), "5 labels, but %s has 6 images", file_path(&f, names[0], path));
    assert_refused(&f, names[1], msg);
}

TEST(test_images_of_another_size_are_refused)
{
    struct fixture f;
    uint8_t bytes[1024];
    size_t size;

    open_fixture(&f);
    size = make_images(bytes, TEST_COUNT);
    put_big_endian(bytes + 8, COLUMNS);
    put_big_endian(bytes + 12, ROWS);
    write_plain(&f, names[2], bytes, size);
    assert_refused(&f, NULL, "test images are 5x4 pixels, training images 4x5");
}

TEST(shuffle_is_a_permutation)
{
    enum { COUNT = 1000 };
    uint32_t order[COUNT];
    uint8_t seen[COUNT] = {0};

    data_shuffle(order, COUNT, 5, 2);
    for (int i = 0; i < COUNT; i++) {
        assert_true(order[i] < COUNT);
        assert_false(seen[order[i]]);
        seen[order[i]] = 1;
    }
}

TEST(shuffle_is_pinned)
{
    static const uint32_t golden[8] = {38920, 55980, 42040, 30404, 12965, 9845, 30715, 52941};
    uint32_t order[60000];

    data_shuffle(order, 60000, 1, 0);
    assert_memory_equal(order, golden, sizeof(golden));
}

TEST(shuffle_differs_by_epoch_and_by_seed)
{
    uint32_t first[100], other[100];

    data_shuffle(first, 100, 1, 0);
    data_shuffle(other, 100, 1, 1);
    assert_memory_not_equal(first, other, sizeof(first));
    data_shuffle(other, 100, 2, 0);
    assert_memory_not_equal(first, other, sizeof(first));
}

TEST(batch_holds_the_ordered_samples_scaled_to_one)
{
    uint8_t pixel[6] = {0, 255, 51, 102, 1, 254}, label[3] = {4, 5, 6};
    struct image_set d = {.count = 3, .elems = 2, .rows = 1, .columns = 2, .classes = 10,
                        .pixel = pixel, .label = label};
    uint32_t order[3] = {1, 2, 0};
    float x[4];
    int32_t labels[2];

    data_batch(&d, order, 1, 2, x, labels);
    assert_int_equal(labels[0], 6);
    assert_int_equal(labels[1], 4);
    assert_true(x[0] == 1.0f / 255.0f && x[1] == 254.0f / 255.0f);
    assert_true(x[2] == 0.0f && x[3] == 1.0f);
}

static uint64_t fnv1a(const uint8_t *bytes, int64_t count)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (int64_t i = 0; i < count; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

TEST(digits_are_pinned)
{
    struct image_set train, test;
    struct arena a;

    arena_init(&a);
    data_make_digits(&train, &test, 200, 50, 1, &a);
    assert_int_equal(train.elems, 784);
    assert_true(fnv1a(train.pixel, 200 * 784) == 0xf7f1fa8b510ed43bu);
    assert_true(fnv1a(test.pixel, 50 * 784) == 0xf8cf6a784f7579c8u);
    arena_fini(&a);
}

TEST(digits_are_balanced_and_never_blank)
{
    struct image_set train, test;
    struct arena a;
    int count[10] = {0};

    arena_init(&a);
    data_make_digits(&train, &test, 300, 10, 3, &a);
    for (int64_t i = 0; i < train.count; i++) {
        int bright = 0;

        for (int j = 0; j < 784; j++)
            bright += train.pixel[i * 784 + j] > 100;
        assert_true(bright > 15 && bright < 400);
        count[train.label[i]]++;
    }
    for (int i = 0; i < 10; i++)
        assert_int_equal(count[i], 30);
    arena_fini(&a);
}

TEST(mnist_has_the_published_counts)
{
    const char *shared = getenv("SYSTOLE_SHARED");
    struct image_set train, test;
    struct arena a;
    struct err e;
    char path[512];

    snprintf(path, sizeof(path), "%s/data/mnist", shared ? shared : "../shared");
    if (access(path, R_OK) != 0)
        SKIP("no MNIST in %s", path);
    arena_init(&a);
    assert_int_equal(data_load_idx(&train, &test, path, &a, &e), 0);
    assert_int_equal(train.count, 60000);
    assert_int_equal(test.count, 10000);
    assert_int_equal(train.elems, 784);
    assert_int_equal(train.label[0], 5);
    assert_int_equal(test.label[0], 7);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_files_are_read),
        cmocka_unit_test(gzipped_files_are_read),
        cmocka_unit_test(missing_folder_is_refused),
        cmocka_unit_test(missing_file_names_both_spellings),
        cmocka_unit_test(truncated_header_is_refused),
        cmocka_unit_test(truncated_plain_images_are_refused),
        cmocka_unit_test(truncated_gzipped_images_are_refused),
        cmocka_unit_test(damaged_gzip_is_refused),
        cmocka_unit_test(truncated_or_damaged_gzip_trailer_is_refused),
        cmocka_unit_test(header_that_promises_too_much_takes_no_memory),
        cmocka_unit_test(too_large_file_is_refused),
        cmocka_unit_test(wrong_magic_is_refused),
        cmocka_unit_test(label_file_in_the_place_of_images_is_named_so),
        cmocka_unit_test(zero_images_are_refused),
        cmocka_unit_test(images_of_unreasonable_size_are_refused),
        cmocka_unit_test(bytes_behind_the_data_are_refused),
        cmocka_unit_test(label_above_nine_is_named_with_its_offset),
        cmocka_unit_test(counts_that_differ_are_refused),
        cmocka_unit_test(test_images_of_another_size_are_refused),
        cmocka_unit_test(shuffle_is_a_permutation),
        cmocka_unit_test(shuffle_is_pinned),
        cmocka_unit_test(shuffle_differs_by_epoch_and_by_seed),
        cmocka_unit_test(batch_holds_the_ordered_samples_scaled_to_one),
        cmocka_unit_test(digits_are_pinned),
        cmocka_unit_test(digits_are_balanced_and_never_blank),
        cmocka_unit_test(mnist_has_the_published_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
