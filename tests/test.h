/*
 * Includes for every test program, and TEST(sentence_that_states_a_fact).
 *
 * A test that needs data which is not there prints "skipped: why" and returns.
 */
#ifndef TESTS_TEST_H
#define TESTS_TEST_H
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TEST(name) static void name(void **state __attribute__((unused)))
/* make check-long: sweeps may take minutes */
static inline bool test_is_long(void) { return getenv("SYSTOLE_LONG") != NULL; }

#define SKIP(...) do { printf("skipped: " __VA_ARGS__); printf("\n"); return; } while (0)
#endif
