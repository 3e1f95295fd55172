/* safetensors: does the reader take what the format allows, and name what is wrong? */
#include "tests/test.h"

#include "train/checkpoint/safetensors.h"

#include <unistd.h>

static struct err e;

/* a file in memory: the size of the header, the header, `data_bytes` bytes 0, 1, 2, ... */
static int open_text(struct safetensors *s, const char *header, int data_bytes)
{
    static unsigned char file[8192];
    size_t length = strlen(header), size = 8 + length + (size_t)data_bytes;

    assert_true(size <= sizeof(file));
    memset(file, 0, 8);
    file[0] = (unsigned char)length;
    file[1] = (unsigned char)(length >> 8);
    memcpy(file + 8, header, length);
    for (int i = 0; i < data_bytes; i++)
        file[8 + length + (size_t)i] = (unsigned char)i;
    return safetensors_of(s, fmemopen(file, size, "rb"), "t.safetensors", &e);
}

static void assert_refuses(const char *header, int data_bytes, const char *message)
{
    struct safetensors s;

    assert_int_equal(open_text(&s, header, data_bytes), -1);
    assert_string_equal(e.file, "t.safetensors");
    assert_string_equal(e.msg, message);
}

TEST(tensors_are_listed_in_the_order_of_their_data)
{
    struct safetensors s;
    uint8_t byte[4];
    char text[64];

    assert_int_equal(open_text(&s, "{\"b\":{\"dtype\":\"U8\",\"shape\":[2,2],\"data_offsets\":"
                               "[8,12]},\"__metadata__\":{\"k\":\"v\"},\"a\":{\"dtype\":\"F32\","
                               "\"shape\":[2],\"data_offsets\":[0,8]},\"empty\":{\"dtype\":"
                               "\"F32\",\"shape\":[0,7],\"data_offsets\":[8,8]}}  ", 12), 0);
    assert_int_equal(s.tensor_count, 3);
    assert_string_equal(s.tensor[0].name, "a");
    assert_string_equal(s.tensor[1].name, "empty");
    assert_string_equal(safetensor_print(&s.tensor[2], text, sizeof(text)), "U8[2,2]");
    assert_int_equal(safetensors_find(&s, "b", &e), 2);
    assert_int_equal(safetensors_read(&s, 2, 1, byte, 3, &e), 0);
    assert_int_equal(byte[0], 9);
    assert_int_equal(byte[2], 11);
    assert_string_equal(safetensors_value(&s, "k"), "v");
    assert_null(safetensors_value(&s, "other"));
    assert_int_equal(safetensors_find(&s, "emty", &e), -1);
    assert_string_equal(e.msg, "has no tensor \"emty\" (did you mean \"empty\"?)");
    safetensors_close(&s);
}

TEST(a_file_of_nothing_is_one)
{
    struct safetensors s;

    assert_int_equal(open_text(&s, "{}", 0), 0);
    assert_int_equal(s.tensor_count, 0);
    safetensors_close(&s);
}

#define F32_2 "\"dtype\":\"F32\",\"shape\":[2],"

TEST(data_that_does_not_add_up_is_named_with_tensor_and_offset)
{
    assert_refuses("{\"a\":{" F32_2 "\"data_offsets\":[0,8]},\"b\":{" F32_2
                   "\"data_offsets\":[4,12]}}", 12,
                   "tensor \"b\": its data from byte 4 to 12 overlaps that of \"a\", which ends "
                   "at 8");
    assert_refuses("{\"a\":{" F32_2 "\"data_offsets\":[0,8]},\"b\":{" F32_2
                   "\"data_offsets\":[12,20]}}", 20,
                   "tensor \"b\": its data begins at byte 12, but from byte 8 on there is data of "
                   "no tensor");
    assert_refuses("{\"a\":{" F32_2 "\"data_offsets\":[0,8]}}", 9,
                   "from byte 8 to 9 of the data it belongs to no tensor");
    assert_refuses("{\"a\":{" F32_2 "\"data_offsets\":[0,8]}}", 7,
                   "tensor \"a\": its data is from byte 0 to 8, the file has data from byte 0 to "
                   "7");
    assert_refuses("{\"a\":{" F32_2 "\"data_offsets\":[0,4]}}", 4,
                   "tensor \"a\": F32[2] needs 8 bytes, its data from byte 0 to 4 has 4");
    assert_refuses("{\"a\":{" F32_2 "\"data_offsets\":[8,0]}}", 8,
                   "tensor \"a\": its data is from byte 8 to 0, the file has data from byte 0 to "
                   "8");
}

#define SIXTEEN "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"

TEST(headers_that_are_none_are_refused)
{
    assert_refuses("", 0, "header: byte 8 is no '{'");
    assert_refuses("[]", 0, "header: byte 8 is no '{'");
    assert_refuses("{\"a\":1}", 0, "tensor \"a\": is described by something else than an object");
    assert_refuses("{\"a\":{\"shape\":[],\"data_offsets\":[0,0]}}", 0,
                   "tensor \"a\": has no \"dtype\" that is a string");
    assert_refuses("{\"a\":{\"dtype\":\"F33\",\"shape\":[],\"data_offsets\":[0,0]}}", 0,
                   "tensor \"a\": unknown dtype \"F33\" (did you mean \"F32\"?)");
    assert_refuses("{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4,
                   "tensor \"a\": has no \"shape\" that is a list");
    assert_refuses("{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4,
                   "tensor \"a\": dimension 0 is no whole number of 0 or more");
    assert_refuses("{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":"
                   "[0,4]}}", 4, "tensor \"a\": dimension 1 is 4294967296: too many elements");
    assert_refuses("{\"a\":{\"dtype\":\"F32\",\"shape\":[" SIXTEEN "," SIXTEEN "," SIXTEEN ","
                   SIXTEEN ",1],\"data_offsets\":[0,4]}}", 4,
                   "tensor \"a\": 65 dimensions, at most 64 are allowed");
    assert_refuses("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4,
                   "tensor \"a\": has no \"data_offsets\" of two whole numbers");
    assert_refuses("{\"__metadata__\":[]}", 0, "header: \"__metadata__\" is no object");
    assert_refuses("{\"__metadata__\":{\"a\":1}}", 0,
                   "header: \"a\" of \"__metadata__\" is no string");
    assert_refuses("{} x", 0, "header: end of file expected near 'x', at byte 12");
}

TEST(a_name_twice_is_refused)
{
    struct safetensors s;

    assert_int_equal(open_text(&s, "{\"a\":{" F32_2 "\"data_offsets\":[0,8]},\"a\":{" F32_2
                               "\"data_offsets\":[0,8]}}", 8), -1);
    assert_non_null(strstr(e.msg, "duplicate object key near '\"a\"'"));
}

TEST(sizes_of_headers_are_checked_before_memory_is_taken)
{
    unsigned char file[16] = {9, 0, 0, 0, 0, 0, 0, 0, '{', '}'};
    struct safetensors s;

    assert_int_equal(safetensors_of(&s, fmemopen(file, 5, "rb"), "f", &e), -1);
    assert_string_equal(e.msg, "truncated: 8 bytes for the size of the header, the file has 5");
    assert_int_equal(safetensors_of(&s, fmemopen(file, sizeof(file), "rb"), "f", &e), -1);
    assert_string_equal(e.msg, "truncated: header of 9 bytes, the file has 8 behind byte 8");
    file[7] = 1;
    assert_int_equal(safetensors_of(&s, fmemopen(file, sizeof(file), "rb"), "f", &e), -1);
    assert_string_equal(e.msg, "header of 72057594037927945 bytes, at most 100000000 are allowed");
    assert_null(safetensors_file("build", &e));
    assert_string_equal(e.msg, "is no regular file");
    assert_null(safetensors_file("build/nowhere", &e));
    assert_string_equal(e.msg, "cannot be read: No such file or directory");
}

TEST(what_is_written_is_read)
{
    struct safetensor t[ST_DTYPE_COUNT];
    const struct safetensors_pair pair[] = {{"k\"\n", "v\xc3\xa4"}, {"z", "12345678"}};
    const char *path = "build/test_safetensors.tmp";
    char name[ST_DTYPE_COUNT][16], digits[8];
    int64_t offset[2], size, all = 0;
    struct safetensors s;
    FILE *f = fopen(path, "w+b");

    for (int i = 0; i < ST_DTYPE_COUNT; i++) {
        snprintf(name[i], sizeof(name[i]), "t/%d", i);
        t[i] = (struct safetensor){.name = name[i], .dtype = (enum safetensors_dtype)i,
                                   .rank = i % 4, .dim = {2, 3, 1}};
        all += safetensor_bytes(&t[i]);
    }
    size = safetensors_write_header(f, t, ST_DTYPE_COUNT, pair, 2, offset, &e);
    assert_int_equal(size % 8, 0);
    assert_int_equal(ftello(f), size);
    for (int64_t i = 0; i < all; i++)
        fputc((int)(i & 0xff), f);
    fseeko(f, offset[1], SEEK_SET);
    assert_int_equal(fread(digits, 1, 8, f), 8);
    assert_memory_equal(digits, "12345678", 8);
    assert_int_equal(safetensors_of(&s, f, path, &e), 0);
    assert_int_equal(s.tensor_count, ST_DTYPE_COUNT);
    assert_string_equal(safetensors_value(&s, "k\"\n"), "v\xc3\xa4");
    for (int i = 0; i < ST_DTYPE_COUNT; i++) {
        assert_string_equal(s.tensor[i].name, name[i]);
        assert_int_equal(s.tensor[i].dtype, i);
        assert_int_equal(s.tensor[i].begin, t[i].begin);
        assert_int_equal(safetensor_bytes(&s.tensor[i]), safetensor_bytes(&t[i]));
    }
    safetensors_close(&s);
    unlink(path);
}

TEST(names_that_cannot_be_written_are_refused)
{
    struct safetensor t[2] = {{.name = "a"}, {.name = "a"}};
    FILE *f = tmpfile();

    assert_int_equal(safetensors_write_header(f, t, 2, NULL, 0, NULL, &e), -1);
    assert_string_equal(e.msg, "two tensors have the name \"a\"");
    t[0].name = "__metadata__";
    assert_int_equal(safetensors_write_header(f, t, 2, NULL, 0, NULL, &e), -1);
    assert_string_equal(e.msg, "a tensor cannot have the name \"__metadata__\"");
    t[0].name = "\xff";
    assert_int_equal(safetensors_write_header(f, t, 2, NULL, 0, NULL, &e), -1);
    assert_string_equal(e.msg, "\"\xff\" is no UTF-8 text");
    assert_int_equal(ftello(f), 0);
    fclose(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_are_listed_in_the_order_of_their_data),
        cmocka_unit_test(a_file_of_nothing_is_one),
        cmocka_unit_test(data_that_does_not_add_up_is_named_with_tensor_and_offset),
        cmocka_unit_test(headers_that_are_none_are_refused),
        cmocka_unit_test(a_name_twice_is_refused),
        cmocka_unit_test(sizes_of_headers_are_checked_before_memory_is_taken),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(names_that_cannot_be_written_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
