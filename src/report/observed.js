// The page of an observed program. Every number comes from the data as it is.

const of_row = r => `${r.collective}${r.root === null ? '' : `, root ${r.root}`}, ${bytes_text(r.bytes)}, ${r.where}`;
const state = {
    row: data.rows.find(r => r.map) || data.rows[0],
    which: 0
};
// As wide as there is room, or a sheet of paper; drawn again when that changes.
let printing = false;
const room = id => printing ? 680 : Math.max(280, Math.min(1180, at(id).clientWidth));
const causes = {
    rank: 'late rank',
    host: 'late host',
    rotating: 'ranks late in turn',
    chance: 'late by chance',
    collective: 'slow collective',
    network: 'slow network'
};

function diagnosis() {
    at('headline').textContent = data.headline;
    const named = data.diagnosis.map((d, i) => ({...d, ...data.words[i]})).filter(d => d.cause !== 'none');
    const gain = d => data.duration > 0 ? `${percent(d.gain_if_mended_s * 1e9 / data.duration)} of the run` :
                                          time_text(d.gain_if_mended_s * 1e9);
    const finding = d => html(
        'li', {'data-cause': d.cause},
        html(
            'h3', {}, `${d.place} `, html('span', {class: 'cause'}, `${d.again ? 'again ' : ''}${causes[d.cause]}`),
            html('span', {class: 'gain'}, ` mending it would save ${gain(d)}`)),
        ...(d.again ? [html('p', {}, d.sentences[d.sentences.length - 1])] : [
            ...d.sentences.map(s => html('p', {}, s)), html('p', {}, `${d.next}${d.command ? ':' : '.'}`),
            d.command ? html('pre', {tabindex: 0}, d.command) : null
        ]));
    const first = 3;
    at('findings').replaceChildren(...named.slice(0, first).map(finding));
    at('more_findings').hidden = named.length <= first;
    at('more_count').textContent = `${named.length - first} more`;
    at('more_list').replaceChildren(...named.slice(first, 100).map(finding));
    at('more_list').start = first + 1;
    at('worth_section').hidden = !data.worth.length;
    const of_run = w => data.duration > 0 && w.gain_s !== null ? w.gain_s * 1e9 / data.duration : null;
    at('worth').replaceChildren(table(
        [
            {title: 'The run', value: w => w.change, cell: w => w.change},
            {
                title: 'Would save',
                wrap: true,
                value: w => w.gain_s,
                cell: w => w.gain_s === null ? `not known: ${w.unknown}` : time_text(w.gain_s * 1e9)
            },
            share_column('Of the run', of_run),
            share_column('Error', w => w.error),
        ],
        data.worth));
}

const foreseeable = r => r.predictable && r.imbalance > 0 ? r.predictable.share : null;

function who_column(title, get) {
    return {
        title,
        number: true,
        value: r => get(r) ? get(r).rank : null,
        cell: r => get(r) ? html(
                                'span', {title: get(r).host ? `on ${get(r).host}` : null}, get(r).rank,
                                html('i', {class: 'below'}, percent(get(r).share))) :
                            '\u2013'
    };
}

function rows() {
    const several = data.communicators.length > 1;
    const made =
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
                    cell: r => r.imbalance_factor !== undefined ? html(
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
            data.rows, {choose: choose_row, chosen: r => r === state.row});
    at('rows').replaceChildren(made);
    return made;
}

const span_text = (name, first, count) => count > 1 ? `${name}s ${first} to ${first + count - 1}` : `${name} ${first}`;

function arrivals() {
    const r = state.row;
    const known = r && r.map;
    at('arrivals_note').textContent = !r ? 'No collective was seen.' :
        known ? `How long after the first rank each came at ${of_row(r)}: all ${r.invocations} invocations that all ranks kept, of ${
                    r.calls}. The axis counts all calls of the communicator.${
                    r.map.ranks > 1 || r.map.counts.some(c => c > 1) ?
                        ' A cell is the mean, over its invocations, of the latest of its ranks.' :
                        ''}` :
                `Arrivals at ${of_row(r)} are not shown: ${r.invocations ? 'other rows take more time' : 'no invocation was kept by all ranks'}.`;
    at('arrivals')
        .replaceChildren(...(
            known ? [heat_map({
                rows: r.map.columns,
                numbers: r.map.numbers,
                names: r.map.first,
                width: room('arrivals'),
                text: time_text,
                tip: (k, i, late) => `${span_text('rank', r.map.first[i], r.map.ranks)}, invocation ${r.map.numbers[k]}${
                    r.map.counts[k] > 1 ? ` and ${r.map.counts[k] - 1} later ones` : ''}\n${
                    late === 0 ? 'came first' : `${time_text(late)} after the first`}`
            })] :
                    []));
    at('waited_section').hidden = !known;
    at('call_section').hidden = !known;
    if (!known) return;
    at('waited_note').textContent =
        `Of the calls, from the shortest wait to the longest: how long a rank waits for the last one, mean over the ranks.`;
    at('waited').replaceChildren(quantile_chart({values: r.waited, width: room('waited'), text: short_time}));
    at('which').replaceChildren(
        ...r.drawn.map((c, i) => html('option', {value: i, selected: i === state.which}, `${c.which}: ${c.number}`)));
    one_call();
}

function one_call() {
    const r = state.row;
    const call = r.drawn[Math.min(state.which, r.drawn.length - 1)];
    at('call_note').textContent = `Invocation ${
        call.number} of the communicator, ${call.which} run time, from each rank's arrival to its exit.${
        call.ranks > 1 ? ` A bar is of ${call.ranks} neighbouring ranks, from the first arrival to the last exit.` : ''}`;
    at('call').replaceChildren(
        timeline({...call, width: room('call'), text: short_time}));
}

function communicators() {
    const with_time = data.communicators.map((c, i) => {
        const rows = data.rows.filter(r => r.communicator === i);
        return {...c, time: rows.reduce((sum, r) => sum + r.time, 0), calls: rows.reduce((sum, r) => sum + r.calls, 0)};
    });
    at('communicators_section').hidden = !with_time.length;
    at('communicators').replaceChildren(table(
        [
            {title: 'Members', wrap: true, value: c => c.text, cell: c => c.text},
            {title: 'Ranks', number: true, value: c => c.members, cell: c => c.members},
            {title: 'Communicators', number: true, value: c => c.count, cell: c => c.count},
            {title: 'Calls', number: true, value: c => c.calls, cell: c => c.calls},
            time_column('Time', c => c.time, 'in their calls, sum over the ranks'),
        ],
        with_time.sort((a, b) => b.time - a.time).slice(0, 200)));
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
    const wrong = r.ran ? ` ${r.ran.known ? 'What ran' : 'Most similar to what ran'} is ${r.ran.name}: its simulated tail is ${
                              percent(Math.abs(r.ran.error))} ${r.ran.error < 0 ? 'shorter' : 'longer'} than the measured one.` :
                          '';
    const misfit = r.ran && Math.abs(r.ran.error) > 0.5 ?
        ' The simulation does not fit these calls: compare algorithms with each other, not with what was measured.' :
        '';
    at('instead_note')
        .replaceChildren(
            `${of_row(r)}: ${r.sampled.calls} sampled calls, simulated one by one with their own arrivals, beside what was measured; means.${
                wrong}`,
            html('b', {}, misfit),
            r.auto_may_replace ? ' Early forms are not among them.' :
                                 ' Mode auto leaves these calls to the library: only algorithms that it may have are shown.',
            ' Model of the network: ', html('code', {}, data.model));
    const measured = {name: 'as measured', run_time: r.sampled.run_time, tail: r.sampled.tail, measured: true};
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
                value: w => w.run_time / r.sampled.run_time,
                cell: w => r.sampled.run_time > 0 ? (w.run_time / r.sampled.run_time).toFixed(3) : '\u2013'
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

function draw() {
    arrivals();
    instead();
}
function choose_row(r) {
    state.row = r;
    state.which = 0;
    row_table.mark();
    draw();
}

at('summary').textContent = data.summary;
at('factor_note').textContent = `Imbalance: how far apart the first and the last rank came, as a multiple of ${
    data.imbalance_unit === 'message' ? 'the time of a message of that size' :
                                        'the tail, from the last arrival to the last exit'}.`;
at('which').addEventListener('change', () => {
    state.which = at('which').selectedIndex;
    one_call();
});
show_tips(at('tip'));
diagnosis();
const row_table = rows();
draw();
overlaps();
communicators();
from_profile();
decisions();
const print_all = whether => {
    printing = whether;
    if (whether) at('more_findings').open = true;
    draw();
};
addEventListener('beforeprint', () => print_all(true));
addEventListener('afterprint', () => print_all(false));
let drawn_at = innerWidth;
addEventListener('resize', () => {
    if (innerWidth === drawn_at) return;
    drawn_at = innerWidth;
    draw();
});
document.documentElement.dataset.ready = 'yes';
