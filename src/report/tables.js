// Which numbers of the data stand in which table.

const ratio_cell = r =>
    html('span', {}, r.value.toFixed(3), html('i', {class: 'below'}, `[${r.low.toFixed(3)}, ${r.high.toFixed(3)}]`));
function estimate_cell(e) {
    return html('span', {}, time_text(e.value), html('i', {class: 'below'}, interval_text(e)));
}
function verdict(r) {
    if (!r) return '';
    const kind = {faster: 'win', slower: 'lose'}[r.verdict] || null;
    return html('span', {}, html('span', {class: kind}, r.verdict), html('i', {class: 'below'}, p_text(r.p)));
}
function winners() {
    const ours = c => c.best_rubato && entry_of(c, c.best_rubato);
    const theirs = c => c.best_native && entry_of(c, c.best_native);
    const ratio = c => ours(c) && ours(c).to_reference['best native'];
    const several = data.cases.some(c => c.ranks !== data.cases[0].ranks);
    const columns = [
        setups.length > 1 && {
            title: 'Collective',
            value: c => group_of(c),
            cell: c => html(
                'span', {title: group_of(c)},
                setups.length > unique(data.cases.map(x => x.collective)).length ? group_of(c) : c.collective)
        },
        several && {title: 'Ranks', number: true, value: c => c.ranks, cell: c => c.ranks},
        {title: 'Size', number: true, value: c => c.bytes, cell: c => bytes_text(c.bytes)},
        {
            title: 'Arrivals',
            value: c => c.family + String(c.delay || 0).padStart(16, '0'),
            cell: c => html('span', {title: c.pattern}, shorten(c.pattern, 34))
        },
        {
            title: 'Best Rubato',
            value: c => c.best_rubato,
            cell: c => ours(c) ?
                html(
                    'span', {}, short_name(c, c.best_rubato), html('i', {class: 'below'}, ours(c).remarks.join(', '))) :
                '\u2013'
        },
        {
            title: 'Run time',
            value: c => ours(c) ? ours(c).run_time.value : null,
            cell: c => ours(c) ? estimate_cell(ours(c).run_time) : '\u2013'
        },
        time_column('Tail', c => ours(c) ? ours(c).tail : null, 'from the last arrival to the last exit'),
        {
            title: 'To bound',
            number: true,
            value: c => ours(c) ? ours(c).to_bound : null,
            cell: c => ours(c) && ours(c).to_bound ? `${ours(c).to_bound.toFixed(2)}\u00d7` : '\u2013'
        },
        {
            title: 'Best native',
            value: c => c.best_native,
            cell: c => c.best_native ? html(
                                           'span', {}, c.best_native.replace(/^native:/, ''),
                                           html('i', {class: 'below'}, time_text(theirs(c).run_time.value))) :
                                       '\u2013'
        },
        time_column(
            'Default', c => c.native ? entry_of(c, c.native).run_time.value : null, 'the MPI library\'s own choice'),
        {
            title: 'Rubato / native',
            value: c => ratio(c) ? ratio(c).value : null,
            cell: c => ratio(c) ? ratio_cell(ratio(c)) : '\u2013',
            tip: 'best Rubato to best native'
        },
        {title: 'Rubato is', value: c => ratio(c) ? ratio(c).p : null, cell: c => verdict(ratio(c))},
    ].filter(Boolean);
    at('winners').replaceChildren(table(columns, data.cases.filter(c => c.contestants.length), {
        choose: c => {
            choose_case(c);
            at('choice').scrollIntoView({behavior: 'smooth'});
        },
        chosen: c => c === state.case
    }));
}

function all_contestants() {
    const c = state.case;
    const ratio = e => e.to_reference && e.to_reference[state.reference];
    const predicted = c.contestants.some(e => e.prediction_error);
    const early = c.contestants.some(e => e.early_ranks);
    const rooted = c.contestants.some(e => e.root_exit !== null && e.root_exit !== undefined);
    at('case').textContent = `All contestants: ${group_of(c)}, ${bytes_text(c.bytes)}, ${c.pattern}, ${c.ranks} ranks`;
    const columns = [
        {title: 'Contestant', value: e => e.name, cell: e => short_name(c, e.name)},
        {
            title: 'Run time',
            value: e => e.run_time ? e.run_time.value : null,
            cell: e => e.run_time ? estimate_cell(e.run_time) : '\u2013'
        },
        time_column('Tail', e => e.tail, 'from the last arrival to the last exit'),
        time_column('Elapsed', e => e.elapsed, 'from arrival to exit, mean over the ranks'),
        rooted && time_column('Root\'s exit', e => e.root_exit, 'after the first arrival'),
        {
            title: 'To bound',
            number: true,
            value: e => e.to_bound,
            cell: e => e.to_bound ? `${e.to_bound.toFixed(2)}\u00d7` : '\u2013'
        },
        time_column('First call', e => e.first_call, 'the warm-up: connections are opened, plans made'),
        {title: 'Samples', number: true, value: e => e.samples, cell: e => e.samples},
        {
            title: 'Late',
            number: true,
            value: e => e.late,
            cell: e => e.late,
            tip: 'samples that do not count: a rank missed its planned arrival'
        },
        predicted &&
            time_column(
                'Prediction off by', e => e.prediction_error, 'mean distance of predicted arrivals from true ones'),
        early && {
            title: 'Begun early',
            number: true,
            value: e => e.early_ranks,
            cell: e => e.early_ranks ? `${e.early_ranks.toFixed(1)} ranks` : '\u2013'
        },
        {
            title: `/ ${state.reference}`,
            value: e => ratio(e) ? ratio(e).value : null,
            cell: e => ratio(e) ? ratio_cell(ratio(e)) : '\u2013'
        },
        {title: 'Is', value: e => ratio(e) ? ratio(e).p : null, cell: e => verdict(ratio(e))},
        {
            title: 'Remarks',
            wrap: true,
            value: e => (e.remarks || []).join(', '),
            cell: e => [e.screened_only && 'screened only', !e.run_time && 'no valid sample', ...(e.remarks || [])]
                           .filter(Boolean)
                           .join(', ')
        },
    ].filter(Boolean);
    at('all').replaceChildren(
        table(columns, c.contestants, {row_class: e => e.screened_only || !e.run_time ? 'screened' : null}));
}

function overlaps() {
    const rows = data.cases.flatMap(c => c.overlaps.map(o => ({...o, c})));
    at('overlap_section').hidden = !rows.length;
    if (!rows.length) return;
    at('overlap').replaceChildren(table(
        [
            {title: 'Collective', value: o => group_of(o.c), cell: o => o.c.collective},
            {title: 'Ranks', number: true, value: o => o.c.ranks, cell: o => o.c.ranks},
            {title: 'Size', number: true, value: o => o.c.bytes, cell: o => bytes_text(o.c.bytes)},
            {title: 'Contestant', value: o => o.name, cell: o => short_name(o.c, o.name)},
            {title: 'Method', value: o => o.method, cell: o => o.method},
            {title: 'Tests', number: true, value: o => o.tests, cell: o => o.tests},
            time_column('Total', o => o.total),
            time_column('Computation', o => o.computation),
            time_column('Visible', o => o.visible, 'total less computation'),
            share_column('Hidden', o => o.hidden),
            time_column('In calls', o => o.in_calls, 'begin, test and end'),
            share_column('Freed', o => o.freed),
            {
                title: 'CPU overhead',
                number: true,
                value: o => o.overhead,
                cell: o =>
                    o.computation > 0 ? `${time_text(o.overhead)} (${percent(o.overhead / o.computation)})` : '\u2013'
            },
            share_column('Busy', o => o.busy),
            {title: 'Samples', number: true, value: o => o.samples, cell: o => o.samples},
        ],
        rows));
}

function model() {
    at('model_section').hidden = !data.model;
    if (!data.model) return;
    const m = data.model;
    at('model_note').textContent =
        `Every schedule simulated under ${m.name} with the arrivals that were measured. Median error ${
            percent(m.median_error)}, worst ${percent(m.worst_error)}, of ${m.rows} predictions.`;
    at('model').replaceChildren(table(
        [
            {title: 'Ranks', number: true, value: r => r.c.ranks, cell: r => r.c.ranks},
            {title: 'Size', number: true, value: r => r.c.bytes, cell: r => bytes_text(r.c.bytes)},
            {title: 'Arrivals', value: r => r.c.pattern, cell: r => shorten(r.c.pattern, 44)},
            {title: 'Algorithm', value: r => r.e.name, cell: r => r.e.name},
            time_column('Predicted', r => r.e.model.predicted),
            time_column('Measured', r => r.e.run_time.value),
            {
                title: 'Error',
                number: true,
                value: r => r.e.model.error,
                cell: r => `${r.e.model.error > 0 ? '+' : ''}${percent(r.e.model.error)}`
            },
        ],
        data.cases.flatMap(c => c.contestants.filter(e => e.model).map(e => ({c, e})))));
}

function costs() {
    at('costs_section').hidden = !data.model;
    if (!data.model) return;
    const energy_text = j => j >= 1 ? `${j.toPrecision(4)} J` : j >= 1e-3 ? `${(j * 1e3).toPrecision(4)} mJ`
                                                                          : `${(j * 1e6).toPrecision(4)} \u00b5J`;
    at('costs').replaceChildren(table(
        [
            {title: 'Ranks', number: true, value: r => r.c.ranks, cell: r => r.c.ranks},
            {title: 'Size', number: true, value: r => r.c.bytes, cell: r => bytes_text(r.c.bytes)},
            {title: 'Arrivals', value: r => r.c.pattern, cell: r => shorten(r.c.pattern, 44)},
            {title: 'Algorithm', value: r => r.e.name, cell: r => r.e.name},
            time_column('Measured', r => r.e.run_time.value),
            {
                title: 'Energy',
                number: true,
                value: r => r.e.model.energy_j,
                cell: r => energy_text(r.e.model.energy_j)
            },
            {
                title: 'Memory',
                number: true,
                value: r => r.e.model.memory_bytes,
                cell: r => bytes_text(r.e.model.memory_bytes)
            },
            {title: 'Front', value: r => r.e.model.pareto ? 0 : 1, cell: r => r.e.model.pareto ? 'yes' : '\u2013'},
        ],
        data.cases.flatMap(c => c.contestants.filter(e => e.model).map(e => ({c, e}))),
        {row_class: r => r.e.model.pareto ? null : 'screened'}));
}

function conditions() {
    const settings = o => Object.entries(o).map(([k, v]) => `${k}=${v}`).join(', ');
    at('conditions').replaceChildren(...data.runs.map(r => {
        const hosts = unique(r.hosts);
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
            Link: r.link_ns_per_byte ?
                `${time_text(r.link_latency)} latency, ${(1000 / r.link_ns_per_byte).toFixed(1)} MB/s` :
                null,
            Start: r.start &&
                `by ${r.start}${
                       r.tolerance ? `; samples late by more than ${time_text(r.tolerance)} do not count` : ''}`,
            'Clocks agree to': r.clock_error ? time_text(r.clock_error) : null,
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
