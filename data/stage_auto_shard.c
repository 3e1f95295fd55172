/* A part of a pipeline: of its files, told to all sources below by way of their iterators. */
#include "data/dataset_impl.h"
#include "data/distribute.h"

#include <inttypes.h>

struct auto_shard_stage {
    struct dataset dataset;
    int64_t count, index;
};

static int shard_open(struct data_iterator *it, struct err *e)
{
    const struct auto_shard_stage *s = (const struct auto_shard_stage *)it->dataset;

    it->file_step = s->count;
    it->file_first = s->index;
    return iterator_open_input(it, 0, it->pass, e);
}

static int shard_next(struct data_iterator *it, struct data_element **x, struct err *e)
{
    return iterator_next(it->input[0], x, e);
}

static int64_t shard_skip(struct data_iterator *it, int64_t n, struct err *e)
{
    return iterator_skip(it->input[0], n, e);
}

static const struct dataset_kind file_shard_kind = {
    .iterator_bytes = sizeof(struct data_iterator), .state = STATE_INPUTS, .open = shard_open,
    .next = shard_next, .skip = shard_skip,
};

static struct dataset *shard_files(struct dataset *in, int64_t count, int64_t index)
{
    struct auto_shard_stage *s = dataset_new(&file_shard_kind, sizeof(*s), &in, 1);

    s->count = count;
    s->index = index;
    if (in->cardinality > 0)
        s->dataset.cardinality = DATA_UNKNOWN;
    s->dataset.file_count = 0;          /* parts of parts: by data */
    dataset_set_description(&s->dataset, "files(%" PRId64 ", %" PRId64 ")", count, index);
    return &s->dataset;
}

struct dataset *dataset_auto_shard(struct dataset *in, enum auto_shard policy, int64_t count,
                                   int64_t index, struct err *e)
{
    if (!in)
        return NULL;
    if (policy == SHARD_OFF)
        return in;
    if (count < 1 || index < 0 || index >= count)
        return dataset_refuse(in, e, "part %" PRId64 " of %" PRId64
                              "; parts are numbered from 0", index, count);
    if (policy == SHARD_AUTO)
        policy = in->file_count >= count ? SHARD_FILE : SHARD_DATA;
    if (policy == SHARD_DATA)
        return dataset_shard(in, count, index, e);
    if (in->file_count == 0)
        return dataset_refuse(in, e, "cannot be split by file: not all of it comes straight from "
                              "lists of files: %.300s", in->description);
    if (in->file_count < count)
        return dataset_refuse(in, e, "%" PRId64 " files cannot be split into %" PRId64 " parts",
                              in->file_count, count);
    return shard_files(in, count, index);
}
