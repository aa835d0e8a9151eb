# shellcheck shell=sh disable=SC2154
# Sourced by check and real: runs a program without the drop-in, and with it in several modes, and compares.
# Expects $rubato and $folder. Counts the comparisons in $compared and those that failed in $failed, and plans for allreduce that
# mode auto has tried in $tried.
compared=0
failed=0
tried=0
launches=0

# The part of a program's output that is compared; tests redefine it.
relevant() { cat; }

# Runs a command with a time limit; its output is $out, its status $status.
launch() { # command...
    launches=$((launches + 1))
    out=$folder/$launches.out
    err=$folder/$launches.err
    status=0
    timeout -k 5 "${limit:-120}" "$@" >"$out" 2>"$err" </dev/null || status=$?
}

# Line by line and word by word; numbers may differ by this part of them.
equal() { # tolerance file file
    awk -v tolerance="$1" -v other="$3" '
        function is_number(x) { return x ~ /^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eEdD][-+]?[0-9]+)?[,;:)]?$/ }
        function value(x) { gsub(/[dD]/, "e", x); return x + 0 }
        function size(x) { return x < 0 ? -x : x }
        {
            if ((getline line < other) <= 0) exit wrong = 1
            n = split(line, words)
            if (n != NF) exit wrong = 1
            for (i = 1; i <= n; ++i) {
                if (words[i] == $i) continue
                if (tolerance == 0 || !is_number(words[i]) || !is_number($i)) exit wrong = 1
                a = value($i); b = value(words[i])
                if (size(a - b) > tolerance * (size(a) > size(b) ? size(a) : size(b))) exit wrong = 1
            }
        }
        END {
            if (!wrong && (getline line < other) > 0) wrong = 1
            exit wrong
        }' "$2"
}

complain_of() { # what
    failed=$((failed + 1))
    echo "failed: $1" >&2
}

complain() { # what mode
    failed=$((failed + 1))
    echo "failed: $1 in mode $2: status $status instead of $native_status" >&2
    diff "$folder/native.txt" "$folder/mode.txt" | head -n "${shown:-6}" >&2 || true
    grep -v '^$' "$err" | tail -n 5 >&2 || true
}

# Modes that force one algorithm for each of these collectives, or of all; every algorithm is in one of them.
forces() { # [collective...]
    "$rubato" algorithms --json | sed -n 's/.*"id": "\(.*\)",\{0,1\}$/\1/p' | awk -F/ -v wanted=" $* " '
        wanted == "  " || index(wanted, " " $1 " ") {
            k = ++seen[$1]
            mode[k] = (mode[k] == "" ? "force=" : mode[k] ",") $0
            if (k > modes) modes = k
        }
        END { for (k = 1; k <= modes; ++k) print mode[k] }'
}

# Modes are words such as observe, auto, force=reduce/chain; with ,thread the background thread works for them.
in_modes() { # name tolerance modes command...
    what=$1
    tolerance=$2
    modes=$3
    shift 3
    launch "$@"
    native_status=$status
    relevant <"$out" >"$folder/native.txt"
    if [ "$status" -ne 0 ] || [ ! -s "$folder/native.txt" ]; then
        complain_of "$what fails without the drop-in, status $status"
        tail -n 5 "$err" >&2
        return
    fi
    for mode in $modes; do
        compared=$((compared + 1))
        background=
        [ "$mode" = "${mode%,thread}" ] || background="--background on"
        # shellcheck disable=SC2086
        launch env "RUBATO_OUTPUT=$folder/observed.rubato" "$rubato" exec --mode "${mode%,thread}" $background \
            --spend 10000% -- "$@"
        relevant <"$out" >"$folder/mode.txt"
        tried=$((tried + $({ grep -aso '"algorithm":"allreduce/.*"decision":"tried"' "$folder/observed.rubato" || true; } | wc -l)))
        if [ "$status" = "$native_status" ] && equal "$tolerance" "$folder/native.txt" "$folder/mode.txt"; then
            rm -rf "$folder/observed.rubato" "$folder/observed.rubato.parts" "$out" "$err"
        else
            complain "$what" "$mode"
        fi
    done
}

conclude() {
    echo "$compared runs with the drop-in compared, $failed differ; $tried plans for allreduce tried"
    [ "$failed" -eq 0 ]
}
