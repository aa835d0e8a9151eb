// The page: what is chosen of the data, how contestants look, and which pictures show it. Every number comes from the
// data as it is.

const group_of = c => [c.collective, c.datatype, c.op, c.root !== null && `root ${c.root}`, c.conditions].filter(Boolean).join(', ');
const setups = unique(data.cases.map(group_of));
const state = {
    case: data.cases.find(c => c.best_rubato && c.delay) || data.cases[0],
    measure: 'absolute',
    reference: data.references[0],
    shown: null
};

/// Wins first: how often a contestant is among the fastest. The order gives colours, and who is shown at first.
const names = (() => {
    const points = new Map();
    for (const c of data.cases)
        c.contestants.forEach(
            (e, i) =>
                points.set(e.name, (points.get(e.name) || 0) + (e.run_time && !e.screened_only ? 1 / (i + 1) : 0)));
    return [...points.keys()].sort((a, b) => points.get(b) - points.get(a));
})();
/// The first look that nobody has with whom a contestant shares a case.
const looks = new Map();
for (const name of names) {
    const others = data.cases.map(c => c.contestants.map(e => e.name)).filter(all => all.includes(name)).flat();
    const taken = new Set(others.map(n => looks.get(n)));
    let look = 0;
    while (taken.has(look)) ++look;
    if (name !== 'native') looks.set(name, look);
}
const colours = new Map([...looks].map(([n, look]) => [n, `var(--c${1 + look % 7})`]));
colours.set('native', 'var(--c0)');
/// Where there are more contestants than colours, another mark tells them apart.
const mark_of = new Map([...looks].map(([n, look]) => [n, Object.keys(marks)[Math.floor(look / 7) % 4]]));
mark_of.set('native', 'circle');
const natives = new Set(data.cases.flatMap(c => c.contestants.filter(e => e.native).map(e => e.name)));

/// The best 8 of a case, and the library's best and default beside them.
function best_of(c) {
    const order = c.contestants.filter(e => e.run_time).map(e => e.name);
    return new Set([...order.slice(0, 8), ...order.filter(n => n === c.best_native || n === 'native')]);
}
const short_name = (c, name) => name.startsWith(`${c.collective}/`) ? name.slice(c.collective.length + 1) : name;
const entry_of = (c, name) => c.contestants.find(e => e.name === name);
const p_text = p => p < 0.001 ? 'p < 0.001' : `p = ${p.toFixed(3)}`;
const ratio_text = r => `${r.value.toFixed(3)} [${r.low.toFixed(3)}, ${r.high.toFixed(3)}]`;

function choose_case(c) {
    state.case = c;
    state.shown = null;
    draw();
}

/// What changes a choice and shows what follows.
const set = (key, then = draw) => value => {
    state[key] = value;
    then();
};

/// The case nearest to the chosen one in which `change` holds.
function nearest(change) {
    const c = state.case;
    const score = o => (group_of(o) === group_of(c)) * 8 + (o.ranks === c.ranks) * 4 + (o.bytes === c.bytes) * 2 +
        (o.pattern === c.pattern);
    return data.cases.filter(o => o.contestants.length && change(o)).reduce((a, b) => score(b) > score(a) ? b : a);
}

function select(label, options, chosen, change) {
    const shown = options.map(o => html('option', {selected: o.value === chosen}, o.text));
    const onchange = e => change(options[e.target.selectedIndex].value);
    return html('label', {}, label, html('select', {'data-select': label, onchange}, ...shown));
}

/// What the charts can show. Axes are of times unless they say something else.
const measures = {
    absolute: {choice: 'run time', title: 'Run time'},
    tail: {choice: 'tail', title: 'Tail'},
    elapsed: {choice: 'elapsed, mean over ranks', title: 'Elapsed time', label: 'elapsed'},
    relative: {
        choice: 'relative to a reference',
        title: 'Relative run time',
        axis: () => ({label: `relative to ${state.reference}`, text: v => `${+ v.toPrecision(4)}\u00d7`, at: 1})
    },
    absorption: {
        choice: 'normalised absorption',
        title: 'Normalised absorption',
        axis: () => ({label: 'normalised absorption', text: v => `${+ (100 * v).toPrecision(4)} %`, at: 0})
    },
};

function controls() {
    const c = state.case;
    const list = data.cases.filter(o => o.contestants.length);
    const of_setup = list.filter(o => group_of(o) === group_of(c));
    const of_ranks = of_setup.filter(o => o.ranks === c.ranks);
    const of_size = of_ranks.filter(o => o.bytes === c.bytes);
    const options = (values, text) => values.map(value => ({value, text: text(value)}));
    at('choice').replaceChildren(...[
        select('collective', options(setups, v => v), group_of(c), v => choose_case(nearest(o => group_of(o) === v))),
        select('ranks', options(unique(of_setup.map(o => o.ranks)), v => v), c.ranks,
            v => choose_case(nearest(o => group_of(o) === group_of(c) && o.ranks === v))),
        select('size', options(unique(of_ranks.map(o => o.bytes)), bytes_text), c.bytes,
            v => choose_case(nearest(o => of_ranks.includes(o) && o.bytes === v))),
        select('arrivals', options(of_size.map(o => o.pattern), v => shorten(v, 44)), c.pattern,
            v => choose_case(of_size.find(o => o.pattern === v))),
        select('show', Object.entries(measures).map(([value, m]) => ({value, text: m.choice})), state.measure,
            set('measure')),
        state.measure !== 'absorption' &&
            select('reference', options(data.references, v => v === 'native' ? 'native (the library\'s default)' : v),
                state.reference, set('reference')),
    ].filter(Boolean));
}

function contestants() {
    const c = state.case;
    const change = set('shown');
    at('best').onclick = () => change(best_of(c));
    at('every').onclick = () => change(new Set(c.contestants.map(e => e.name)));
    at('none').onclick = () => change(new Set());
    at('contestants').replaceChildren(...c.contestants.map(e => {
        const box = html('input', {
            type: 'checkbox',
            onchange: () => change(
                new Set(box.checked ? [...state.shown, e.name] : [...state.shown].filter(name => name !== e.name)))
        });
        box.checked = state.shown.has(e.name);
        const colour = colours.get(e.name);
        const line = {x1: 0, x2: 22, y1: 5, y2: 5, stroke: colour, 'stroke-width': 2, 'stroke-dasharray': e.native && '5 3'};
        const mark = draw_mark(mark_of.get(e.name), 11, 5, colour, false, 2.6);
        const look = svg('svg', {width: 22, height: 10}, svg('line', line), mark);
        return html('label', {class: state.shown.has(e.name) ? null : 'off', title: e.name}, box, look,
            html('span', {}, short_name(c, e.name)));
    }));
}

/// What the chosen measure says of a contestant in a case, as a point; nothing if it says nothing.
function point(c, e, x, x_text) {
    const run = `run time ${time_text(e.run_time.value)} ${interval_text(e.run_time)}`;
    const samples = `${e.samples} samples${e.screened_only ? ', screened only' : ''}`;
    const said = ({value, low, high}, text, look) => ({
        x, value, low, high,
        tip: `${e.name}\n${x_text}\n${text}\n${samples}`,
        ...(look || {mark: mark_of.get(e.name), hollow: e.screened_only})
    });
    if (state.measure === 'absolute') return said(e.run_time, `${run}\ntail ${time_text(e.tail)}`);
    if (state.measure === 'tail' || state.measure === 'elapsed') {
        const value = e[state.measure];
        if (value <= 0) return null;  // has no place on a logarithmic axis
        return said({value, low: value, high: value}, `${state.measure} ${time_text(value)}\n${run}`);
    }
    if (state.measure === 'absorption')
        return e.absorption &&
            said(e.absorption, `absorption ${percent(e.absorption.value)} of the balanced run time\n${run}`);
    const r = e.to_reference[state.reference];
    if (!r) return null;
    const s = significance_of(r.p);
    const meaning = `${p_text(r.p)}${s.hollow ? ', not significant' : ''}`;
    return said(r, `${ratio_text(r)} of ${state.reference}\n${meaning}\n${run}`, {mark: s.mark, hollow: s.hollow});
}

function chart(title, subtitle, cases, x) {
    const points_of = name => cases.map(c => {
        const e = entry_of(c, name);
        return e && e.run_time ? point(c, e, x.of(c), `${x.label} ${x.text(x.of(c))}`) : null;
    }).filter(Boolean);
    const series = [...state.shown]
        .sort((a, b) => natives.has(a) - natives.has(b))
        .map(name => ({name, colour: colours.get(name), dashed: natives.has(name), points: points_of(name)}))
        .filter(s => s.points.length);
    const {axis, choice, label} = measures[state.measure];
    const y = axis ? axis() : {label: label || choice, text: short_time, zero: !x.log, log: x.log};
    if (state.measure === 'relative') y.log = series.some(s => s.points.some(p => p.value > 2.5));
    const figure = line_chart({title, subtitle, series, x, y});
    if (state.measure === 'relative') figure.append(significance_key());
    return figure;
}

function charts() {
    const c = state.case;
    const like = data.cases.filter(o => o.contestants.length && group_of(o) === group_of(c));
    const same = like.filter(o => o.ranks === c.ranks);
    const figures = [];
    const add = (...all) => figures.push(chart(...all));
    // Balanced arrivals are the beginning of every family; alone they belong to the largest.
    const size = f => same.filter(o => o.bytes === c.bytes && o.family === f).length;
    const family = c.pattern !== 'balanced' ?
        c.family :
        unique(same.filter(o => o.bytes === c.bytes && o.delay).map(o => o.family))
            .sort((a, b) => size(b) - size(a))[0];
    const by_delay = same.filter(
        o => o.bytes === c.bytes && o.delay !== null && (o.family === family || o.pattern === 'balanced'));
    const measure = measures[state.measure].title;
    if (by_delay.length > 1)
        add(`${measure} against delay`, `${family}, ${bytes_text(c.bytes)}, ${c.ranks} ranks`, by_delay,
            {label: 'delay', text: short_time, of: o => o.delay});
    const by_size = same.filter(o => o.pattern === c.pattern);
    if (by_size.length > 1)
        add(`${measure} against size`, `${c.pattern}, ${c.ranks} ranks`, by_size,
            {label: 'size', text: bytes_text, of: o => o.bytes, log: by_size.every(o => o.bytes > 0)});
    // The last of 8 ranks and the last of 16 play the same part.
    const part = o => o.pattern.replace(/rank=(\d+)/, (text, n) => +n === o.ranks - 1 ? 'rank=last' : text);
    const by_ranks = like.filter(o => o.bytes === c.bytes && part(o) === part(c));
    if (by_ranks.length > 1)
        add(`${measure} against ranks`, `${part(c)}, ${bytes_text(c.bytes)}`, by_ranks,
            {label: 'ranks', text: v => `${v}`, of: o => o.ranks, log: true});
    if (!figures.length)
        add(measure, `${c.pattern}, ${bytes_text(c.bytes)}`, [c], {label: 'size', text: bytes_text, of: o => o.bytes});
    at('charts').replaceChildren(...figures);
}

function distributions() {
    const c = state.case;
    const rows = c.contestants.filter(e => e.run_time && state.shown.has(e.name)).map(e => ({
        name: short_name(c, e.name),
        colour: colours.get(e.name),
        values: e.values,
        ...e.run_time,
        tip: `${e.name}\nmedian ${time_text(e.run_time.value)} ${interval_text(e.run_time)}\n${e.samples} samples from ${
            time_text(Math.min(...e.values))} to ${time_text(Math.max(...e.values))}`
    }));
    at('distributions').replaceChildren(
        rows.length ? strip_plot({rows, text: short_time, label: 'run time'}) :
                      html('p', {class: 'empty'}, 'Nobody is chosen.'));
}

function arrivals() {
    const a = state.case.arrivals;
    at('arrivals').replaceChildren(...(a ? [heat_map({rows: a.rows, text: time_text})] : []));
    const some = a && a.rows.length < a.invocations ? `the first ${a.rows.length} of ` : '';
    at('arrivals_note').textContent = !a ? 'No sample counts.' :
        `How long after the first rank each came (${state.case.pattern}); ${some}${a.invocations} invocations of ${a.name}.`;
}

function one_call() {
    const c = state.case;
    const recorded = name => c.timelines.find(t => t.name === name);
    const able = c.contestants.filter(e => e.run_time).map(e => e.name);
    const sorted = [...able.filter(recorded), ...able.filter(n => !recorded(n))];
    const name = sorted.includes(state.call) ? state.call : sorted[0];
    const text = name => `${short_name(c, name)}${recorded(name) ? ' (with steps)' : ''}`;
    const options = sorted.map(value => ({value, text: text(value)}));
    at('call_choice').replaceChildren(select('contestant', options, name, set('call', one_call)));
    if (!name) return at('call').replaceChildren();
    const t = recorded(name) || entry_of(c, name).typical;
    const kinds = t.steps ? unique(t.steps.flat().map(s => s[0])) : [];
    at('call_note').textContent = t.steps ?
        'One call, recorded: when each rank arrived, what it did, when it left.' :
        `The call with the median run time (repetition ${t.repetition}): from each rank's arrival to its exit.`;
    at('call').replaceChildren(timeline({...t, text: short_time}), ...(kinds.length ? [step_key(kinds)] : []));
}

function draw() {
    state.shown = state.shown || best_of(state.case);
    winners();
    controls();
    contestants();
    charts();
    all_contestants();
    distributions();
    arrivals();
    one_call();
}

at('summary').textContent = data.summary;
show_tips(at('tip'));
draw();
overlaps();
model();
costs();
conditions();
document.documentElement.dataset.ready = 'yes';
