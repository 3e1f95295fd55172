#!/bin/sh
# tools/argument_order.sh: no list of arguments of ours makes two things, and what it finds in a
# source that has some.
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

fail() { echo "$1"; exit 1; }

sh tools/argument_order.sh || fail "operands have to be worked out one after another"

cat >"$work/some.c" <<'END'
int hlo_add(struct module *m, int x) { return m->count++; }
static int one(struct module *m) { return hlo_add(m, 1); }
static int plain(int x) { return x; }
#define TWO(m) both(one(m), one(m))
static int chosen(struct module *m)
{
    int x = one(m), y = one(m);         /* one after another */
    int list[2] = {one(m), one(m)};
    struct pair p = {plain(one(m)), x};

    if (both(x, y))
        return both(plain(one(m)),
                    plain(x) + one(m));
    for (x = one(m); x < one(m); x++)
        m->call(one(m), y, (int[]){x, one(m)});
    say("both(one(m), one(m))", ar_add(m, one(m), one(m)));
    return both(both(one(m), y), plain(y));
}
END
sh tools/argument_order.sh "$work/some.c" >"$work/found" && fail "two of one list are not seen"
sed 's/.*:\([0-9]*\): /\1 /' "$work/found" >"$work/lines"
cat >"$work/wanted" <<'END'
8 2 elements of a list make something
12 2 arguments of both make something
15 2 arguments of call make something
END
diff "$work/wanted" "$work/lines" || fail "other lists are found than there are"
