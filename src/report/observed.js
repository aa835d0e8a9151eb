// The page of an observed program. Every number comes from the data as it is.

const of_row = r => `${r.collective}${r.root === null ? '' : `, root ${r.root}`}, ${bytes_text(r.bytes)}, ${r.where}`;
const state = {
    row: data.rows.find(r => r.examples) || data.rows[0]
};

const foreseeable = r => r.predictable && r.imbalance > 0 ? r.predictable.share : null;

function who_column(title, get) {
    return {
        title,
        number: true,
        value: r => get(r) ? get(r).rank : null,
        cell: r => get(r) ? html('span', {}, get(r).rank, html('i', {class: 'below'}, percent(get(r).share))) : '\u2013'
    };
}

function rows() {
    const several = data.communicators.length > 1;
    at('rows').replaceChildren(
        table(
            [
                {
                    title: 'Operation',
                    value: r => r.collective,
                    cell: r => html(
                        'span', {}, r.collective, html('i', {class: 'below'}, r.form === 'blocking' ? null : r.form))
                },
                {title: 'Size', number: true, value: r => r.bytes, cell: r => bytes_text(r.bytes)},
                {title: 'Root', number: true, value: r => r.root, cell: r => r.root === null ? '\u2013' : r.root},
                several && {
                    title: 'Communicator',
                    value: r => r.communicator,
                    cell: r => shorten(data.communicators[r.communicator].text, 18)
                },
                {
                    title: 'Where',
                    value: r => r.where,
                    cell: r => html('span', {title: r.file ? `${r.file}:${r.line}` : r.module}, shorten(r.where, 40))
                },
                {title: 'Calls', number: true, value: r => r.calls, cell: r => r.calls},
                time_column('Time', r => r.time, 'in the call, sum over the ranks'),
                time_column('Median', r => r.median, 'of a rank in one call'),
                share_column('Waiting', r => r.waiting === undefined ? null : r.waiting),
                {
                    title: 'Imbalance',
                    number: true,
                    value: r => r.imbalance_factor,
                    cell: r => r.examples ? html(
                                                'span', {}, `${digits(r.imbalance_factor)}\u00d7`,
                                                html('i', {class: 'below'}, time_text(r.imbalance))) :
                                            '\u2013'
                },
                who_column('First', r => r.first),
                who_column('Last', r => r.last),
                {
                    title: 'Foreseeable',
                    number: true,
                    value: foreseeable,
                    cell: r => foreseeable(r) === null ?
                        '\u2013' :
                        html(
                            'span', {title: `by ${r.predictable.predictor}`}, percent(foreseeable(r)),
                            html('i', {class: 'below'}, `last ${percent(r.predictable.last_right)}`))
                },
            ].filter(Boolean),
            data.rows, {choose: choose_row, chosen: r => r === state.row}));
}

function arrivals() {
    const r = state.row;
    const known = r && r.examples && r.examples.length;
    at('arrivals_note').textContent = !r ? 'No collective was seen.' :
        known ? `How long after the first rank each came at ${of_row(r)}: ${r.examples.length} of ${
                    r.invocations} invocations that all ranks kept, of ${r.calls}.` :
                `No invocation of ${of_row(r)} was kept by all ranks.`;
    at('arrivals')
        .replaceChildren(...(
            known ?
                [heat_map(
                    {rows: r.examples.map(e => e.arrivals), numbers: r.examples.map(e => e.number), text: time_text})] :
                []));
    at('call_section').hidden = !known;
    if (!known) return;
    const run_time = e => most(e.exits);
    const typical = [...r.examples].sort((a, b) => run_time(a) - run_time(b))[Math.floor((r.examples.length - 1) / 2)];
    at('call_note').textContent =
        `Invocation ${typical.number} of the communicator, from each rank's arrival to its exit.`;
    at('call').replaceChildren(timeline({...typical, text: short_time}));
}

function overlaps() {
    const rows = data.rows.filter(r => r.overlap);
    at('overlap_section').hidden = !rows.length;
    if (!rows.length) return;
    at('overlap').replaceChildren(table(
        [
            {title: 'Operation', value: r => r.collective, cell: r => r.collective},
            {title: 'Size', number: true, value: r => r.bytes, cell: r => bytes_text(r.bytes)},
            {
                title: 'Where',
                value: r => r.where,
                cell: r => html('span', {title: r.file ? `${r.file}:${r.line}` : r.module}, shorten(r.where, 40))
            },
            {title: 'Calls', number: true, value: r => r.calls, cell: r => r.calls},
            time_column('Start', r => r.overlap.start),
            time_column('Apart', r => r.overlap.apart),
            time_column('Waited', r => r.overlap.waited),
            time_column('Could be hidden', r => r.overlap.could_be_hidden),
            time_column('Alone', r => r.overlap.alone),
            share_column('Hidden', r => r.overlap.hidden),
        ],
        rows));
}

function instead() {
    const r = state.row;
    const known = r && r.instead && r.instead.length;
    at('instead_section').hidden = !known;
    if (!known) return;
    at('instead_note').textContent = `${of_row(r)}: simulated under ${
        data.model} with each rank's median arrival, beside what was measured. Early forms are not among them.`;
    const measured = {name: 'as measured', run_time: r.run_time, tail: r.tail, measured: true};
    at('instead').replaceChildren(table(
        [
            {
                title: 'Algorithm',
                value: w => w.name,
                cell: w =>
                    html('span', {}, w.name, html('i', {class: 'below'}, w.extrapolated ? 'from fewer ranks' : null))
            },
            time_column('Run time', w => w.run_time, 'from the first arrival to the last exit'),
            time_column('Tail', w => w.tail, 'from the last arrival to the last exit'),
            {
                title: '/ measured',
                number: true,
                value: w => w.run_time / r.run_time,
                cell: w => r.run_time > 0 ? (w.run_time / r.run_time).toFixed(3) : '\u2013'
            },
        ],
        [measured, ...r.instead], {row_class: w => w.measured ? 'chosen' : null}));
}

function from_profile() {
    at('profile_section').hidden = !data.from_profile.length;
    if (!data.from_profile.length) return;
    at('profile').replaceChildren(table(
        [
            {title: 'Operation', value: e => e.collective, cell: e => e.collective},
            {title: 'Size', number: true, value: e => e.bytes, cell: e => bytes_text(e.bytes)},
            {title: 'Root', number: true, value: e => e.root, cell: e => e.root === null ? '\u2013' : e.root},
            {title: 'Ranks', number: true, value: e => e.ranks, cell: e => e.ranks},
            {title: 'Plan', value: e => e.algorithm || 'native', cell: e => e.algorithm || 'native'},
            time_column('Native', e => e.native_tail_ns, 'its tail'),
            time_column('Plan', e => e.algorithm ? e.plan_tail_ns : null, 'its tail'),
            {
                title: 'Late',
                number: true,
                value: e => e.late && e.late.rank,
                cell: e => e.late ? html('span', {}, e.late.rank, html('i', {class: 'below'}, time_text(e.late.by))) :
                                    '\u2013',
                tip: 'the rank that was expected last, and how long after the first'
            },
        ],
        data.from_profile));
}

function decisions() {
    at('decisions_section').hidden = !data.decisions.length;
    if (!data.decisions.length) return;
    const text = v => v === null || v === undefined ? '' : typeof v === 'object' ? JSON.stringify(v) : `${v}`;
    at('decisions')
        .replaceChildren(table(
            [
                {title: 'Operation', value: d => d.operation, cell: d => text(d.operation)},
                {
                    title: 'Size',
                    number: true,
                    value: d => d.bytes,
                    cell: d => typeof d.bytes === 'number' ? bytes_text(d.bytes) : text(d.bytes)
                },
                {title: 'Root', number: true, value: d => d.root, cell: d => text(d.root)},
                {title: 'Call', number: true, value: d => d.call, cell: d => text(d.call), tip: 'of the operation'},
                {title: 'Algorithm', value: d => d.algorithm, cell: d => text(d.algorithm)},
                {
                    title: 'Decision',
                    value: d => d.decision,
                    cell: d =>
                        html('span', {class: {kept: 'win', withdrawn: 'lose'}[d.decision] || null}, text(d.decision))
                },
                time_column('Predicted', d => d.predicted_tail_ns, 'its tail, simulated'),
                time_column('Measured', d => d.measured_tail_ns, 'its tail'),
                {
                    title: 'Incumbent',
                    value: d => d.incumbent_tail_ns,
                    cell: d => html(
                        'span', {}, text(d.incumbent),
                        html(
                            'i', {class: 'below'},
                            typeof d.incumbent_tail_ns === 'number' ? time_text(d.incumbent_tail_ns) : null)),
                    tip: 'what was in use, and its tail'
                },
                time_column('Late by', d => d.pattern && d.pattern.imbalance_ns, 'predicted, first to last arrival'),
                {title: 'Reason', wrap: true, value: d => d.reason, cell: d => text(d.reason)},
            ],
            data.decisions));
}

function choose_row(r) {
    state.row = r;
    rows();
    arrivals();
    instead();
}

at('summary').textContent = data.summary;
at('factor_note').textContent = `Imbalance: how far apart the first and the last rank came, as a multiple of ${
    data.imbalance_unit === 'message' ? 'the time of a message of that size' :
                                        'the tail, from the last arrival to the last exit'}.`;
show_tips(at('tip'));
choose_row(state.row);
overlaps();
from_profile();
decisions();
document.documentElement.dataset.ready = 'yes';
