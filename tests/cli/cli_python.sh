#!/bin/sh
# systole jax, systole pjrt and systole cache: which library, variables and Python they take, beside a
# library that is none and a Python that tells what it was given. What JAX makes of the true library
# is tests/jax/test_pjrt_*.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc
mkdir -p "$work/bin" "$work/lib"
cp "$systole" "$work/bin/systole"
systole=$work/bin/systole
unset SYSTOLE_TPU SYSTOLE_OUT SYSTOLE_MODE SYSTOLE_THREADS SYSTOLE_QUIET SYSTOLE_CACHE PYTHON
export XDG_CACHE_HOME="$work/cache"

# ----- without a library -----
refuse "make builds it" pjrt --path
refuse "$work/bin/build/libsystole_pjrt.so" jax x.py
refuse "no slice \"v5e-9\"" jax --tpu v5e-9 x.py
expect 1 "library    wrong  the library that JAX loads is not there" pjrt --check

echo "no library" >"$work/lib/libsystole_pjrt.so"
expect 0 "$work/lib/libsystole_pjrt.so" pjrt --path
expect 1 "library    wrong  cannot be loaded" pjrt --check

# ----- variables -----
expect 0 "export TPU_LIBRARY_PATH='$work/lib/libsystole_pjrt.so'" pjrt --env v2-8
expect 0 "export SYSTOLE_TPU='v2-8'" pjrt --env=v2-8
expect 0 "export JAX_PLATFORMS='tpu,cpu'" pjrt --env
expect 0 "export PJRT_DEVICE='TPU'" pjrt --env
expect 0 "export SYSTOLE_TPU='v5e-8'" pjrt --env
SYSTOLE_TPU=v3-8 expect 0 "export SYSTOLE_TPU='v3-8'" pjrt --env
SYSTOLE_TPU=v3-9 refuse "v3-9" pjrt --env
eval "$("$systole" pjrt --env v6e-8)"
[ "$SYSTOLE_TPU $JAX_PLATFORMS" = "v6e-8 tpu,cpu" ] || fail "eval gives $SYSTOLE_TPU $JAX_PLATFORMS"
unset SYSTOLE_TPU JAX_PLATFORMS TPU_LIBRARY_PATH PJRT_DEVICE
expect 2 "one of --path, --env and --check" pjrt
expect 2 "one of --path, --env and --check" pjrt --path --check
mkdir "$work/it's"
cp -R "$work/bin" "$work/lib" "$work/it's"
eval "$("$work/it's/bin/systole" pjrt --env)"
[ "$TPU_LIBRARY_PATH" = "$work/it's/lib/libsystole_pjrt.so" ] || fail "quotes: $TPU_LIBRARY_PATH"
unset SYSTOLE_TPU JAX_PLATFORMS TPU_LIBRARY_PATH PJRT_DEVICE

# ----- Python -----
cat >"$work/python" <<'END'
#!/bin/sh
echo "$JAX_PLATFORMS $SYSTOLE_TPU ${SYSTOLE_MODE-none} ${SYSTOLE_THREADS-none} ${SYSTOLE_QUIET-none} ${SYSTOLE_ASSUME_TRIPS-none} ${SYSTOLE_PRECISION-none} ${SYSTOLE_OUT-none}"
echo "given:" "$@"
exit 7
END
chmod +x "$work/python"
expect 7 "tpu,cpu v5e-8 none none none none none none" jax --python "$work/python" x.py
expect 7 "given: x.py --steps 2 -q --tpu v2" jax --python "$work/python" x.py --steps 2 -q --tpu v2
expect 7 "given: -m pytest -x" jax --python "$work/python" -- -m pytest -x
expect 7 "tpu,cpu v2-8 timing 2 1 5 highest $work/out" jax --python "$work/python" --tpu v2-8 --mode timing \
    --threads 2 -q --assume-trips 5 --precision highest --out "$work/out" x.py
[ -d "$work/out" ] || fail "--out makes no folder"
(PYTHON=$work/python; export PYTHON; expect 7 "given: y.py" jax y.py; [ $failures -eq 0 ]) ||
    fail "PYTHON is not taken"
(cp "$work/python" "$work/python3"; PATH=$work:$PATH; export PATH
 expect 7 "given: z.py" jax z.py; [ $failures -eq 0 ]) || fail "python3 is not found"
refuse "the Python that --python names is not there: $work/none" jax --python "$work/none" x.py
PYTHON=$work/none refuse "the Python that PYTHON in the environment names" jax x.py
refuse "is no folder" jax --python "$work/python" --out "$work/python" x.py
refuse "cannot make the folder" jax --python "$work/python" --out "$work/none/out" x.py
expect 2 'did you mean "timing"?' jax --mode timin x.py
expect 2 "allowed are" jax --threads 0 x.py
expect 2 "allowed are program and highest" jax --precision high x.py
expect 1 "python     wrong" pjrt --check --python "$work/python"

# ----- the cache -----
expect 0 "$work/cache/systole/programs: nothing was kept yet" cache
mkdir -p "$work/cache/systole/programs"
chmod 700 "$work/cache/systole/programs"
expect 0 "0 programs, 0 B of at most 2 GiB" cache
printf damaged >"$work/cache/systole/programs/0123456789abcdef01234567"
touch "$work/cache/systole/programs/not_of_it"
SYSTOLE_CACHE=5M expect 0 "1 program, 7 B of at most 5 MiB" cache
expect 0 "removed 1 program, 7 B" cache --clear
[ -e "$work/cache/systole/programs/not_of_it" ] || fail "--clear removes what is no entry"
expect 0 "0 programs" cache
SYSTOLE_CACHE=0 expect 0 "nothing is kept" cache
SYSTOLE_CACHE=much refuse 'SYSTOLE_CACHE is "much"' cache
chmod 770 "$work/cache/systole/programs"
refuse "others may write into it" cache
[ $failures -eq 0 ]
