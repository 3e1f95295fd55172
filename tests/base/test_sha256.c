/* SHA-256 on the examples of its standard, whole and in pieces. */
#include "tests/test.h"

#include "base/sha256.h"

static void expect(const char *text, size_t bytes, int repeat, size_t piece, const char *hex)
{
    unsigned char digest[SHA256_BYTES];
    char got[2 * SHA256_BYTES + 1];
    struct sha256 s;

    sha256_begin(&s);
    for (int r = 0; r < repeat; r++)
        for (size_t i = 0; i < bytes; i += piece)
            sha256_add(&s, text + i, bytes - i < piece ? bytes - i : piece);
    sha256_end(&s, digest);
    for (int i = 0; i < SHA256_BYTES; i++)
        snprintf(got + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(got, hex);
}

TEST(digests_are_those_of_the_standard_in_pieces_of_any_size)
{
    const char *two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";

    for (size_t piece = 1; piece <= 200; piece++) {
        expect("", 0, 1, piece, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        expect("abc", 3, 1, piece,
               "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        expect(two, 56, 1, piece,
               "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    }
    expect("aaaaaaaaaa", 10, 100000, 7,
           "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_are_those_of_the_standard_in_pieces_of_any_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
