/* A kernel of attention as a graph of one custom call, from its sizes. */
#include "cli/graphs/hardware_graphs.h"

#include "base/units.h"
#include "stack/hlo/rewrite.h"
#include "stack/nn/nn.h"

/* of Pallas's flash attention, and vLLM's: keys and queries of a step, tokens of a page */
enum { BLOCK_DEFAULT = 512, RAGGED_ROWS = 256, PAGE_TOKENS = 16, KEYS_STEP = 256 };

static int64_t divisor_below(int64_t x, int64_t most)
{
    while (x % most)
        most--;
    return most;
}

static void set_defaults(struct graph_attention *r)
{
    int64_t rows = round_up(earlier(r->q_len, RAGGED_ROWS), PAGE_TOKENS);
    int64_t keys = earlier(round_up(r->kv_len, KEYS_STEP), BLOCK_DEFAULT);
    bool is_flash = r->form == ATTENTION_FLASH;

    if (!r->block_q)
        r->block_q = is_flash ? divisor_below(r->q_len, BLOCK_DEFAULT) : r->q_len == 1 ? 1 : rows;
    if (!r->block_kv)
        r->block_kv = is_flash ? divisor_below(r->kv_len, BLOCK_DEFAULT) : keys;
    if (!r->page_tokens)
        r->page_tokens = PAGE_TOKENS;
    r->pages = r->sequences * div_up(r->kv_len, r->page_tokens);
}

int attention_graph(const struct graph_attention *request, struct arena *a, struct graph **out,
                    struct err *e)
{
    static const char *const names[][4] = {{"q", "k", "v"}, {"q", "k_pages", "v_pages", "table"},
                                           {"q", "kv_pages", "table"}};
    struct graph_attention r = *request;
    struct shape shape[4];
    struct graph *g;
    int operand[4], count;

    if (r.heads_q % r.heads_kv || r.kv_len < r.q_len)
        return err_set(e, "%lld heads of queries over %lld of keys, %lld queries of %lld keys; "
                       "heads share evenly, and keys are at least as many", (long long)r.heads_q,
                       (long long)r.heads_kv, (long long)r.q_len, (long long)r.kv_len);
    set_defaults(&r);
    g = arena_alloc(a, sizeof(*g));
    graph_init(g, a, graph_attention_name(r.form));
    count = nn_attention_operands(&r, shape);
    for (int i = 0; i < count; i++)
        operand[i] = graph_parameter(g, shape[i], names[r.form][i]);
    graph_output(g, nn_attention_call(g, operand, &r), "o", -1);
    graph_freeze(g);
    *out = g;
    return graph_verify(g, e);
}
