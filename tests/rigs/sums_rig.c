#include "tests/rigs/sums_rig.h"

#include "tests/test.h"

void **sums_run(struct graph_run *run, int replicas)
{
    int count = g.parameter_count;
    const void **in = arena_array(&arena, (size_t)(count * replicas), sizeof(*in));
    void **out = arena_array(&arena, (size_t)(g.output_count * replicas), sizeof(*out));

    for (int i = 0; i < count * replicas; i++)
        in[i] = random_floats(&arena, shape_elems(&g.node[g.parameter[i % count]].shape), -1, 1,
                              (uint64_t)(i % count ? i % count : 100 + i));
    run_graph(run, &g, in, out, &arena);
    return out;
}

float sums_element(void *const *out, int replica, int output, int64_t element)
{
    return ((const float *)out[replica * g.output_count + output])[element];
}

float sums_in_order(void *const *out, int replicas, int output, int64_t element, int owner)
{
    float sum = sums_element(out, (owner + 1) % replicas, output, element);

    for (int k = 2; k <= replicas; k++)
        sum += sums_element(out, (owner + k) % replicas, output, element);
    return sum;
}

void sums_check_cycles(const struct graph_run *run, int replicas)
{
    struct graph_run waiting = *run, threads = *run;

    waiting.sums_wait = true;
    sums_run(&waiting, replicas);
    assert_true(run->kernel_count > waiting.kernel_count);
    assert_true(run->cycles < waiting.cycles);
    threads.thread_count = 2;
    sums_run(&threads, replicas);
    assert_int_equal(threads.cycles, run->cycles);
}
