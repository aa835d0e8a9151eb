// The page: what can be chosen, and which pictures show it. Every number comes from the data as it is.

function choose_case(c) {
    state.case = c;
    state.shown = null;
    draw();
}

/// The case nearest to the chosen one in which `change` holds.
function nearest(change) {
    const c = state.case;
    const score = o => (group_of(o) === group_of(c)) * 8 + (o.ranks === c.ranks) * 4 + (o.bytes === c.bytes) * 2 +
        (o.pattern === c.pattern);
    return data.cases.filter(o => o.contestants.length && change(o)).reduce((a, b) => score(b) > score(a) ? b : a);
}

function select(label, options, chosen, change) {
    const box = html(
        'select', {'data-select': label, onchange: e => change(options[e.target.selectedIndex].value)},
        ...options.map(o => html('option', {selected: o.value === chosen}, o.text)));
    return html('label', {}, label, box);
}

function controls() {
    const c = state.case;
    const list = data.cases.filter(o => o.contestants.length);
    const of_setup = list.filter(o => group_of(o) === group_of(c));
    const of_ranks = of_setup.filter(o => o.ranks === c.ranks);
    const of_size = of_ranks.filter(o => o.bytes === c.bytes);
    const options = (values, text) => values.map(value => ({value, text: text(value)}));
    const measures = [
        ['absolute', 'run time'], ['tail', 'tail'], ['elapsed', 'elapsed, mean over ranks'],
        ['relative', 'relative to a reference'], ['absorption', 'normalised absorption']
    ];
    at('choice').replaceChildren(
        ...[select(
                'collective', options(setups, v => v), group_of(c), v => choose_case(nearest(o => group_of(o) === v))),
            select(
                'ranks', options(unique(of_setup.map(o => o.ranks)), v => v), c.ranks,
                v => choose_case(nearest(o => group_of(o) === group_of(c) && o.ranks === v))),
            select(
                'size', options(unique(of_ranks.map(o => o.bytes)), bytes_text), c.bytes,
                v => choose_case(nearest(o => of_ranks.includes(o) && o.bytes === v))),
            select(
                'arrivals', options(of_size.map(o => o.pattern), v => shorten(v, 44)), c.pattern,
                v => choose_case(of_size.find(o => o.pattern === v))),
            select(
                'show', measures.map(([value, text]) => ({value, text})), state.measure,
                v => {
                    state.measure = v;
                    draw();
                }),
            state.measure !== 'absorption' &&
                select(
                    'reference', options(data.references, v => v === 'native' ? 'native (the library\'s default)' : v),
                    state.reference,
                    v => {
                        state.reference = v;
                        draw();
                    }),
    ].filter(Boolean));
}

function contestants() {
    const c = state.case;
    const change = shown => {
        state.shown = shown;
        draw();
    };
    at('best').onclick = () => change(best_of(c));
    at('every').onclick = () => change(new Set(c.contestants.map(e => e.name)));
    at('none').onclick = () => change(new Set());
    at('contestants').replaceChildren(...c.contestants.map(e => {
        const box = html('input', {
            type: 'checkbox',
            onchange: () => {
                const shown = new Set(state.shown);
                if (box.checked)
                    shown.add(e.name);
                else
                    shown.delete(e.name);
                change(shown);
            }
        });
        box.checked = state.shown.has(e.name);
        const colour = colours.get(e.name);
        return html(
            'label', {class: state.shown.has(e.name) ? null : 'off', title: e.name}, box,
            svg('svg', {width: 22, height: 10}, svg('line', {
                    x1: 0,
                    x2: 22,
                    y1: 5,
                    y2: 5,
                    stroke: colour,
                    'stroke-width': 2,
                    'stroke-dasharray': e.native ? '5 3' : null
                }),
                draw_mark(mark_of.get(e.name), 11, 5, colour, false, 2.6)),
            html('span', {}, short_name(c, e.name)));
    }));
}

/// What the chosen measure says of a contestant in a case, as a point; nothing if it says nothing.
function point(c, e, x, x_text) {
    const begin = `${e.name}\n${x_text}\n`;
    const run = `run time ${time_text(e.run_time.value)} ${interval_text(e.run_time)}`;
    const mark = mark_of.get(e.name);
    const samples = `${e.samples} samples${e.screened_only ? ', screened only' : ''}`;
    if (state.measure === 'absolute')
        return {
            x,
            mark,
            ...e.run_time,
            tip: `${begin}${run}\ntail ${time_text(e.tail)}\n${samples}`,
            hollow: e.screened_only
        };
    if (state.measure === 'tail' || state.measure === 'elapsed') {
        const value = e[state.measure];
        if (value <= 0) return null;  // has no place on a logarithmic axis
        return {
            x,
            mark,
            value,
            low: value,
            high: value,
            tip: `${begin}${state.measure} ${time_text(value)}\n${run}\n${samples}`,
            hollow: e.screened_only
        };
    }
    if (state.measure === 'absorption') {
        if (!e.absorption) return null;
        return {
            x,
            mark,
            ...e.absorption,
            tip: `${begin}absorption ${percent(e.absorption.value)} of the balanced run time\n${run}\n${samples}`,
            hollow: e.screened_only
        };
    }
    const r = e.to_reference[state.reference];
    if (!r) return null;
    const s = significance_of(r.p);
    return {
        x,
        value: r.value,
        low: r.low,
        high: r.high,
        mark: s.mark,
        hollow: s.hollow,
        tip: `${begin}${ratio_text(r)} of ${state.reference}\n${p_text(r.p)}${s.hollow ? ', not significant' : ''}\n${
            run}\n${samples}`
    };
}

function chart(title, subtitle, cases, x) {
    const series = [...state.shown]
                       .sort((a, b) => natives.has(a) - natives.has(b))
                       .map(name => ({
                                name,
                                colour: colours.get(name),
                                dashed: natives.has(name),
                                points: cases
                                            .map(c => {
                                                const e = entry_of(c, name);
                                                return e && e.run_time ?
                                                    point(c, e, x.of(c), `${x.label} ${x.text(x.of(c))}`) :
                                                    null;
                                            })
                                            .filter(Boolean),
                            }))
                       .filter(s => s.points.length);
    const time = label => ({label, text: short_time, zero: !x.log, log: x.log});
    const y = {
        absolute: time('run time'),
        tail: time('tail'),
        elapsed: time('elapsed'),
        relative: {label: `relative to ${state.reference}`, text: v => `${+ v.toPrecision(4)}\u00d7`, at: 1},
        absorption: {label: 'normalised absorption', text: v => `${+ (100 * v).toPrecision(4)} %`, at: 0},
    }[state.measure];
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
    // Balanced arrivals are the beginning of every family; alone they belong to the largest.
    const size = f => same.filter(o => o.bytes === c.bytes && o.family === f).length;
    const family = c.pattern !== 'balanced' ?
        c.family :
        unique(same.filter(o => o.bytes === c.bytes && o.delay).map(o => o.family))
            .sort((a, b) => size(b) - size(a))[0];
    const by_delay =
        same.filter(o => o.bytes === c.bytes && o.delay !== null && (o.family === family || o.pattern === 'balanced'));
    const measure = {
        absolute: 'Run time',
        tail: 'Tail',
        elapsed: 'Elapsed time',
        relative: 'Relative run time',
        absorption: 'Normalised absorption'
    }[state.measure];
    if (by_delay.length > 1)
        figures.push(chart(
            `${measure} against delay`, `${family}, ${bytes_text(c.bytes)}, ${c.ranks} ranks`, by_delay,
            {label: 'delay', text: short_time, of: o => o.delay}));
    const by_size = same.filter(o => o.pattern === c.pattern);
    if (by_size.length > 1)
        figures.push(chart(
            `${measure} against size`, `${c.pattern}, ${c.ranks} ranks`, by_size,
            {label: 'size', text: bytes_text, of: o => o.bytes, log: by_size.every(o => o.bytes > 0)}));
    // The last of 8 ranks and the last of 16 play the same part.
    const part = o => o.pattern.replace(/rank=(\d+)/, (text, n) => +n === o.ranks - 1 ? 'rank=last' : text);
    const by_ranks = like.filter(o => o.bytes === c.bytes && part(o) === part(c));
    if (by_ranks.length > 1)
        figures.push(chart(
            `${measure} against ranks`, `${part(c)}, ${bytes_text(c.bytes)}`, by_ranks,
            {label: 'ranks', text: v => `${v}`, of: o => o.ranks, log: true}));
    if (!figures.length)
        figures.push(chart(
            measure, `${c.pattern}, ${bytes_text(c.bytes)}`, [c], {label: 'size', text: bytes_text, of: o => o.bytes}));
    at('charts').replaceChildren(...figures);
}

function distributions() {
    const c = state.case;
    const rows = c.contestants.filter(e => e.run_time && state.shown.has(e.name))
                     .map(e => ({
                              name: short_name(c, e.name),
                              colour: colours.get(e.name),
                              values: e.values,
                              ...e.run_time,
                              tip: `${e.name}\nmedian ${time_text(e.run_time.value)} ${interval_text(e.run_time)}\n${
                                  e.samples} samples from ${time_text(Math.min(...e.values))} to ${
                                  time_text(Math.max(...e.values))}`
                          }));
    at('distributions')
        .replaceChildren(
            rows.length ? strip_plot({rows, text: short_time, label: 'run time'}) :
                          html('p', {class: 'empty'}, 'Nobody is chosen.'));
}

function arrivals() {
    const a = state.case.arrivals;
    at('arrivals').replaceChildren(...(a ? [heat_map({rows: a.rows, text: time_text})] : []));
    at('arrivals_note').textContent = a ? `How long after the first rank each came (${state.case.pattern}); ${
                                              a.rows.length < a.invocations ?
                                                  `the first ${a.rows.length} of ` :
                                                  ''}${a.invocations} invocations of ${a.name}.` :
                                          'No sample counts.';
}

function one_call() {
    const c = state.case;
    const recorded = name => c.timelines.find(t => t.name === name);
    const able = c.contestants.filter(e => e.run_time).map(e => e.name);
    const sorted = [...able.filter(recorded), ...able.filter(n => !recorded(n))];
    const name = sorted.includes(state.call) ? state.call : sorted[0];
    at('call_choice')
        .replaceChildren(select(
            'contestant',
            sorted.map(value => ({value, text: `${short_name(c, value)}${recorded(value) ? ' (with steps)' : ''}`})),
            name, v => {
                state.call = v;
                one_call();
            }));
    if (!name) {
        at('call').replaceChildren();
        return;
    }
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
