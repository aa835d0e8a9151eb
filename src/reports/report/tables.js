// Which numbers of the data stand in which table.

const estimate_cell = e => two_lines(time_text(e.value), interval_text(e));
function verdict(r) {
    if (!r) return '';
    const kind = {faster: 'win', slower: 'lose'}[r.verdict] || null;
    return two_lines(html('span', {class: kind}, r.verdict), p_text(r.p));
}
const estimate_column = (title, get) =>
    column(title, r => get(r) ? get(r).value : null, (_, r) => estimate_cell(get(r)));
const bound_column = get => number_column('To bound', get, factor_text);
/// The ratio to a reference, and what it means.
const ratio_columns = (title, says, ratio, tip) => [
    column(title, r => ratio(r) ? ratio(r).value : null, (_, r) => {
        const {value, low, high} = ratio(r);
        return two_lines(value.toFixed(3), `[${low.toFixed(3)}, ${high.toFixed(3)}]`);
    }, {tip}),
    {title: says, value: r => ratio(r) ? ratio(r).p : null, cell: r => verdict(ratio(r))},
];
const of_ours = (c, get) => c.best_rubato ? get(entry_of(c, c.best_rubato)) : null;

function winners() {
    const several = data.cases.some(c => c.ranks !== data.cases[0].ranks);
    const long_names = setups.length > unique(data.cases.map(x => x.collective)).length;
    at('winners').replaceChildren(table([
        setups.length > 1 &&
            column('Collective', group_of, (group, c) => html('span', {title: group}, long_names ? group : c.collective)),
        several && number_column('Ranks', c => c.ranks),
        size_column(c => c.bytes),
        column('Arrivals', c => c.family + String(c.delay || 0).padStart(16, '0'),
            (_, c) => html('span', {title: c.pattern}, shorten(c.pattern, 34))),
        column('Best Rubato', c => c.best_rubato,
            (name, c) => two_lines(short_name(c, name), of_ours(c, e => e.remarks.join(', ')))),
        estimate_column('Run time', c => of_ours(c, e => e.run_time)),
        time_column('Tail', c => of_ours(c, e => e.tail), 'from the last arrival to the last exit'),
        bound_column(c => of_ours(c, e => e.to_bound)),
        column('Best native', c => c.best_native,
            (name, c) => two_lines(name.replace(/^native:/, ''), time_text(entry_of(c, name).run_time.value))),
        time_column(
            'Default', c => c.native ? entry_of(c, c.native).run_time.value : null, 'the MPI library\'s own choice'),
        ...ratio_columns('Rubato / native', 'Rubato is', c => of_ours(c, e => e.to_reference['best native']),
            'best Rubato to best native'),
    ], data.cases.filter(c => c.contestants.length), {
        choose: c => {
            choose_case(c);
            at('choice').scrollIntoView({behavior: 'smooth'});
        },
        chosen: c => c === state.case
    }));
}

function all_contestants() {
    const c = state.case;
    const some = get => c.contestants.some(get);
    at('case').textContent = `All contestants: ${group_of(c)}, ${bytes_text(c.bytes)}, ${c.pattern}, ${c.ranks} ranks`;
    const remarks = e => e.remarks || [];
    at('all').replaceChildren(table([
        column('Contestant', e => e.name, name => short_name(c, name)),
        estimate_column('Run time', e => e.run_time),
        time_column('Tail', e => e.tail, 'from the last arrival to the last exit'),
        time_column('Elapsed', e => e.elapsed, 'from arrival to exit, mean over the ranks'),
        some(e => known(e.root_exit)) && time_column('Root\'s exit', e => e.root_exit, 'after the first arrival'),
        bound_column(e => e.to_bound),
        time_column('First call', e => e.first_call, 'the warm-up: connections are opened, plans made'),
        number_column('Samples', e => e.samples),
        number_column('Late', e => e.late, v => v, 'samples that do not count: a rank missed its planned arrival'),
        some(e => e.prediction_error) && time_column(
            'Prediction off by', e => e.prediction_error, 'mean distance of predicted arrivals from true ones'),
        some(e => e.early_ranks) && number_column('Begun early', e => e.early_ranks, n => `${n.toFixed(1)} ranks`),
        ...ratio_columns(`/ ${state.reference}`, 'Is', e => e.to_reference && e.to_reference[state.reference]),
        column('Remarks', e => remarks(e).join(', '),
            (_, e) => [e.screened_only && 'screened only', !e.run_time && 'no valid sample', ...remarks(e)]
                          .filter(Boolean).join(', '), {wrap: true}),
    ], c.contestants, {row_class: e => e.screened_only || !e.run_time ? 'screened' : null}));
}

function overlaps() {
    table_section('overlap', [
        column('Collective', o => group_of(o.c), (_, o) => o.c.collective),
        number_column('Ranks', o => o.c.ranks),
        size_column(o => o.c.bytes),
        column('Contestant', o => o.name, (name, o) => short_name(o.c, name)),
        column('Method', o => o.method),
        number_column('Tests', o => o.tests),
        time_column('Total', o => o.total),
        time_column('Computation', o => o.computation),
        time_column('Visible', o => o.visible, 'total less computation'),
        share_column('Hidden', o => o.hidden),
        time_column('In calls', o => o.in_calls, 'begin, test and end'),
        share_column('Freed', o => o.freed),
        number_column('CPU overhead', o => o.overhead,
            (ns, o) => o.computation > 0 ? `${time_text(ns)} (${percent(ns / o.computation)})` : '\u2013'),
        share_column('Busy', o => o.busy),
        number_column('Samples', o => o.samples),
    ], data.cases.flatMap(c => c.overlaps.map(o => ({...o, c}))));
}

/// Contestants that were simulated, each with its case, and the columns that say which it is.
const simulated = data.cases.flatMap(c => c.contestants.filter(e => e.model).map(e => ({c, e})));
const simulated_columns = [
    number_column('Ranks', r => r.c.ranks),
    size_column(r => r.c.bytes),
    column('Arrivals', r => r.c.pattern, pattern => shorten(pattern, 44)),
    column('Algorithm', r => r.e.name),
];

function model() {
    const m = data.model;
    if (m)
        at('model_note').textContent =
            `Every schedule simulated under ${m.name} with the arrivals that were measured. Median error ${
                percent(m.median_error)}, worst ${percent(m.worst_error)}, of ${m.rows} predictions.`;
    table_section('model', [
        ...simulated_columns,
        time_column('Predicted', r => r.e.model.predicted),
        time_column('Measured', r => r.e.run_time.value),
        number_column('Error', r => r.e.model.error, error => `${error > 0 ? '+' : ''}${percent(error)}`),
    ], simulated);
}

function costs() {
    const energy_text = j => j >= 1 ? `${j.toPrecision(4)} J` : j >= 1e-3 ? `${(j * 1e3).toPrecision(4)} mJ`
                                                                          : `${(j * 1e6).toPrecision(4)} \u00b5J`;
    table_section('costs', [
        ...simulated_columns,
        time_column('Measured', r => r.e.run_time.value),
        number_column('Energy', r => r.e.model.energy_j, energy_text),
        number_column('Memory', r => r.e.model.memory_bytes, bytes_text),
        column('Front', r => r.e.model.pareto ? 0 : 1, (_, r) => r.e.model.pareto ? 'yes' : '\u2013'),
    ], simulated, {row_class: r => r.e.model.pareto ? null : 'screened'});
}

function conditions() {
    const settings = o => Object.entries(o).map(([k, v]) => `${k}=${v}`).join(', ');
    at('conditions').replaceChildren(...data.runs.map(r => {
        const hosts = unique(r.hosts);
        const late = r.tolerance ? `; samples late by more than ${time_text(r.tolerance)} do not count` : '';
        const rows = {
            Command: r.command && html('code', {}, r.command),
            Started: r.started,
            File: r.file,
            Rubato: r.rubato,
            Compiler: r.compiler,
            MPI: r.mpi,
            'MPI settings': settings(r.mpi_settings),
            System: r.system,
            Processor: [r.cpu, r.cores && `${r.cores} cores`].filter(Boolean).join(', '),
            Ranks: r.ranks,
            Hosts: `${hosts.length}: ${shorten(hosts.join(', '), 200)}`,
            Link: r.link_ns_per_byte &&
                `${time_text(r.link_latency)} latency, ${(1000 / r.link_ns_per_byte).toFixed(1)} MB/s`,
            Start: r.start && `by ${r.start}${late}`,
            'Clocks agree to': r.clock_error && time_text(r.clock_error),
            'Delays by': r.delay,
            Prediction: r.prediction,
            Model: r.model,
            Seed: r.seed,
        };
        return html(
            'dl', {},
            ...Object.entries(rows).filter(([, v]) => v).flatMap(([k, v]) => [html('dt', {}, k), html('dd', {}, v)]));
    }));
}
