/* Files of records and arrays: is the right thing read, and each damage named with its place? */
#include "tests/test.h"

#include "base/arena.h"
#include "data/crc32c.h"
#include "data/distribute.h"
#include "data/files.h"
#include "data/npy.h"
#include "data/tfrecord.h"
#include "tests/rigs/pipeline_rig.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static struct err e;
static char folder[] = "build/test_files.XXXXXX";

/* "PATH: msg" of a failed maker, with the test's folder left out */
static void assert_error(const char *message)
{
    char text[800], *at;

    err_format(&e, text, sizeof(text));
    at = strstr(text, folder);
    if (at)
        memmove(at, at + strlen(folder) + 1, strlen(at + strlen(folder) + 1) + 1);
    assert_string_equal(text, message);
}

static const char *path_of(const char *name)
{
    static char path[8][160];
    static int turn;

    turn = (turn + 1) % 8;
    snprintf(path[turn], sizeof(path[turn]), "%s/%s", folder, name);
    return path[turn];
}

static const char *write_file(const char *name, const void *bytes, size_t size)
{
    const char *path = path_of(name);
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
    return path;
}

static const char *write_gzip(const char *name, const void *bytes, size_t size)
{
    const char *path = path_of(name);
    gzFile f = gzopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(gzwrite(f, bytes, (unsigned)size), size);
    assert_int_equal(gzclose(f), Z_OK);
    return path;
}

static struct bytes read_file(const char *path)
{
    struct bytes b = {0};
    unsigned char part[256];
    FILE *f = fopen(path, "rb");
    size_t got;

    assert_non_null(f);
    while ((got = fread(part, 1, sizeof(part), f)) > 0)
        bytes_append(&b, part, got);
    fclose(f);
    return b;
}

/* what is read, or the first mistake, with the folder left out */
static void assert_reads(struct dataset *d, const char *text)
{
    char *is, *at;

    assert_non_null(d);
    is = pipeline_text(d, 0, 1000);
    at = strstr(is, folder);
    if (at)
        memmove(at, at + strlen(folder) + 1, strlen(at + strlen(folder) + 1) + 1);
    assert_string_equal(is, text);
    mem_free(is);
    dataset_release(d);
}

static struct dataset *records(const char *path)
{
    return dataset_tfrecords(&path, 1, DATA_COMPRESSION_AUTO, &e);
}

/* records "0", "10", "220", ... of `count` different lengths */
static const char *write_records(const char *name, int count, enum data_compression c)
{
    const char *path = path_of(name);
    struct tfrecord_writer *w = tfrecord_begin(path, c, &e);

    assert_non_null(w);
    for (int i = 0; i < count; i++) {
        char record[32];

        memset(record, '0' + i, sizeof(record));
        tfrecord_write(w, record, i + 1);
    }
    assert_int_equal(tfrecord_commit(w, &e), 0);
    return path;
}

/* ---- TFRecord ---- */

static uint32_t slow_crc32c(const unsigned char *p, size_t bytes)
{
    uint32_t crc = 0xffffffffu;

    for (size_t i = 0; i < bytes * 8; i++) {
        uint32_t bit = (p[i / 8] >> i % 8 ^ crc) & 1;

        crc = crc >> 1 ^ (bit ? 0x82f63b78u : 0);
    }
    return ~crc;
}

TEST(crc32c_is_the_published_one)
{
    unsigned char bytes[100];

    assert_int_equal(crc32c("123456789", 9), 0xe3069283u);
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * 7);
    for (size_t i = 0; i < sizeof(bytes); i++)
        assert_int_equal(crc32c(bytes, i), slow_crc32c(bytes, i));
    assert_int_equal(crc32c_masked("123456789", 9), ((0xe3069283u >> 15 | 0xe3069283u << 17) +
                                                     0xa282ead8u) & 0xffffffffu);
}

TEST(a_record_is_laid_out_as_published)
{
    const char *path = write_records("one", 1, DATA_COMPRESSION_NONE);
    struct bytes b = read_file(path);
    const unsigned char head[8] = {1};
    uint32_t crc[2];

    assert_int_equal(b.size, 8 + 4 + 1 + 4);
    assert_memory_equal(b.data, head, 8);
    memcpy(&crc[0], b.data + 8, 4);
    memcpy(&crc[1], b.data + 13, 4);
    assert_int_equal(crc[0], crc32c_masked(head, 8));
    assert_int_equal(crc[1], crc32c_masked("0", 1));
    mem_free(b.data);
}

TEST(records_are_read_plain_and_packed)
{
    const char *three = "'0' '11' '222'";
    const char *path;

    assert_reads(records(write_records("r", 3, DATA_COMPRESSION_NONE)), three);
    assert_reads(records(write_records("r.gz", 3, DATA_COMPRESSION_AUTO)), three);
    path = write_records("r.z", 3, DATA_COMPRESSION_ZLIB);
    assert_reads(dataset_tfrecords(&path, 1, DATA_COMPRESSION_ZLIB, &e), three);
    assert_reads(records(write_records("none", 0, DATA_COMPRESSION_NONE)), "");
}

TEST(files_follow_each_other_and_resume)
{
    const char *path[] = {write_records("a", 3, DATA_COMPRESSION_NONE),
                          write_records("b", 0, DATA_COMPRESSION_NONE),
                          write_records("c.gz", 2, DATA_COMPRESSION_GZIP)};
    struct dataset *d = dataset_tfrecords(path, 3, DATA_COMPRESSION_AUTO, &e);

    assert_resumes(dataset_retain(d), 0, 10);
    assert_resumes(dataset_shuffle(dataset_retain(d), 3, 1, true, &e), 0, 10);
    assert_reads(d, "'0' '11' '222' '0' '11'");
}

/* any byte of any record, changed or missing: the record is named */
TEST(every_damaged_byte_is_found)
{
    struct bytes b = read_file(write_records("r", 3, DATA_COMPRESSION_NONE));
    static const int64_t begin[] = {0, 17, 35, 54};

    for (size_t i = 0; i < b.size; i++) {
        int record = i < 17 ? 0 : i < 35 ? 1 : 2;
        char place[64], *text;
        struct dataset *d;

        snprintf(place, sizeof(place), "record %d at byte %d: ", record, (int)begin[record]);
        b.data[i] ^= 0x10;
        d = records(write_file("bad", b.data, b.size));
        text = pipeline_text(d, 0, 10);
        b.data[i] ^= 0x10;
        assert_non_null(strstr(text, place));
        assert_non_null(strstr(text, (int64_t)i < begin[record] + 12 ? "the length is damaged"
                                                                     : "bytes are damaged"));
        mem_free(text);
        dataset_release(d);
        d = records(write_file("short", b.data, i));
        text = pipeline_text(d, 0, 10);
        if ((int64_t)i != begin[record])
            assert_non_null(strstr(text, place));
        assert_true(!strstr(text, "error") == ((int64_t)i == begin[record]));
        mem_free(text);
        dataset_release(d);
    }
    mem_free(b.data);
}

TEST(a_damaged_record_is_named_with_file_number_and_byte)
{
    struct bytes b = read_file(write_records("r", 3, DATA_COMPRESSION_NONE));

    char text[200];

    b.data[17 + 12] = 'x';
    snprintf(text, sizeof(text), "'0' error: bad: record 1 at byte 17: its 2 bytes are damaged: "
             "checksum 0x%08x, the file says 0x%08x", crc32c_masked("x1", 2),
             crc32c_masked("11", 2));
    assert_reads(records(write_file("bad", b.data, b.size)), text);
    assert_reads(records(write_file("bad", b.data, 20)),
                 "'0' error: bad: record 1 at byte 17: truncated: its length and the checksum of "
                 "that need 12 bytes, 3 are there");
    assert_reads(records(write_file("bad", b.data, 30)),
                 "'0' error: bad: record 1 at byte 17: truncated: it has 2 bytes and a checksum "
                 "of 4, only 1 bytes are there");
    mem_free(b.data);
    assert_reads(records(path_of("nowhere")),
                 "error: nowhere: cannot be read: No such file or directory");
}

TEST(damaged_packed_data_is_named_with_its_byte)
{
    struct bytes b = read_file(write_records("r.gz", 20, DATA_COMPRESSION_GZIP));
    char *text;
    struct dataset *d;

    d = records(write_file("short.gz", b.data, b.size - 5));
    text = pipeline_text(d, 0, 100);
    assert_non_null(strstr(text, "truncated: the packed data ends at byte"));
    mem_free(text);
    dataset_release(d);
    b.data[b.size - 6] ^= 1;            /* of gzip's own checksum */
    d = records(write_file("bad.gz", b.data, b.size));
    text = pipeline_text(d, 0, 100);
    assert_non_null(strstr(text, "damaged packed data at byte"));
    mem_free(text);
    dataset_release(d);
    mem_free(b.data);
}

TEST(a_writer_leaves_a_whole_file_or_none)
{
    const char *path = path_of("never");
    struct tfrecord_writer *w = tfrecord_begin(path, DATA_COMPRESSION_GZIP, &e);

    tfrecord_write(w, "abc", 3);
    tfrecord_abandon(w);
    assert_int_equal(access(path, F_OK), -1);
    assert_null(tfrecord_begin(path_of("no/folder"), DATA_COMPRESSION_NONE, &e));
}

/* ---- lines and fixed records ---- */

TEST(lines_end_in_lf_or_cr_lf_or_the_file)
{
    const char text[] = "one\r\n\ntwo\nthree";
    const char *path[] = {write_file("l", text, sizeof(text) - 1),
                          write_gzip("l.gz", "x\n", 2)};
    struct dataset *d = dataset_text_lines(path, 2, DATA_COMPRESSION_AUTO, &e);

    assert_resumes(dataset_retain(d), 0, 10);
    assert_reads(d, "'one' '' 'two' 'three' 'x'");
}

TEST(a_long_line_spans_chunks)
{
    enum { LENGTH = 200000 };
    char *text = mem_alloc(LENGTH + 2);
    const char *path;
    struct data_iterator *it;
    struct data_element *x;
    struct dataset *d;

    memset(text, 'a', LENGTH);
    text[LENGTH] = '\n';
    text[LENGTH + 1] = 'b';
    path = write_file("long", text, LENGTH + 2);
    d = dataset_text_lines(&path, 1, DATA_COMPRESSION_AUTO, &e);
    it = dataset_iterate(d, 0, &e);
    assert_int_equal(data_iterator_next(it, &x, &e), 1);
    assert_int_equal(((struct data_string *)x->tensor[0].data)->size, LENGTH);
    element_release(x);
    assert_int_equal(data_iterator_skip(it, 5, &e), 1);
    data_iterator_destroy(it);
    dataset_release(d);
    mem_free(text);
}

TEST(fixed_records_stand_between_header_and_footer)
{
    const struct data_fixed f = {.header_bytes = 2, .record_bytes = 3, .footer_bytes = 1};
    const char *path[] = {write_file("f", "HHabcdefF", 9), write_gzip("f.gz", "HHghiF", 6)};
    struct dataset *d = dataset_fixed_records(path, 2, &f, DATA_COMPRESSION_AUTO, &e);

    assert_resumes(dataset_retain(d), 0, 10);
    assert_reads(d, "'abc' 'def' 'ghi'");
    path[0] = write_file("f", "HHabcdeF", 8);
    assert_reads(dataset_fixed_records(path, 1, &f, DATA_COMPRESSION_AUTO, &e),
                 "'abc' error: f: record 1 at byte 5: truncated: a record of 3 and a footer of 1 "
                 "bytes, only 3 bytes are there");
    path[0] = write_file("f", "H", 1);
    assert_reads(dataset_fixed_records(path, 1, &f, DATA_COMPRESSION_AUTO, &e),
                 "error: f: truncated: a header of 2 bytes, the file has 1");
}

/* ---- arrays ---- */

TEST(idx_files_are_read_of_every_type)
{
    const unsigned char u8[] = {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6};
    const unsigned char s32[] = {0, 0, 12, 1, 0, 0, 0, 2, 0, 0, 1, 0, 255, 255, 255, 255};
    const unsigned char f32[] = {0, 0, 13, 1, 0, 0, 0, 2, 0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0};
    const char *path[] = {write_file("u8", u8, sizeof(u8)), write_gzip("s32", s32, sizeof(s32)),
                          write_file("f32", f32, sizeof(f32))};

    assert_reads(dataset_from_idx(path, 3, &e), "[1 2 3],256,1 [4 5 6],-1,-2");
}

TEST(idx_files_that_lie_are_refused)
{
    unsigned char u8[] = {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6};
    const char *path[2];

    path[0] = write_file("u8", u8, sizeof(u8) - 1);
    assert_null(dataset_from_idx(path, 1, &e));
    assert_error("u8: truncated: 6 elements need 6 bytes behind byte 12, the file has 5");
    u8[2] = 9;
    path[0] = write_file("u8", u8, sizeof(u8));
    assert_null(dataset_from_idx(path, 1, &e));
    assert_error("u8: elements of type 0x09 at byte 2, allowed are 0x08 (u8), 0x0c (s32) and 0x0d "
                 "(f32)");
    u8[2] = 8;
    u8[3] = 0;
    path[0] = write_file("u8", u8, sizeof(u8));
    assert_null(dataset_from_idx(path, 1, &e));
    assert_error("u8: 0 dimensions at byte 3, allowed are 1..8");
    u8[0] = 1;
    path[0] = write_file("u8", u8, sizeof(u8));
    assert_null(dataset_from_idx(path, 1, &e));
    assert_error("u8: not an IDX file: it begins with two bytes 0, a type and a number of "
                 "dimensions");
}

TEST(npy_files_are_cut_into_slices)
{
    const float f[6] = {1, 2, 3, 4, 5, 6};
    const uint16_t h[2] = {0, 0};
    const char *path[2] = {path_of("f.npy"), path_of("h.npy")};
    const struct npy_array half = {.type = "f2", .elem_bytes = 2, .rank = 1, .side = {2},
                                   .data = h};

    assert_int_equal(npy_write(path[0], f, 3, 2, &e), 0);
    assert_int_equal(npy_write_array(path[1], &half, &e), 0);
    assert_reads(dataset_from_npy(path, 1, &e), "[1 2] [3 4] [5 6]");
    assert_null(dataset_from_npy(path, 2, &e));
    assert_non_null(strstr(e.msg, "holds 2 slices, "));
}

static void assert_taken(const char *descr, const char *order, const char *shape, const void *data,
                         size_t bytes, const char *elements)
{
    const char *path = path_of("t.npy");
    FILE *f = fopen(path, "wb");
    struct dataset *d;
    char header[118];

    fwrite("\x93NUMPY\1\0\x76\0", 1, 10, f);
    snprintf(header, sizeof(header), "{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }",
             descr, order, shape);
    fprintf(f, "%-117s\n", header);
    fwrite(data, 1, bytes, f);
    assert_int_equal(fclose(f), 0);
    d = dataset_from_npy(&path, 1, &e);
    if (!d) {
        assert_non_null(strstr(e.msg, elements));
        return;
    }
    assert_reads(d, elements);
}

TEST(npy_files_of_numpys_own_types_are_converted)
{
    const int64_t labels[3] = {7, -1, INT32_MIN}, large[2] = {1, INT64_C(1) << 31};
    const double samples[3] = {1.5, -INFINITY, 0.1}, huge[1] = {1e300};
    const uint16_t half[4] = {0x3c00, 0xc100, 0x0001, 0x7bff};
    const uint8_t big[8] = {0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0};
    const int32_t columns[6] = {1, 4, 2, 5, 3, 6};
    const uint64_t unsigned_large[1] = {UINT64_MAX};
    const int8_t small[2] = {-128, 127};

    assert_taken("<i8", "False", "3,", labels, sizeof(labels), "7 -1 -2147483648");
    assert_taken("<i8", "False", "2,", large, sizeof(large),
                 "element 1 is 2147483648, which i4 does not have");
    assert_taken("<u8", "False", "1,", unsigned_large, 8, "element 0 is 18446744073709551615");
    assert_taken("<f8", "False", "3,", samples, sizeof(samples), "1.5 -inf 0.1");
    assert_taken("<f8", "False", "1,", huge, sizeof(huge), "element 0 is 1e+300, which f32");
    assert_taken("<f2", "False", "4,", half, sizeof(half), "1 -2.5 5.96046e-08 65504");
    assert_taken(">f4", "False", "2,", big, sizeof(big), "1 -2");
    assert_taken("<i4", "True", "2, 3", columns, sizeof(columns), "[1 2 3] [4 5 6]");
    assert_taken("|i1", "False", "2,", small, sizeof(small), "-128 127");
    assert_taken("<c16", "False", "1,", small, 2, "need 16 bytes; 2 are there");
    assert_taken("<c1", "False", "1,", small, 2, "only arrays of f16, f32, f64, bool");
    assert_taken(">c8", "False", "1,", huge, 8, "only arrays of f16, f32, f64, bool");
    assert_taken("<c8", "False", "1,", huge, 8, "elements of type c8; i4 is needed");
}

TEST(csv_columns_are_chosen_by_name)
{
    const char text[] = "name,x,n\na,1.5,3\n\"b,c\",-2,4\n";
    const struct data_column column[] = {{"n", DATA_S32}, {"x", DATA_F32}, {"name", DATA_STRING}};
    const struct data_column bad[] = {{"x", DATA_S32}}, none[] = {{"nam", DATA_STRING}};
    const char *path = write_file("t.csv", text, sizeof(text) - 1);

    assert_reads(dataset_from_csv(path, column, 3, &e), "3,1.5,'a' 4,-2,'b,c'");
    assert_null(dataset_from_csv(path, bad, 1, &e));
    assert_error("t.csv:2: column x is '1.5', a whole number is needed");
    assert_null(dataset_from_csv(path, none, 1, &e));
    assert_non_null(strstr(e.msg, "name"));
}

/* ---- a cache in a file ---- */

TEST(a_cache_in_a_file_is_made_by_the_first_whole_pass)
{
    const char *path = path_of("cache"), *strings[] = {"a", "bc"};
    struct dataset *pair[2] = {dataset_batch(numbers(6), 3, true, &e),
                               dataset_from_strings(strings, 2, &e)};
    struct dataset *in = dataset_zip(pair, 2, &e);
    struct dataset *d = dataset_cache_file(dataset_retain(in), path, &e);
    char *text = pipeline_text(d, 0, 1), kept[200];
    struct bytes b;

    snprintf(kept, sizeof(kept), "%s", path);
    path = kept;
    assert_string_equal(text, "[0 1 2],'a'");
    mem_free(text);
    assert_int_equal(access(path, F_OK), -1);       /* a part of a pass leaves nothing */
    assert_resumes(dataset_retain(d), 0, 5);
    assert_int_equal(access(path, F_OK), 0);
    assert_resumes(dataset_repeat(dataset_retain(d), 2, &e), 0, 5);
    dataset_release(d);
    assert_reads(dataset_cache_file(dataset_retain(in), path, &e), "[0 1 2],'a' [3 4 5],'bc'");
    d = dataset_cache_file(numbers(6), path, &e);
    assert_null(dataset_iterate(d, 0, &e));
    assert_error("cache: is no cache of this pipeline; remove it to have it made again");
    dataset_release(d);
    b = read_file(path);
    b.data[b.size - 5] ^= 1;
    write_file("cache", b.data, b.size);
    mem_free(b.data);
    d = dataset_cache_file(in, path, &e);
    text = pipeline_text(d, 0, 5);
    assert_non_null(strstr(text, "[0 1 2],'a' error: "));
    assert_non_null(strstr(text, "/cache: record 2 at byte "));
    mem_free(text);
    dataset_release(d);
    d = dataset_cache_file(numbers(6), path_of("no/folder"), &e);
    assert_null(dataset_iterate(d, 0, &e));
    assert_non_null(strstr(e.msg, "cannot write"));
    dataset_release(d);
}

/* ---- files among hosts ---- */

static struct dataset *open_records(void *context, const struct data_element *x, struct err *err)
{
    const char *path = ((const struct data_string *)x->tensor[0].data)->byte;

    (void)context;
    return dataset_tfrecords(&path, 1, DATA_COMPRESSION_AUTO, err);
}

TEST(files_are_shared_out)
{
    const struct data_spec s = data_spec_of(DATA_STRING, 0, NULL);
    const struct data_interleave how = {.open = open_records, .output_count = 1, .output = &s,
                                        .cycle_length = 2, .block_length = 1};
    struct dataset *d;
    char pattern[200];

    write_records("s-0", 1, DATA_COMPRESSION_NONE);
    write_records("s-1", 3, DATA_COMPRESSION_NONE);
    write_records("s-2", 2, DATA_COMPRESSION_NONE);
    snprintf(pattern, sizeof(pattern), "%s/s-*", folder);
    d = dataset_shard(dataset_list_files(pattern, &e), 2, 0, &e);
    d = dataset_interleave(d, &how, &e);
    assert_resumes(dataset_retain(d), 0, 10);
    assert_reads(d, "'0' '0' '11'");
    d = dataset_shard(dataset_list_files(pattern, &e), 2, 1, &e);
    assert_reads(dataset_interleave(d, &how, &e), "'0' '11' '222'");
    assert_null(dataset_list_files("build/no-such-*", &e));
    assert_error("build/no-such-*: no file has a name like this");
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
        cmocka_unit_test(crc32c_is_the_published_one),
        cmocka_unit_test(a_record_is_laid_out_as_published),
        cmocka_unit_test(records_are_read_plain_and_packed),
        cmocka_unit_test(files_follow_each_other_and_resume),
        cmocka_unit_test(every_damaged_byte_is_found),
        cmocka_unit_test(a_damaged_record_is_named_with_file_number_and_byte),
        cmocka_unit_test(damaged_packed_data_is_named_with_its_byte),
        cmocka_unit_test(a_writer_leaves_a_whole_file_or_none),
        cmocka_unit_test(lines_end_in_lf_or_cr_lf_or_the_file),
        cmocka_unit_test(a_long_line_spans_chunks),
        cmocka_unit_test(fixed_records_stand_between_header_and_footer),
        cmocka_unit_test(idx_files_are_read_of_every_type),
        cmocka_unit_test(idx_files_that_lie_are_refused),
        cmocka_unit_test(npy_files_are_cut_into_slices),
        cmocka_unit_test(npy_files_of_numpys_own_types_are_converted),
        cmocka_unit_test(csv_columns_are_chosen_by_name),
        cmocka_unit_test(a_cache_in_a_file_is_made_by_the_first_whole_pass),
        cmocka_unit_test(files_are_shared_out),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
