#!/bin/sh
# Collectives in loops and conditionals within each other, drawn: on the cores of a slice as on the
# host, whichever of them a round leaves away. SYSTOLE_SEED draws others, SYSTOLE_PROGRAMS as many.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc

# a program of four replicas; a computation is made before it is called
drawn() {
    awk -v seed="$1" '
    function draw(n) { return int(rand() * n) }
    function fresh() { return "v" ++names }
    # pred of the round i: (i * a + b) % m < k, the same everywhere
    function ask(out,   a, t) {
        a = fresh()
        t = "  " a "m = s32[] constant(" 2 + draw(3) ")\n  " a "a = s32[] constant(" 1 + draw(4) ")\n" \
            "  " a "b = s32[] constant(" draw(5) ")\n  " a "k = s32[] constant(" 1 + draw(2) ")\n" \
            "  " a "x = s32[] multiply(i, " a "a)\n  " a "y = s32[] add(" a "x, " a "b)\n" \
            "  " a "z = s32[] remainder(" a "y, " a "m)\n" \
            "  " a " = pred[] compare(" a "z, " a "k), direction=LT\n"
        asked = a
        return t
    }
    function groups() {
        split("{{0,1,2,3}} {{0,1},{2,3}} {{0,3},{1,2}} {{2,0},{1,3}}", known, " ")
        return known[1 + draw(4)]
    }
    # one step on v of f32[40]: arithmetic, a collective, a conditional or a loop; its text, `made`
    function step(v, depth,   w, t, kind, c, d) {
        w = fresh(); kind = draw(depth > 0 ? 7 : 4); made = w
        if (kind == 0)
            return "  " w "h = f32[] constant(0.5)\n  " w "g = f32[40] broadcast(" w "h), dimensions={}\n" \
                   "  " w " = f32[40] multiply(" v ", " w "g)\n"
        if (kind == 1 || kind == 2)
            return "  " w "s = f32[40] all-reduce(" v "), replica_groups=" groups() ", to_apply=" \
                   (draw(2) ? "sum" : "largest") "\n  " w "h = f32[] constant(0.25)\n" \
                   "  " w "g = f32[40] broadcast(" w "h), dimensions={}\n" \
                   "  " w " = f32[40] multiply(" w "s, " w "g)\n"
        if (kind == 3)
            return "  " w "s = f32[40] collective-permute(" v "), source_target_pairs=" \
                   (draw(2) ? "{{0,1},{1,2},{2,3},{3,0}}" : "{{0,2},{3,1}}") "\n" \
                   "  " w " = f32[40] subtract(" w "s, " v ")\n"
        if (kind < 6) {
            c = body(depth - 1); d = body(depth - 1); t = ask(); made = w
            return t "  " w "t = (s32[], f32[40]) tuple(i, " v ")\n" \
                   "  " w " = f32[40] conditional(" asked ", " w "t, " w "t), true_computation=" c \
                   ", false_computation=" d "\n"
        }
        c = loop(depth - 1); made = w
        return "  " w "n = s32[] constant(" 1 + draw(3) ")\n  " w "z = s32[] constant(0)\n" \
               "  " w "t = (s32[], s32[], f32[40]) tuple(" w "z, " (draw(2) ? w "n" : "i") ", " v ")\n" \
               "  " w "l = (s32[], s32[], f32[40]) while(" w "t), condition=goes_on, body=" c "\n" \
               "  " w " = f32[40] get-tuple-element(" w "l), index=2\n"
    }
    function steps(depth,   t, n, v) {
        v = "v"; t = ""
        for (n = 1 + draw(3); n > 0; n--) { t = t step(v, depth); v = made }
        made = v
        return t
    }
    function body(depth,   name, t) {
        name = "branch" ++bodies
        t = steps(depth)
        text = text name " {\n  p = (s32[], f32[40]) parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n" \
               "  v = f32[40] get-tuple-element(p), index=1\n" t "  ROOT r = f32[40] copy(" made ")\n}\n\n"
        return name
    }
    function loop(depth,   name, t) {
        name = "round" ++bodies
        t = steps(depth)
        text = text name " {\n  p = (s32[], s32[], f32[40]) parameter(0)\n" \
               "  i = s32[] get-tuple-element(p), index=0\n  n = s32[] get-tuple-element(p), index=1\n" \
               "  v = f32[40] get-tuple-element(p), index=2\n" t \
               "  one = s32[] constant(1)\n  next = s32[] add(i, one)\n" \
               "  ROOT r = (s32[], s32[], f32[40]) tuple(next, n, " made ")\n}\n\n"
        return name
    }
    BEGIN {
        srand(seed)
        text = "HloModule flow, replica_count=4\n\n"
        text = text "sum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n\n"
        text = text "largest {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] maximum(a, b)\n}\n\n"
        text = text "goes_on {\n  p = (s32[], s32[], f32[40]) parameter(0)\n" \
            "  i = s32[] get-tuple-element(p), index=0\n  n = s32[] get-tuple-element(p), index=1\n" \
            "  ROOT c = pred[] compare(i, n), direction=LT\n}\n\n"
        c = loop(3)
        printf "%sENTRY main {\n  v = f32[40] parameter(0)\n  n = s32[] constant(%d)\n", text, 3 + draw(4)
        printf "  z = s32[] constant(0)\n  t = (s32[], s32[], f32[40]) tuple(z, n, v)\n"
        printf "  l = (s32[], s32[], f32[40]) while(t), condition=goes_on, body=%s\n", c
        printf "  ROOT r = f32[40] get-tuple-element(l), index=2\n}\n"
    }'
}

seed=${SYSTOLE_SEED:-1}
last=$((seed + ${SYSTOLE_PROGRAMS:-12}))
while [ "$seed" -lt "$last" ]; do
    drawn "$seed" >"$work/flow.hlo"
    expect 0 '1 of 1 results are within what is allowed' exec "$work/flow.hlo" --tpu v5e-4 --compare
    seed=$((seed + 1))
done

[ $failures -eq 0 ]
