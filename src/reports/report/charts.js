// Charts as SVG. Everything here draws what it is given and knows nothing of the page's data.

const picture = (width, height, label) =>
    svg('svg', {viewBox: `0 0 ${width} ${height}`, width, role: 'img', 'aria-label': label});
const words = (x, y, text, anchor = 'middle') => svg('text', {x, y, 'text-anchor': anchor}, text);
const words_upwards = (x, y, text) =>
    svg('text', {transform: `translate(${x} ${y}) rotate(-90)`, 'text-anchor': 'middle'}, text);
const level = (kind, x1, x2, y) => svg('line', {class: kind, x1, x2, y1: y, y2: y});
const upright = (kind, x, y1, y2, more) => svg('line', {class: kind, x1: x, x2: x, y1, y2, ...more});

const stroked = (stroke, width) => ({fill: 'none', stroke, 'stroke-width': width});
const rect = (x, y, width, height, more) => svg('rect', {x, y, width, height, ...more});

function linear(low, high, from, to) {
    const span = high - low || 1;
    const scale = v => from + (v - low) / span * (to - from);
    const rough = span / 5;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map(f => f * power).find(s => s >= rough);
    scale.ticks = [];
    for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + step * 1e-9; v += step)
        scale.ticks.push(+v.toPrecision(12));
    return scale;
}
function logarithmic(low, high, from, to) {
    const scale = v => from + (Math.log(v / low) / (Math.log(high / low) || 1)) * (to - from);
    const ticks = [];
    for (let p = 10 ** Math.floor(Math.log10(low)); p <= high; p *= 10)
        for (const f of [1, 2, 5])
            if (p * f >= low * 0.999 && p * f <= high * 1.001) ticks.push(p * f);
    if (ticks.length < 3) ticks.splice(0, 2, ...linear(low, high, from, to).ticks);
    scale.ticks =
        ticks.length > 8 ? ticks.filter(v => Math.abs(Math.log10(v) - Math.round(Math.log10(v))) < 1e-6) : ticks;
    return scale;
}

/// The marks of significance of Marendic et al. 2016, Fig. 12, at a point.
const marks = {
    circle: (x, y, r) => svg('circle', {cx: x, cy: y, r}),
    diamond: (x, y, r) => svg(
        'path', {d: `M${x},${y - r * 1.4}l${r * 1.4},${r * 1.4}l${- r * 1.4},${r * 1.4}l${- r * 1.4},${- r * 1.4}z`}),
    up: (x, y, r) => svg('path', {d: `M${x},${y - r * 1.3}l${r * 1.3},${r * 2.3}h${- r * 2.6}z`}),
    down: (x, y, r) => svg('path', {d: `M${x},${y + r * 1.3}l${r * 1.3},${- r * 2.3}h${- r * 2.6}z`}),
};
const significance = [
    {below: 0.001, mark: 'circle', text: 'p \u2264 0.001'},
    {below: 0.01, mark: 'diamond', text: 'p \u2264 0.01'},
    {below: 0.05, mark: 'up', text: 'p \u2264 0.05'},
    {below: 1, mark: 'down', text: 'not significant', hollow: true},
];
const significance_of = p => significance.find(s => p <= s.below) || significance[3];

function draw_mark(name, x, y, colour, hollow, r = 3.6) {
    const m = marks[name](x, y, r);
    m.setAttribute('fill', hollow ? 'var(--paper)' : colour);
    m.setAttribute('stroke', colour);
    m.setAttribute('stroke-width', 1.5);
    return m;
}

/// Lines with intervals. series: [{name, colour, dashed, points: [{x, value, low, high, tip, mark, hollow}]}];
/// x: {label, text, log, categories}; y: {label, text, log, zero, at: a line across}.
function line_chart({title, subtitle, series, x, y, width = 860, height = 330}) {
    const box = {left: 84, right: width - 14, top: 10, bottom: height - 44};
    const points = series.flatMap(s => s.points);
    const figure = html('figure', {class: 'chart'}, html('figcaption', {}, title, html('small', {}, subtitle || '')));
    if (!points.length) {
        figure.append(html('p', {class: 'empty'}, 'Nothing to draw for this choice.'));
        return figure;
    }
    const xs = [...new Set(points.map(p => p.x))].sort((a, b) => a - b);
    const [first, end] = [xs[0], xs[xs.length - 1]];
    const pad = 0.03 * ((end - first) || 1);
    const x_scale = x.log ? logarithmic(first / 1.15, end * 1.15, box.left, box.right) :
                            linear(first - pad, end + pad, box.left, box.right);
    const across = y.at !== undefined ? [y.at] : [];
    let low = Math.min(...points.map(p => p.low), ...across);
    let high = Math.max(...points.map(p => p.high), ...across);
    const log = y.log && low > 0;
    if (log) {
        low /= 1.12;
        high *= 1.12;
    } else {
        if (y.zero) low = Math.min(0, low);
        const room = (high - low || Math.abs(high) || 1) * 0.05;
        if (!(y.zero && low === 0)) low -= room;
        high += room;
    }
    const y_scale = (log ? logarithmic : linear)(low, high, box.bottom, box.top);
    const drawing = picture(width, height, `${title} ${subtitle || ''}`);
    for (const v of y_scale.ticks)
        drawing.append(
            level('grid', box.left, box.right, y_scale(v)), words(box.left - 8, y_scale(v) + 4, y.text(v), 'end'));
    let last = -Infinity;
    for (const v of xs) {
        const at = x_scale(v);
        drawing.append(upright('axis', at, box.bottom, box.bottom + 4));
        if (at - last < 46) continue;
        drawing.append(words(at, box.bottom + 18, x.text(v)));
        last = at;
    }
    drawing.append(
        level('axis', box.left, box.right, box.bottom), words((box.left + box.right) / 2, height - 6, x.label),
        words_upwards(12, (box.top + box.bottom) / 2, y.label));
    if (y.at !== undefined) drawing.append(level('reference', box.left, box.right, y_scale(y.at)));
    for (const s of series) {
        const sorted = [...s.points].sort((a, b) => a.x - b.x);
        const onpointerenter = () => focus_series(drawing, group);
        const onpointerleave = () => focus_series(drawing, null);
        const group = svg('g', {class: 'series', 'data-name': s.name, onpointerenter, onpointerleave});
        const at = (p, v) => `${x_scale(p.x).toFixed(1)},${y_scale(v).toFixed(1)}`;
        const top = sorted.map(p => at(p, p.high));
        const bottom = sorted.map(p => at(p, p.low)).reverse();
        if (sorted.length > 1)
            group.append(
                svg('path', {d: `M${[...top, ...bottom].join('L')}z`, fill: s.colour, opacity: 0.09}),
                svg('path', {
                    d: `M${sorted.map(p => at(p, p.value)).join('L')}`,
                    ...stroked(s.colour, 1.8),
                    'stroke-dasharray': s.dashed ? '6 4' : null,
                    'stroke-linejoin': 'round'
                }));
        for (const p of sorted) {
            const [px, py] = [x_scale(p.x), y_scale(p.value)];
            group.append(upright(null, px, y_scale(p.low), y_scale(p.high), {stroke: s.colour, 'stroke-width': 1.3}));
            const mark = draw_mark(p.mark || 'circle', px, py, s.colour, p.hollow);
            mark.setAttribute('class', 'point');
            mark.dataset.value = p.value;
            group.append(mark, svg('circle', {cx: px, cy: py, r: 9, fill: 'transparent', 'data-tip': p.tip}));
        }
        drawing.append(group);
    }
    figure.append(drawing);
    return figure;
}
function focus_series(drawing, group) {
    drawing.classList.toggle('focused', group !== null);
    for (const s of drawing.querySelectorAll('.series')) s.classList.toggle('focus', s === group);
}
/// What marks mean: pairs of a small picture and its name.
const key_of = pairs => html('div', {class: 'key'}, ...pairs.map(([shown, name]) => html('span', {}, shown, name)));
const significance_key = () => key_of(significance.map(
    s => [svg('svg', {width: 14, height: 14}, draw_mark(s.mark, 7, 7, 'var(--soft)', s.hollow)), s.text]));

/// All samples of each row on one scale. rows: [{name, colour, values, value, low, high, tip}]
function strip_plot({rows, text, label, width = 1180}) {
    const [left, right, row, top] = [230, width - 30, 24, 6];
    const bottom = top + rows.length * row;
    const all = rows.flatMap(r => r.values);
    const [low, high] = [least(all), most(all)];
    const far = high > 4 * low && low > 0;
    const scale = (far ? logarithmic : linear)(
        far ? low / 1.05 : low - (high - low) * 0.03, far ? high * 1.05 : high + (high - low) * 0.03, left, right);
    const drawing = picture(width, bottom + 40, label);
    for (const v of scale.ticks)
        drawing.append(upright('grid', scale(v), top, bottom), words(scale(v), bottom + 16, text(v)));
    drawing.append(words((left + right) / 2, bottom + 34, label));
    rows.forEach((r, i) => {
        const y = top + i * row + row / 2;
        const group = svg('g', {class: 'strip', 'data-name': r.name});
        group.append(svg('text', {class: 'name', x: left - 12, y: y + 4, 'text-anchor': 'end'}, shorten(r.name, 34)));
        r.values.forEach((v, k) => {
            const shift = ((k * 7) % 11 - 5) * 1.2;  // so that equal samples are seen apart
            const place = {cx: scale(v).toFixed(1), cy: (y + shift).toFixed(1), r: 2.3};
            group.append(svg('circle', {class: 'sample', ...place, fill: r.colour, opacity: 0.45}));
        });
        group.append(
            svg('line', {x1: scale(r.low), x2: scale(r.high), y1: y, y2: y, stroke: r.colour, 'stroke-width': 3}),
            upright('median', scale(r.value), y - 8, y + 8, {stroke: 'var(--ink)', 'stroke-width': 2}),
            rect(left - 220, y - row / 2, right - left + 220, row, {fill: 'transparent', 'data-tip': r.tip}));
        drawing.append(group);
    });
    return drawing;
}
const shorten = (text, most) => text.length > most ? `${text.slice(0, most - 1)}\u2026` : text;

/// Dark to light through colours that differ in lightness, so that all eyes see the order.
const sequence = [[68, 1, 84], [65, 68, 135], [42, 120, 142], [34, 168, 132], [122, 209, 81], [253, 231, 37]];
function sequential(share) {
    const at = Math.max(0, Math.min(1, share)) * (sequence.length - 1);
    const [a, b] = [sequence[Math.floor(at)], sequence[Math.min(sequence.length - 1, Math.floor(at) + 1)]];
    return `rgb(${a.map((v, i) => Math.round(v + (b[i] - v) * (at - Math.floor(at)))).join(',')})`;
}

/// rows: one per invocation, a number per rank; numbers: of the invocations, if they are not 1, 2, ...; names: of the
/// ranks, if they are not 0, 1, ...
function heat_map({
    rows,
    text,
    numbers = rows.map((_, k) => k + 1),
    names = rows[0].map((_, r) => r),
    tip = (k, r, late) =>
        `rank ${names[r]}, invocation ${numbers[k]}\n${late === 0 ? 'came first' : `${text(late)} after the first`}`,
    width = 1180
}) {
    const ranks = rows[0].length;
    const [left, top] = [64, 6];
    const cell_height = Math.max(3, Math.min(18, 420 / ranks));
    const cell_width = Math.min(40, (width - left - 130) / rows.length);
    const [right, bottom] = [left + cell_width * rows.length, top + cell_height * ranks];
    const high = Math.max(1, most(rows.flat()));
    const legend = Math.max(90, Math.min(180, bottom - top));
    const drawing = picture(width, Math.max(bottom, top + legend) + 42, 'arrivals; arrow keys show each');
    rows.forEach((row, k) => row.forEach((late, r) => drawing.append(
        rect((left + k * cell_width).toFixed(2), (top + r * cell_height).toFixed(2), (cell_width + 0.3).toFixed(2),
            (cell_height + 0.3).toFixed(2), {class: 'cell', fill: sequential(late / high), 'data-tip': tip(k, r, late)}))));
    const steps = [1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100, 128, 256, 512];
    const every = (n, room, needed) => steps.find(s => room * s >= needed) || n;
    for (let r = 0; r < ranks; r += every(ranks, cell_height, 16))
        drawing.append(words(left - 8, top + (r + 0.5) * cell_height + 4, names[r], 'end'));
    for (let k = 0; k < rows.length; k += every(rows.length, cell_width, Math.max(26, 9 * `${most(numbers)}`.length)))
        drawing.append(words(left + (k + 0.5) * cell_width, bottom + 16, numbers[k]));
    drawing.append(
        words((left + right) / 2, bottom + 34, 'invocation'), words_upwards(16, (top + bottom) / 2, 'rank'));
    for (let i = 0; i < 40; ++i)
        drawing.append(
            rect(right + 28, top + legend * (1 - (i + 1) / 40), 14, legend / 40 + 0.4, {fill: sequential(i / 39)}));
    for (const [share, down] of [[0, 0], [0.5, 4], [1, 9]])
        drawing.append(svg('text', {x: right + 48, y: top + legend * (1 - share) + down}, text(high * share)));
    return by_keys(drawing, ranks);
}

const step_colours = {send: 'var(--c1)', recv: 'var(--c5)', combine: 'var(--c3)', copy: 'var(--c4)'};
/// One call: for each rank its arrival, its steps, its exit.
function timeline({arrivals, exits, steps, text, names = arrivals.map((_, r) => r), width = 1180}) {
    const ranks = arrivals.length;
    const [left, right, top] = [64, width - 30, 8];
    const row = Math.max(5, Math.min(22, 620 / ranks));
    const bottom = top + ranks * row;
    const times = [...arrivals, ...exits, ...(steps || []).flat().flatMap(s => [s[2], s[3]])];
    const scale = linear(Math.min(0, least(times)), most(times), left, right);
    const drawing = picture(width, bottom + 40, 'one call; arrow keys show each rank');
    const labelled = Math.ceil(64 * scale.ticks.length / (right - left));
    scale.ticks.forEach((v, i) => {
        drawing.append(upright('grid', scale(v), top, bottom));
        if (i % labelled === 0) drawing.append(words(scale(v), bottom + 16, text(v)));
    });
    const every = Math.max(1, Math.ceil(14 / row));
    const last = exits.indexOf(Math.max(...exits));
    for (let r = 0; r < ranks; ++r) {
        const y = top + r * row;
        const group = svg('g', {class: 'rank'});
        if (r % every === 0) group.append(words(left - 8, y + row / 2 + 4, names[r], 'end'));
        const tip = `rank ${names[r]}\narrival ${text(arrivals[r])}\nexit ${text(exits[r])}${r === last ? ' (the last)' : ''}`;
        group.append(rect(scale(arrivals[r]), y + row * 0.15, Math.max(1, scale(exits[r]) - scale(arrivals[r])), row * 0.7,
            {class: 'call', rx: 2, fill: steps ? 'var(--faint)' : 'var(--c6)', 'data-tip': tip}));
        for (const [kind, peer, begin, end] of (steps && steps[r]) || [])
            group.append(rect(scale(begin), y + row * 0.28, Math.max(0.8, scale(end) - scale(begin) - 0.5), row * 0.44, {
                class: 'step',
                fill: step_colours[kind] || 'var(--soft)',
                'data-tip': `rank ${r}: ${kind}${peer >= 0 ? ` ${kind === 'send' ? 'to' : 'from'} ${peer}` : ''}\n${
                    text(begin)} to ${text(end)}`
            }));
        for (const [kind, t] of [['arrival', arrivals[r]], ['exit', exits[r]]])
            group.append(upright(kind, scale(t), y + 1, y + row - 1, {stroke: 'var(--ink)', 'stroke-width': 1.6}));
        drawing.append(group);
    }
    drawing.append(
        words((left + right) / 2, bottom + 34, 'time since the first arrival'),
        words_upwards(16, (top + bottom) / 2, 'rank'));
    return by_keys(drawing);
}
/// values: from the smallest to the largest, at equal shares of all.
function quantile_chart({values, text, width = 1180}) {
    const [left, right, top, bottom] = [74, width - 24, 10, 190];
    const scale = linear(0, Math.max(1, most(values)), bottom, top);
    const x = i => left + (right - left) * i / (values.length - 1);
    const drawing = picture(width, bottom + 40, 'waiting; arrow keys show each share');
    for (const v of scale.ticks)
        drawing.append(level('grid', left, right, scale(v)), words(left - 8, scale(v) + 4, text(v), 'end'));
    for (const share of [0, 0.25, 0.5, 0.75, 1])
        drawing.append(words(left + (right - left) * share, bottom + 16, `${100 * share} %`));
    drawing.append(
        words((left + right) / 2, bottom + 34, 'of the calls'),
        svg('polyline', {
            class: 'quantiles',
            points: values.map((v, i) => `${x(i).toFixed(1)},${scale(v).toFixed(1)}`).join(' '),
            ...stroked('var(--c1)', 2)
        }));
    const tip = (v, i) => `${Math.round(100 * i / (values.length - 1))} % of the calls wait at most ${text(v)}`;
    values.forEach((v, i) => drawing.append(
        svg('circle', {cx: x(i), cy: scale(v), r: 3, fill: 'var(--c1)', 'data-tip': tip(v, i)})));
    return by_keys(drawing);
}
const step_key = kinds => key_of(kinds.map(k => {
    const fill = step_colours[k] || 'var(--soft)';
    return [svg('svg', {width: 14, height: 10}, rect(0, 0, 14, 10, {rx: 2, fill})), k];
}));
