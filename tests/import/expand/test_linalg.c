/* Linear algebra as loops: factors, solutions and eigenvectors as the host's library finds them. */
#include "tests/test.h"

#include "tests/rigs/expand_rig.h"

#include <string.h>

/* the program with batches of 140 for those of 2 or 3: so many matrices lie across */
static const char *of_many(const char *text)
{
    static char many[6000];
    size_t length = 0;

    for (const char *c = text; *c; c++) {
        bool is_batch = (c[0] == '[' || c[0] == ':') && (c[1] == '2' || c[1] == '3') &&
                        (c[2] == ',' || (c[0] == ':' && strncmp(c - 3, "{[0", 3) == 0));

        length += (size_t)snprintf(many + length, sizeof(many) - length, "%c%s", *c,
                                   is_batch ? "140" : "");
        c += is_batch;
        assert_in_range(length, 0, sizeof(many) - 1);
    }
    return many;
}

static void check_both(struct expand_rig rig, uint64_t seed)
{
    expand_rig_check(&rig, seed);
    rig.text = of_many(rig.text);
    expand_rig_check(&rig, seed);
}

static void check(const char *text, double bound)
{
    uint64_t seed = expand_rig_seed();

    for (int i = 0; i < 4; i++)
        check_both((struct expand_rig){.text = text, .bound = bound, .floor = 1, .low = -1,
                                       .high = 1}, seed + (uint64_t)i);
}

/* a a' + 8, which is positive definite */
#define POSITIVE(t, n) \
    " a = " t "[3," n "," n "] parameter(0)\n g = " t "[3," n "," n "] dot(a, a), lhs_batch_dims={0}, " \
    "rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}\n" \
    " i = s32[" n "," n "] iota(), iota_dimension=0\n j = s32[" n "," n "] iota(), iota_dimension=1\n" \
    " e = pred[" n "," n "] compare(i, j), direction=EQ\n f = " t "[" n "," n "] convert(e)\n" \
    " k = " t "[] constant(8)\n l = " t "[" n "," n "] broadcast(k), dimensions={}\n" \
    " o = " t "[" n "," n "] multiply(f, l)\n q = " t "[3," n "," n "] broadcast(o), dimensions={1,2}\n" \
    " h = " t "[3," n "," n "] add(g, q)\n"

TEST(cholesky_factors)
{
    check("HloModule m\nENTRY e {\n" POSITIVE("f32", "7")
          " c = f32[3,7,7] cholesky(h), lower=true\n d = f32[3,7,7] cholesky(h), lower=false\n"
          " t = f32[3,7,7] transpose(d), dimensions={0,2,1}\n u = f32[3,7,7] dot(c, c), lhs_batch_dims={0}, "
          "rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}\n"
          " p = pred[7,7] compare(i, j), direction=GE\n P = pred[3,7,7] broadcast(p), dimensions={1,2}\n"
          " z = f32[] constant(0)\n Z = f32[3,7,7] broadcast(z), dimensions={}\n"
          " c1 = f32[3,7,7] select(P, c, Z)\n t1 = f32[3,7,7] select(P, t, Z)\n"
          " ROOT r = (f32[3,7,7], f32[3,7,7]) tuple(c1, t1)\n}\n", 1e-5);
}

TEST(triangular_systems_of_every_kind)
{
    static const char *transposes[] = {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
    char text[3000];

    for (int kind = 0; kind < 24; kind++) {
        bool is_left = kind & 1;

        snprintf(text, sizeof(text), "HloModule m\nENTRY e {\n" POSITIVE("f32", "6")
                 " b = f32[3,%s] parameter(1)\n ROOT x = f32[3,%s] triangular-solve(h, b), left_side=%s, "
                 "lower=%s, unit_diagonal=%s, transpose_a=%s\n}\n", is_left ? "6,4" : "4,6",
                 is_left ? "6,4" : "4,6", is_left ? "true" : "false", kind & 2 ? "true" : "false",
                 kind & 4 ? "true" : "false", transposes[kind / 8]);
        /* of a unit diagonal the others are large: the solution grows */
        check_both((struct expand_rig){.text = text, .bound = kind & 4 ? 1e-3 : 1e-5,
                                       .floor = kind & 4 ? 1e4 : 1, .low = -1, .high = 1},
                   expand_rig_seed());
    }
}

TEST(factors_with_pivots)
{
    static const char *sizes[] = {"6,6", "8,5", "4,7"};
    static const char *least[] = {"6", "5", "4"}, *rows[] = {"6", "8", "4"};
    char text[800];

    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof(text), "HloModule m\nENTRY e {\n a = f32[2,%s] parameter(0)\n"
                 " ROOT r = (f32[2,%s], s32[2,%s], s32[2,%s]) custom-call(a), "
                 "custom_call_target=\"LuDecomposition\"\n}\n", sizes[i], sizes[i], least[i], rows[i]);
        check(text, 1e-4);
    }
}

TEST(reflections)
{
    static const char *sizes[] = {"6,6", "8,5", "4,7"}, *least[] = {"6", "5", "4"};
    static const char *square[] = {"6,6", "8,5", "4,4"};
    char text[1200];

    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof(text), "HloModule m\nENTRY e {\n a = f32[2,%s] parameter(0)\n"
                 " r = (f32[2,%s], f32[2,%s]) custom-call(a), custom_call_target=\"Qr\"\n"
                 " p = f32[2,%s] get-tuple-element(r), index=0\n t = f32[2,%s] get-tuple-element(r), index=1\n"
                 " s = f32[2,%s] slice(p), slice={[0:2],[0:%c],[0:%c]}\n"
                 " q = f32[2,%s] custom-call(s, t), custom_call_target=\"ProductOfElementaryHouseholderReflectors\"\n"
                 " ROOT o = (f32[2,%s], f32[2,%s], f32[2,%s]) tuple(p, t, q)\n}\n", sizes[i], sizes[i],
                 least[i], sizes[i], least[i], square[i], square[i][0], square[i][2], square[i],
                 sizes[i], least[i], square[i]);
        check(text, 1e-4);
    }
}

/* vectors have any sign: values, and v v' of matrices whose values lie apart */
TEST(eigenvalues)
{
    static const char *sizes[] = {"1", "2", "3", "8", "9"};
    char text[1500];

    for (int i = 0; i < 5; i++) {
        const char *n = sizes[i];

        snprintf(text, sizeof(text), "HloModule m\nENTRY e {\n b = f32[2,%s,%s] parameter(0)\n"
                 " t = f32[2,%s,%s] transpose(b), dimensions={0,2,1}\n a = f32[2,%s,%s] add(b, t)\n"
                 " r = (f32[2,%s,%s], f32[2,%s]) custom-call(a), custom_call_target=\"Eigh\", "
                 "backend_config=\"1,1,100,1e-6\"\n v = f32[2,%s,%s] get-tuple-element(r), index=0\n"
                 " w = f32[2,%s] get-tuple-element(r), index=1\n W = f32[2,%s,%s] broadcast(w), dimensions={0,2}\n"
                 " x = f32[2,%s,%s] multiply(v, W)\n c = f32[2,%s,%s] dot(x, v), lhs_batch_dims={0}, "
                 "rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}\n"
                 " o = f32[2,%s,%s] dot(v, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, "
                 "rhs_contracting_dims={1}\n"
                 " ROOT u = (f32[2,%s], f32[2,%s,%s], f32[2,%s,%s]) tuple(w, c, o)\n}\n", n, n, n, n, n,
                 n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n);
        check(text, 2e-5);
    }
}

/* values, and v diag(w) v* */
static const char hermitian[] =
    "HloModule m\nENTRY e {\n p = f32[2,@,@] parameter(0)\n q = f32[2,@,@] parameter(1)\n"
    " a = c64[2,@,@] complex(p, q)\n"
    " r = (c64[2,@,@], f32[2,@]) custom-call(a), custom_call_target=\"Eigh\","
    " backend_config=\"1,1,100,1e-6\"\n"
    " v = c64[2,@,@] get-tuple-element(r), index=0\n w = f32[2,@] get-tuple-element(r), index=1\n"
    " W = f32[2,@,@] broadcast(w), dimensions={0,2}\n Z = f32[2,@,@] subtract(W, W)\n"
    " C = c64[2,@,@] complex(W, Z)\n x = c64[2,@,@] multiply(v, C)\n re = f32[2,@,@] real(v)\n"
    " im = f32[2,@,@] imag(v)\n ni = f32[2,@,@] negate(im)\n u = c64[2,@,@] complex(re, ni)\n"
    " c = c64[2,@,@] dot(x, u), lhs_batch_dims={0}, rhs_batch_dims={0},"
    " lhs_contracting_dims={2}, rhs_contracting_dims={2}\n"
    " ROOT t = (f32[2,@], c64[2,@,@]) tuple(w, c)\n}\n";

TEST(eigenvalues_of_complex_matrices)
{
    char text[sizeof(hermitian)];

    for (const char *size = "1256"; *size; size++) {
        for (size_t i = 0; i < sizeof(hermitian); i++)
            text[i] = hermitian[i] == '@' ? *size : hermitian[i];
        check(text, 2e-5);
    }
}

TEST(complex_matrices)
{
    check("HloModule m\nENTRY e {\n a = c64[2,5,5] parameter(0)\n b = c64[2,5,3] parameter(1)\n"
          " r = (c64[2,5,5], c64[2,5]) custom-call(a), custom_call_target=\"Qr\"\n"
          " p = c64[2,5,5] get-tuple-element(r), index=0\n t = c64[2,5] get-tuple-element(r), index=1\n"
          " q = c64[2,5,5] custom-call(p, t), custom_call_target=\"ProductOfElementaryHouseholderReflectors\"\n"
          " ROOT o = (c64[2,5,5], c64[2,5], c64[2,5,5]) tuple(p, t, q)\n}\n", 1e-4);
    check("HloModule m\nENTRY e {\n a = c64[2,5,5] parameter(0)\n b = c64[2,5,3] parameter(1)\n"
          " l = (c64[2,5,5], s32[2,5], s32[2,5]) custom-call(a), custom_call_target=\"LuDecomposition\"\n"
          " p = c64[2,5,5] get-tuple-element(l), index=0\n"
          " i = s32[5,5] iota(), iota_dimension=0\n j = s32[5,5] iota(), iota_dimension=1\n"
          " e = pred[5,5] compare(i, j), direction=EQ\n f = c64[5,5] convert(e)\n k = c64[] constant((9, 1))\n"
          " m = c64[5,5] broadcast(k), dimensions={}\n n = c64[5,5] multiply(f, m)\n"
          " d = c64[2,5,5] broadcast(n), dimensions={1,2}\n h = c64[2,5,5] add(a, d)\n"
          " x = c64[2,5,3] triangular-solve(h, b), left_side=true, lower=true, unit_diagonal=false, transpose_a=ADJOINT\n"
          " ROOT o = (c64[2,5,5], c64[2,5,3]) tuple(p, x)\n}\n", 1e-4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cholesky_factors), cmocka_unit_test(triangular_systems_of_every_kind),
        cmocka_unit_test(factors_with_pivots), cmocka_unit_test(reflections),
        cmocka_unit_test(eigenvalues), cmocka_unit_test(complex_matrices),
        cmocka_unit_test(eigenvalues_of_complex_matrices),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
