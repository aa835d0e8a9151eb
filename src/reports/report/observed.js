// The page of an observed program. Every number comes from the data as it is.

const of_row = r => `${r.collective}${r.root === null ? '' : `, root ${r.root}`}, ${bytes_text(r.bytes)}, ${r.where}`;
const state = {
    row: data.rows.find(r => r.map) || data.rows[0],
    which: 0
};
// As wide as there is room, or a sheet of paper; drawn again when that changes.
let printing = false;
const room = id => printing ? 680 : Math.max(280, Math.min(1180, at(id).clientWidth));

function diagnosis() {
    at('headline').textContent = data.headline;
    const named = data.diagnosis.map((d, i) => ({...d, ...data.words[i]})).filter(d => d.cause !== 'none');
    const gain = d => data.duration > 0 ? `${percent(d.gain_if_mended_s * 1e9 / data.duration)} of the run` :
                                          time_text(d.gain_if_mended_s * 1e9);
    const finding = d => html('li', {'data-cause': d.cause},
        html('h3', {}, `${d.place} `,
            html('span', {class: 'cause'}, `${d.again ? 'again ' : ''}${data.causes[d.cause]}`),
            html('span', {class: 'gain'}, ` mending it would save ${gain(d)}`)),
        ...(d.again ? d.sentences.slice(-1) : d.sentences).map(s => html('p', {}, s)),
        d.again ? null : html('p', {}, `${d.next}${d.command ? ':' : '.'}`),
        d.command && !d.again ? html('pre', {tabindex: 0}, d.command) : null);
    const first = 3;
    at('findings').replaceChildren(...named.slice(0, first).map(finding));
    at('more_findings').hidden = named.length <= first;
    at('more_count').textContent = `${named.length - first} more`;
    at('more_list').replaceChildren(...named.slice(first, 100).map(finding));
    at('more_list').start = first + 1;
    const of_run = w => data.duration > 0 && w.gain_s !== null ? w.gain_s * 1e9 / data.duration : null;
    table_section('worth', [
        column('The run', w => w.change),
        {title: 'Would save', wrap: true, value: w => w.gain_s,
            cell: w => w.gain_s === null ? `not known: ${w.unknown}` : time_text(w.gain_s * 1e9)},
        share_column('Of the run', of_run),
        share_column('Error', w => w.error),
    ], data.worth);
}

const operation_column = column('Operation', r => r.collective);
const where_column = column(
    'Where', r => r.where, (where, r) => html('span', {title: r.file ? `${r.file}:${r.line}` : r.module}, shorten(where, 40)));
const who_column = (title, get) => number_column(title, r => get(r) ? get(r).rank : null, (rank, r) => {
    const {host, share} = get(r);
    return two_lines(rank, percent(share), host ? `on ${host}` : null);
});
const foreseeable = r => r.predictable && r.imbalance > 0 ? r.predictable.share : null;

function rows() {
    const made = table([
        {...operation_column, cell: r => two_lines(r.collective, r.form === 'blocking' ? null : r.form)},
        size_column(r => r.bytes),
        number_column('Root', r => r.root),
        data.communicators.length > 1 &&
            column('Communicator', r => r.communicator, i => shorten(data.communicators[i].text, 18)),
        where_column,
        number_column('Calls', r => r.calls),
        time_column('Time', r => r.time, 'in the call, sum over the ranks'),
        time_column('Median', r => r.median, 'of a rank in one call'),
        share_column('Waiting', r => r.waiting),
        number_column('Imbalance', r => r.imbalance_factor,
            (factor, r) => two_lines(`${digits(factor)}\u00d7`, time_text(r.imbalance))),
        who_column('First', r => r.first),
        who_column('Last', r => r.last),
        number_column('Foreseeable', foreseeable, (share, {predictable}) => two_lines(
            percent(share), `last ${percent(predictable.last_right)}`, `by ${predictable.predictor}`)),
    ], data.rows, {choose: choose_row, chosen: r => r === state.row});
    at('rows').replaceChildren(made);
    return made;
}

const span_text = (name, first, count) => count > 1 ? `${name}s ${first} to ${first + count - 1}` : `${name} ${first}`;

function arrivals() {
    const r = state.row;
    const pictured = r && r.map;
    at('arrivals_note').textContent = !r ? 'No collective was seen.' :
        pictured ? `How long after the first rank each came at ${of_row(r)}: all ${r.invocations} invocations that all ranks kept, of ${
                    r.calls}. The axis counts all calls of the communicator.${
                    r.map.ranks > 1 || r.map.counts.some(c => c > 1) ?
                        ' A cell is the mean, over its invocations, of the latest of its ranks.' :
                        ''}` :
                `Arrivals at ${of_row(r)} are not shown: ${r.invocations ? 'other rows take more time' : 'no invocation was kept by all ranks'}.`;
    at('arrivals').replaceChildren();
    at('waited_section').hidden = !pictured;
    at('call_section').hidden = !pictured;
    if (!pictured) return;
    const {columns, numbers, first, ranks, counts} = r.map;
    const tip = (k, i, late) => `${span_text('rank', first[i], ranks)}, invocation ${numbers[k]}${
        counts[k] > 1 ? ` and ${counts[k] - 1} later ones` : ''}\n${
        late === 0 ? 'came first' : `${time_text(late)} after the first`}`;
    at('arrivals').replaceChildren(
        heat_map({rows: columns, numbers, names: first, width: room('arrivals'), text: time_text, tip}));
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
    at('call').replaceChildren(timeline({...call, width: room('call'), text: short_time}));
}

function communicators() {
    const with_time = data.communicators.map((c, i) => {
        const rows = data.rows.filter(r => r.communicator === i);
        return {...c, time: rows.reduce((sum, r) => sum + r.time, 0), calls: rows.reduce((sum, r) => sum + r.calls, 0)};
    });
    table_section('communicators', [
        column('Members', c => c.text, v => v, {wrap: true}),
        number_column('Ranks', c => c.members),
        number_column('Communicators', c => c.count),
        number_column('Calls', c => c.calls),
        time_column('Time', c => c.time, 'in their calls, sum over the ranks'),
    ], with_time.sort((a, b) => b.time - a.time).slice(0, 200));
}

function overlaps() {
    table_section('overlap', [
        operation_column,
        size_column(r => r.bytes),
        where_column,
        number_column('Calls', r => r.calls),
        time_column('Start', r => r.overlap.start),
        time_column('Apart', r => r.overlap.apart),
        time_column('Waited', r => r.overlap.waited),
        time_column('Could be hidden', r => r.overlap.could_be_hidden),
        time_column('Alone', r => r.overlap.alone),
        share_column('Hidden', r => r.overlap.hidden),
    ], data.rows.filter(r => r.overlap));
}

function instead() {
    const r = state.row;
    const simulated = r && r.instead && r.instead.length;
    at('instead_section').hidden = !simulated;
    if (!simulated) return;
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
    at('instead').replaceChildren(table([
        column('Algorithm', w => w.name, (name, w) => two_lines(name, w.extrapolated ? 'from fewer ranks' : null)),
        time_column('Run time', w => w.run_time, 'from the first arrival to the last exit'),
        time_column('Tail', w => w.tail, 'from the last arrival to the last exit'),
        number_column('/ measured', w => w.run_time / r.sampled.run_time,
            ratio => r.sampled.run_time > 0 ? ratio.toFixed(3) : '\u2013'),
    ], [measured, ...r.instead], {row_class: w => w.measured ? 'chosen' : null}));
}

function from_profile() {
    table_section('profile', [
        operation_column,
        size_column(e => e.bytes),
        number_column('Root', e => e.root),
        number_column('Ranks', e => e.ranks),
        column('Plan', e => e.algorithm || 'native'),
        time_column('Native', e => e.native_tail_ns, 'its tail'),
        time_column('Plan', e => e.algorithm ? e.plan_tail_ns : null, 'its tail'),
        number_column('Late', e => e.late && e.late.rank, (rank, e) => two_lines(rank, time_text(e.late.by)),
            'the rank that was expected last, and how long after the first'),
    ], data.from_profile);
}

function decisions() {
    const text = v => !known(v) ? '' : typeof v === 'object' ? JSON.stringify(v) : `${v}`;
    const text_column = (title, get, more) => ({title, value: get, cell: d => text(get(d)), ...more});
    table_section('decisions', [
        text_column('Operation', d => d.operation),
        {...size_column(d => d.bytes), cell: d => typeof d.bytes === 'number' ? bytes_text(d.bytes) : text(d.bytes)},
        text_column('Root', d => d.root, {number: true}),
        text_column('Call', d => d.call, {number: true, tip: 'of the operation'}),
        text_column('Algorithm', d => d.algorithm),
        column('Decision', d => d.decision,
            made => html('span', {class: {kept: 'win', withdrawn: 'lose'}[made] || null}, text(made))),
        time_column('Predicted', d => d.predicted_tail_ns, 'its tail, simulated'),
        time_column('Measured', d => d.measured_tail_ns, 'its tail'),
        {title: 'Incumbent', value: d => d.incumbent_tail_ns, tip: 'what was in use, and its tail',
            cell: d => two_lines(
                text(d.incumbent), typeof d.incumbent_tail_ns === 'number' ? time_text(d.incumbent_tail_ns) : null)},
        time_column('Late by', d => d.pattern && d.pattern.imbalance_ns, 'predicted, first to last arrival'),
        text_column('Reason', d => d.reason, {wrap: true}),
    ], data.decisions);
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
