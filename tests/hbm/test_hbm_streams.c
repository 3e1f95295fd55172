/* What streams of a whole chip reach, and that all its channels serve them. */
#include "tests/test.h"

#include "tests/rigs/hbm_rig.h"

static struct hbm_config whole_chip;    /* of a v3 */

/* Reads `bytes` bytes in 4 KiB chunks, all asked for at 0; returns bytes per second over peak. */
static double sequential_efficiency(const struct hbm_config *config, int64_t bytes, bool is_write)
{
    struct hbm *h = hbm_create(config);
    ps_t end = 0;
    double rate;

    for (int64_t at = 0; at < bytes; at += 4096) {
        ps_t done = hbm_access(h, 0, at, 4096, is_write);

        end = done > end ? done : end;
    }
    rate = (double)bytes * 1e12 / (double)end;
    /* two pieces of a row follow each other: half of all runs are hits */
    assert_true(hbm_get_stats(h)->row_hits * 100 > hbm_get_stats(h)->run_count * 48);
    hbm_destroy(h);
    return rate / hbm_peak_bytes_per_second(config);
}

TEST(sequential_streams_reach_what_hardware_shows)
{
    double read = sequential_efficiency(&whole_chip, 64 * MIB, false);
    double write = sequential_efficiency(&whole_chip, 64 * MIB, true);

    printf("sequential: read %.3f, write %.3f of the peak\n", read, write);
    assert_true(read >= 0.81 && read < 1 - 260.0 / 3900);
    assert_true(write >= 0.81 && write < 1 - 260.0 / 3900);
}

/* Keeps `window` chunks in flight: chunk i is asked for when chunk i - window is done. */
static double windowed_efficiency(const int64_t *bases, int base_count, int window, bool copy)
{
    enum { CHUNKS = 16384, WINDOW_MAX = 256 };
    struct hbm *h = hbm_create(&whole_chip);
    ps_t done[WINDOW_MAX] = {0}, at = 0, end = 0;
    double rate;

    assert_true(window <= WINDOW_MAX);
    for (int i = 0; i < CHUNKS; i++) {
        int64_t address = bases[i % base_count] + (int64_t)(i / base_count) * 4096;

        at = done[i % window] > at ? done[i % window] : at;
        done[i % window] = hbm_access(h, at, address, 4096, copy && i % base_count == 1);
        end = done[i % window] > end ? done[i % window] : end;
    }
    rate = (double)CHUNKS * 4096 * 1e12 / (double)end;
    hbm_destroy(h);
    return rate / hbm_peak_bytes_per_second(&whole_chip);
}

TEST(a_window_of_64_chunks_is_enough_to_stream)
{
    const int64_t base = 0;

    assert_true(windowed_efficiency(&base, 1, 64, false) > 0.81);
}

TEST(two_interleaved_streams_still_flow)
{
    const int64_t far_apart[2] = {0, 16 * GIB}, aligned[2] = {0, 16 * MIB};
    double reads = windowed_efficiency(far_apart, 2, 64, false);
    double near = windowed_efficiency(aligned, 2, 64, false);
    double copy = windowed_efficiency(far_apart, 2, 64, true);

    printf("two streams: reads 16 GiB apart %.3f, 16 MiB apart %.3f, copy %.3f of the peak\n",
           reads, near, copy);
    assert_true(reads > 0.6 && reads <= 0.93);
    assert_true(near > 0.6 && near <= 0.93);
    assert_true(copy >= 0.81 && copy < reads);
}

TEST(no_power_of_two_stride_stays_on_few_channels)
{
    for (int64_t stride = 4096; stride <= 16 * MIB; stride *= 2) {
        struct hbm *h = hbm_create(&whole_chip);
        ps_t end = 0;
        double rate;

        for (int i = 0; i < 2048; i++) {
            ps_t done = hbm_access(h, 0, (i * stride) % (16 * GIB), 512, false);

            end = done > end ? done : end;
        }
        rate = 2048 * 512 * 1e12 / (double)end / hbm_peak_bytes_per_second(&whole_chip);
        assert_true(rate > 0.25);
        hbm_destroy(h);
    }
}

/* The channel is where the run was served: probe by occupying the data bus of all. */
TEST(every_channel_serves_the_same_share_of_a_stream)
{
    static const int channel_counts[] = {1, 2, 3, 12, 64};

    for (size_t k = 0; k < COUNT_OF(channel_counts); k++) {
        struct hbm_config config = whole_chip;
        int64_t blocks = 8, bytes;
        struct hbm *h;
        ps_t end;

        config.channel_count = channel_counts[k];
        interleave(&config);
        bytes = blocks * PIECE_BYTES * config.channel_count;
        h = hbm_create(&config);
        end = hbm_access(h, 0, 0, bytes, false);
        /* 8 pieces on each channel and nothing else: latency, then back to back */
        assert_int_equal(end, 14000 + 14000 + blocks * 16 * 2276);
        hbm_destroy(h);
    }
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequential_streams_reach_what_hardware_shows),
        cmocka_unit_test(a_window_of_64_chunks_is_enough_to_stream),
        cmocka_unit_test(two_interleaved_streams_still_flow),
        cmocka_unit_test(no_power_of_two_stride_stays_on_few_channels),
        cmocka_unit_test(every_channel_serves_the_same_share_of_a_stream),
    };

    whole_chip = hbm_of_v3;
    interleave(&whole_chip);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
