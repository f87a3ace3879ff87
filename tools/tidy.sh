#!/usr/bin/env bash
# tools/tidy.sh BUILD: clang-tidy on the project's own sources that recent commits touched, by the compile commands of the
# build folder BUILD; ALL=1 looks at every one.
# A file that includes PyTorch takes half a minute, so the newest come first, MOST files (8) or a BUDGET of seconds (180)
# end the list.
set -euo pipefail
cd "$(dirname "$0")/.."
budget=${BUDGET:-180}
build=${1:?names the build folder}
[ -f "$build/compile_commands.json" ] || { echo "tidy: $build has no compile_commands.json; make tidy makes it" >&2; exit 2; }

if [ "${ALL:-0}" = 1 ]; then
  files=$(git ls-files 'src/*.cpp')
  budget=100000
else
  files=$(git log -n 20 --name-only --format= -- 'src/*.cpp' | awk -v most="${MOST:-8}" '!seen[$0]++ && ++count <= most')
fi

status=0
looked=0
for file in $files; do
  [ -f "$file" ] || continue
  if [ "$SECONDS" -ge "$budget" ]; then
    echo "tidy: $looked files looked at; the budget of ${budget} s is spent (ALL=1 looks at all)"
    exit $status
  fi
  # GCC's precompiled header is not Clang's, and neither is its omp.h.
  clang-tidy-19 -p "$build" --quiet --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-ignored-gch --extra-arg=-fno-openmp "$file" 2>/dev/null || status=1
  looked=$((looked + 1))
done
echo "tidy: $looked files looked at"
exit $status
