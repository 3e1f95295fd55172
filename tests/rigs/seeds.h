/*
 * Seeds of tests that draw what they run. Half of them are fixed and half follow from the clock, so
 * that every run draws others; `test_x FIRST COUNT` runs those from FIRST on instead, all of them.
 */
#ifndef TESTS_SEEDS_H
#define TESTS_SEEDS_H
#include <stdint.h>

void seeds_read(int argc, char **argv);         /* of the command line: first, how many */
int seeds_count(int usual);                     /* as many as were asked for, else `usual` */
uint64_t seeds_at(int i);
void seeds_print(int count);                    /* the first and the last of `count` */
#endif
