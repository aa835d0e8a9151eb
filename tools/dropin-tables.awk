# The tables of tools/dropin: awk -v table=cluster|host -f tools/dropin-tables.awk LAUNCHES. A line of LAUNCHES is
#
#   cluster  case contestant median_ms first_ms total_s
#   host     case mode launch collective bytes mean_us

# The value below which this part of a list of numbers lies, between the nearest two.
function quantile(list, part,    n, values, i, j, swap, at, below) {
    n = split(list, values, " ")
    for (i = 2; i <= n; ++i)
        for (j = i; j > 1 && values[j] + 0 < values[j - 1] + 0; --j) {
            swap = values[j]; values[j] = values[j - 1]; values[j - 1] = swap
        }
    at = 1 + part * (n - 1)
    below = int(at)
    return below == n ? values[n] : values[below] + (at - below) * (values[below + 1] - values[below])
}
function median(list) { return quantile(list, 0.5) }
function wider(width, text) { return length(text) > width ? length(text) : width }

# Rows in the order in which they first appear.
function add_row(key) {
    if (!(key in seen)) { seen[key] = 1; keys[++count] = key }
}

table == "cluster" {
    key = $1 " " $2
    add_row(key)
    medians[key] = medians[key] " " $3
    firsts[key] = firsts[key] " " $4
    totals[key] = totals[key] " " $5
    name_width = wider(name_width, $1)
    who_width = wider(who_width, $2)
}

table == "host" {
    key = $1 " " $4 " " $5
    add_row(key)
    name_width = wider(name_width, $1)
    time[key, $2, $3] = $6
    if ($2 == "native") natives[key] = natives[key] " " $6
    else differences[key, $2] = differences[key, $2] " " $6 - time[key, "native", $3]
}

function cluster_table(    form, k, key, word, total, of_default) {
    form = "%-" name_width "s  %-" who_width "s %10s %12s %9s %19s %11s\n"
    printf form, "CASE", "CONTESTANT", "MEDIAN ms", "FIRST TEN ms", "TOTAL s", "LEAST-MOST s", "OF DEFAULT"
    for (k = 1; k <= count; ++k) {
        key = keys[k]
        split(key, word, " ")
        total = median(totals[key])
        of_default = 100 * total / median(totals[word[1] " default"])
        gsub("_", " ", word[2])
        printf form, word[1], word[2], sprintf("%.1f", median(medians[key])), sprintf("%.1f", median(firsts[key])), \
            sprintf("%.2f", total), sprintf("%.2f-%.2f", quantile(totals[key], 0), quantile(totals[key], 1)), \
            sprintf("%.1f%%", of_default)
    }
}

function host_table(    form, k, key, word, m, mode, list, native, columns, cases, rows, slower, faster, c) {
    form = "%-" name_width "s  %-20s %8s %10s %10s %10s %22s %10s %10s %22s\n"
    printf form, "CASE", "COLLECTIVE", "BYTES", "NATIVE us", "OBSERVE", "", "QUARTILES us", "AUTO", "", "QUARTILES us"
    for (k = 1; k <= count; ++k) {
        key = keys[k]
        split(key, word, " ")
        native = median(natives[key])
        for (m = 1; m <= 2; ++m) {
            mode = m == 1 ? "observe" : "auto"
            list = differences[key, mode]
            columns[m, 1] = sprintf("%+.2f", median(list))
            columns[m, 2] = sprintf("%+.1f%%", 100 * median(list) / native)
            columns[m, 3] = sprintf("%+.2f..%+.2f", quantile(list, 0.25), quantile(list, 0.75))
            slower[word[1], mode] += quantile(list, 0.25) > 0
            faster[word[1], mode] += quantile(list, 0.75) < 0
        }
        if (!rows[word[1]]++) cases[++c] = word[1]
        printf form, word[1], word[2], word[3], sprintf("%.2f", native), columns[1, 1], columns[1, 2], columns[1, 3], \
            columns[2, 1], columns[2, 2], columns[2, 3]
    }
    printf "\nOBSERVE and AUTO: a call's mean time more than native; medians over launches.\n"
    for (k = 1; k <= c; ++k)
        for (m = 1; m <= 2; ++m) {
            mode = m == 1 ? "observe" : "auto"
            printf "%s: with both quartiles, %s is slower in %d and faster in %d of %d rows\n", cases[k], mode, \
                slower[cases[k], mode], faster[cases[k], mode], rows[cases[k]]
        }
}

END {
    if (table == "cluster") cluster_table()
    else host_table()
}
