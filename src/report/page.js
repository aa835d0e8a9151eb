// The page: what is chosen, and which charts and tables show it. Every number comes from the data as it is.

const data = JSON.parse(document.getElementById('data').textContent);
const at = id => document.getElementById(id);
const unique = list => [...new Set(list)];
const group_of = c => [c.collective, c.datatype, c.op, c.root !== null && `root ${c.root}`].filter(Boolean).join(', ');
const setups = unique(data.cases.map(group_of));
const state = { case: data.cases.find(c => c.best_rubato && c.delay) || data.cases[0], measure: 'absolute', reference: data.references[0], shown: null };

/// Wins first: how often a contestant is among the fastest. The order gives colours, and who is shown at first.
const names = (() => {
  const points = new Map();
  for (const c of data.cases)
    c.contestants.forEach((e, i) => points.set(e.name, (points.get(e.name) || 0) + (e.run_time && !e.screened_only ? 1 / (i + 1) : 0)));
  return [...points.keys()].sort((a, b) => points.get(b) - points.get(a));
})();
const colours = new Map(names.filter(n => n !== 'native').map((n, i) => [n, `var(--c${1 + i % 7})`]));
colours.set('native', 'var(--c0)');
/// Where there are more contestants than colours, another mark tells them apart.
const mark_of = new Map(names.filter(n => n !== 'native').map((n, i) => [n, Object.keys(marks)[Math.floor(i / 7) % 4]]));
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
const percent = share => `${(100 * share).toFixed(1)} %`;
const ratio_cell = r => html('span', {}, r.value.toFixed(3), html('i', { class: 'below' }, `[${r.low.toFixed(3)}, ${r.high.toFixed(3)}]`));
const ratio_text = r => `${r.value.toFixed(3)} [${r.low.toFixed(3)}, ${r.high.toFixed(3)}]`;

function estimate_cell(e) {
  return html('span', {}, time_text(e.value), html('i', { class: 'below' }, interval_text(e)));
}
function verdict(r) {
  if (!r) return '';
  if (r.p > 0.05) return html('span', {}, 'not significant', html('i', { class: 'below' }, p_text(r.p)));
  return html('span', {}, html('span', { class: r.value < 1 ? 'win' : 'lose' }, r.value < 1 ? 'faster' : 'slower'), html('i', { class: 'below' }, p_text(r.p)));
}
const time_column = (title, get, tip) => ({ title, tip, number: true, value: get, cell: r => get(r) === null || get(r) === undefined ? '\u2013' : time_text(get(r)) });

function winners() {
  const ours = c => c.best_rubato && entry_of(c, c.best_rubato);
  const theirs = c => c.best_native && entry_of(c, c.best_native);
  const ratio = c => ours(c) && ours(c).to_reference['best native'];
  const several = data.cases.some(c => c.ranks !== data.cases[0].ranks);
  const columns = [
    setups.length > 1 && { title: 'Collective', value: c => group_of(c), cell: c => html('span', { title: group_of(c) }, setups.length > unique(data.cases.map(x => x.collective)).length ? group_of(c) : c.collective) },
    several && { title: 'Ranks', number: true, value: c => c.ranks, cell: c => c.ranks },
    { title: 'Size', number: true, value: c => c.bytes, cell: c => bytes_text(c.bytes) },
    { title: 'Arrivals', value: c => c.family + String(c.delay || 0).padStart(16, '0'), cell: c => html('span', { title: c.pattern }, shorten(c.pattern, 34)) },
    { title: 'Best Rubato', value: c => c.best_rubato, cell: c => ours(c) ? html('span', {}, short_name(c, c.best_rubato), html('i', { class: 'below' }, ours(c).remarks.join(', '))) : '\u2013' },
    { title: 'Run time', value: c => ours(c) ? ours(c).run_time.value : null, cell: c => ours(c) ? estimate_cell(ours(c).run_time) : '\u2013' },
    time_column('Tail', c => ours(c) ? ours(c).tail : null, 'from the last arrival to the last exit'),
    { title: 'To bound', number: true, value: c => ours(c) ? ours(c).to_bound : null, cell: c => ours(c) && ours(c).to_bound ? `${ours(c).to_bound.toFixed(2)}\u00d7` : '\u2013' },
    { title: 'Best native', value: c => c.best_native, cell: c => c.best_native ? html('span', {}, c.best_native.replace(/^native:/, ''), html('i', { class: 'below' }, time_text(theirs(c).run_time.value))) : '\u2013' },
    time_column('Default', c => c.native ? entry_of(c, c.native).run_time.value : null, "the MPI library's own choice"),
    { title: 'Rubato / native', value: c => ratio(c) ? ratio(c).value : null, cell: c => ratio(c) ? ratio_cell(ratio(c)) : '\u2013', tip: 'best Rubato to best native' },
    { title: 'Rubato is', value: c => ratio(c) ? ratio(c).p : null, cell: c => verdict(ratio(c)) },
  ].filter(Boolean);
  at('winners').replaceChildren(table(columns, data.cases.filter(c => c.contestants.length), {
    choose: c => { choose_case(c); at('choice').scrollIntoView({ behavior: 'smooth' }); }, chosen: c => c === state.case }));
}

function choose_case(c) {
  state.case = c;
  state.shown = null;
  draw();
}

/// The case nearest to the chosen one in which `change` holds.
function nearest(change) {
  const c = state.case;
  const score = o => (group_of(o) === group_of(c)) * 8 + (o.ranks === c.ranks) * 4 + (o.bytes === c.bytes) * 2 + (o.pattern === c.pattern);
  return data.cases.filter(o => o.contestants.length && change(o)).reduce((a, b) => score(b) > score(a) ? b : a);
}

function select(label, options, chosen, change) {
  const box = html('select', { 'data-select': label, onchange: e => change(options[e.target.selectedIndex].value) },
    ...options.map(o => html('option', { selected: o.value === chosen }, o.text)));
  return html('label', {}, label, box);
}

function controls() {
  const c = state.case;
  const list = data.cases.filter(o => o.contestants.length);
  const of_setup = list.filter(o => group_of(o) === group_of(c));
  const of_ranks = of_setup.filter(o => o.ranks === c.ranks);
  const of_size = of_ranks.filter(o => o.bytes === c.bytes);
  const options = (values, text) => values.map(value => ({ value, text: text(value) }));
  const measures = [['absolute', 'run time'], ['relative', 'relative to a reference'], ['absorption', 'normalised absorption']];
  at('choice').replaceChildren(...[
    select('collective', options(setups, v => v), group_of(c), v => choose_case(nearest(o => group_of(o) === v))),
    select('ranks', options(unique(of_setup.map(o => o.ranks)), v => v), c.ranks, v => choose_case(nearest(o => group_of(o) === group_of(c) && o.ranks === v))),
    select('size', options(unique(of_ranks.map(o => o.bytes)), bytes_text), c.bytes, v => choose_case(nearest(o => of_ranks.includes(o) && o.bytes === v))),
    select('arrivals', options(of_size.map(o => o.pattern), v => shorten(v, 44)), c.pattern, v => choose_case(of_size.find(o => o.pattern === v))),
    select('show', measures.map(([value, text]) => ({ value, text })), state.measure, v => { state.measure = v; draw(); }),
    state.measure !== 'absorption' && select('reference', options(data.references, v => v === 'native' ? "native (the library's default)" : v), state.reference, v => { state.reference = v; draw(); }),
  ].filter(Boolean));
}

function contestants() {
  const c = state.case;
  const change = shown => { state.shown = shown; draw(); };
  at('best').onclick = () => change(best_of(c));
  at('every').onclick = () => change(new Set(c.contestants.map(e => e.name)));
  at('none').onclick = () => change(new Set());
  at('contestants').replaceChildren(...c.contestants.map(e => {
    const box = html('input', { type: 'checkbox', onchange: () => {
      const shown = new Set(state.shown);
      if (box.checked) shown.add(e.name); else shown.delete(e.name);
      change(shown);
    } });
    box.checked = state.shown.has(e.name);
    const colour = colours.get(e.name);
    return html('label', { class: state.shown.has(e.name) ? null : 'off', title: e.name }, box,
      svg('svg', { width: 22, height: 10 }, svg('line', { x1: 0, x2: 22, y1: 5, y2: 5, stroke: colour, 'stroke-width': 2, 'stroke-dasharray': e.native ? '5 3' : null }), draw_mark(mark_of.get(e.name), 11, 5, colour, false, 2.6)),
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
    return { x, mark, ...e.run_time, tip: `${begin}${run}\ntail ${time_text(e.tail)}\n${samples}`, hollow: e.screened_only };
  if (state.measure === 'absorption') {
    if (!e.absorption) return null;
    return { x, mark, ...e.absorption, tip: `${begin}absorption ${percent(e.absorption.value)} of the balanced run time\n${run}\n${samples}`, hollow: e.screened_only };
  }
  const r = e.to_reference[state.reference];
  if (!r) return null;
  const s = significance_of(r.p);
  return { x, value: r.value, low: r.low, high: r.high, mark: s.mark, hollow: s.hollow,
    tip: `${begin}${ratio_text(r)} of ${state.reference}\n${p_text(r.p)}${s.hollow ? ', not significant' : ''}\n${run}\n${samples}` };
}

function chart(title, subtitle, cases, x) {
  const series = [...state.shown].sort((a, b) => natives.has(a) - natives.has(b)).map(name => ({
    name, colour: colours.get(name), dashed: natives.has(name),
    points: cases.map(c => {
      const e = entry_of(c, name);
      return e && e.run_time ? point(c, e, x.of(c), `${x.label} ${x.text(x.of(c))}`) : null;
    }).filter(Boolean),
  })).filter(s => s.points.length);
  const y = {
    absolute: { label: 'run time', text: short_time, zero: !x.log, log: x.log },
    relative: { label: `relative to ${state.reference}`, text: v => `${+v.toPrecision(4)}\u00d7`, at: 1 },
    absorption: { label: 'normalised absorption', text: v => `${+(100 * v).toPrecision(4)} %`, at: 0 },
  }[state.measure];
  if (state.measure === 'relative') y.log = series.some(s => s.points.some(p => p.value > 2.5));
  const figure = line_chart({ title, subtitle, series, x, y });
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
  const family = c.pattern !== 'balanced' ? c.family : unique(same.filter(o => o.bytes === c.bytes && o.delay).map(o => o.family)).sort((a, b) => size(b) - size(a))[0];
  const by_delay = same.filter(o => o.bytes === c.bytes && o.delay !== null && (o.family === family || o.pattern === 'balanced'));
  const measure = { absolute: 'Run time', relative: 'Relative run time', absorption: 'Normalised absorption' }[state.measure];
  if (by_delay.length > 1)
    figures.push(chart(`${measure} against delay`, `${family}, ${bytes_text(c.bytes)}, ${c.ranks} ranks`, by_delay, { label: 'delay', text: short_time, of: o => o.delay }));
  const by_size = same.filter(o => o.pattern === c.pattern);
  if (by_size.length > 1)
    figures.push(chart(`${measure} against size`, `${c.pattern}, ${c.ranks} ranks`, by_size, { label: 'size', text: bytes_text, of: o => o.bytes, log: by_size.every(o => o.bytes > 0) }));
  // The last of 8 ranks and the last of 16 play the same part.
  const part = o => o.pattern.replace(/rank=(\d+)/, (text, n) => +n === o.ranks - 1 ? 'rank=last' : text);
  const by_ranks = like.filter(o => o.bytes === c.bytes && part(o) === part(c));
  if (by_ranks.length > 1)
    figures.push(chart(`${measure} against ranks`, `${part(c)}, ${bytes_text(c.bytes)}`, by_ranks, { label: 'ranks', text: v => `${v}`, of: o => o.ranks, log: true }));
  if (!figures.length) figures.push(chart(measure, `${c.pattern}, ${bytes_text(c.bytes)}`, [c], { label: 'size', text: bytes_text, of: o => o.bytes }));
  at('charts').replaceChildren(...figures);
}

function all_contestants() {
  const c = state.case;
  const ratio = e => e.to_reference && e.to_reference[state.reference];
  const predicted = c.contestants.some(e => e.prediction_error);
  const early = c.contestants.some(e => e.early_ranks);
  const rooted = c.contestants.some(e => e.root_exit !== null && e.root_exit !== undefined);
  at('case').textContent = `All contestants: ${group_of(c)}, ${bytes_text(c.bytes)}, ${c.pattern}, ${c.ranks} ranks`;
  const columns = [
    { title: 'Contestant', value: e => e.name, cell: e => short_name(c, e.name) },
    { title: 'Run time', value: e => e.run_time ? e.run_time.value : null, cell: e => e.run_time ? estimate_cell(e.run_time) : '\u2013' },
    time_column('Tail', e => e.tail, 'from the last arrival to the last exit'),
    time_column('Elapsed', e => e.elapsed, 'from arrival to exit, mean over the ranks'),
    rooted && time_column("Root's exit", e => e.root_exit, 'after the first arrival'),
    { title: 'To bound', number: true, value: e => e.to_bound, cell: e => e.to_bound ? `${e.to_bound.toFixed(2)}\u00d7` : '\u2013' },
    time_column('First call', e => e.first_call, 'the warm-up: connections are opened, plans made'),
    { title: 'Samples', number: true, value: e => e.samples, cell: e => e.samples },
    { title: 'Late', number: true, value: e => e.late, cell: e => e.late, tip: 'samples that do not count: a rank missed its planned arrival' },
    predicted && time_column('Prediction off by', e => e.prediction_error, 'mean distance of predicted arrivals from true ones'),
    early && { title: 'Begun early', number: true, value: e => e.early_ranks, cell: e => e.early_ranks ? `${e.early_ranks.toFixed(1)} ranks` : '\u2013' },
    { title: `/ ${state.reference}`, value: e => ratio(e) ? ratio(e).value : null, cell: e => ratio(e) ? ratio_cell(ratio(e)) : '\u2013' },
    { title: 'Is', value: e => ratio(e) ? ratio(e).p : null, cell: e => verdict(ratio(e)) },
    { title: 'Remarks', wrap: true, value: e => (e.remarks || []).join(', '), cell: e => [e.screened_only && 'screened only', !e.run_time && 'no valid sample', ...(e.remarks || [])].filter(Boolean).join(', ') },
  ].filter(Boolean);
  at('all').replaceChildren(table(columns, c.contestants, { row_class: e => e.screened_only || !e.run_time ? 'screened' : null }));
}

function distributions() {
  const c = state.case;
  const rows = c.contestants.filter(e => e.run_time && state.shown.has(e.name)).map(e => ({
    name: short_name(c, e.name), colour: colours.get(e.name), values: e.values, ...e.run_time,
    tip: `${e.name}\nmedian ${time_text(e.run_time.value)} ${interval_text(e.run_time)}\n${e.samples} samples from ${time_text(Math.min(...e.values))} to ${time_text(Math.max(...e.values))}` }));
  at('distributions').replaceChildren(rows.length ? strip_plot({ rows, text: short_time, label: 'run time' }) : html('p', { class: 'empty' }, 'Nobody is chosen.'));
}

function arrivals() {
  const a = state.case.arrivals;
  at('arrivals').replaceChildren(...(a ? [heat_map({ rows: a.rows, text: time_text })] : []));
  at('arrivals_note').textContent = a
    ? `How long after the first rank each came (${state.case.pattern}); ${a.rows.length < a.invocations ? `the first ${a.rows.length} of ` : ''}${a.invocations} invocations of ${a.name}.`
    : 'No sample counts.';
}

function one_call() {
  const c = state.case;
  const recorded = name => c.timelines.find(t => t.name === name);
  const able = c.contestants.filter(e => e.run_time).map(e => e.name);
  const sorted = [...able.filter(recorded), ...able.filter(n => !recorded(n))];
  const name = sorted.includes(state.call) ? state.call : sorted[0];
  at('call_choice').replaceChildren(select('contestant', sorted.map(value => ({ value, text: `${short_name(c, value)}${recorded(value) ? ' (with steps)' : ''}` })), name, v => { state.call = v; one_call(); }));
  if (!name) { at('call').replaceChildren(); return; }
  const t = recorded(name) || entry_of(c, name).typical;
  const kinds = t.steps ? unique(t.steps.flat().map(s => s[0])) : [];
  at('call_note').textContent = t.steps ? 'One call, recorded: when each rank arrived, what it did, when it left.'
    : `The call with the median run time (repetition ${t.repetition}): from each rank's arrival to its exit.`;
  at('call').replaceChildren(timeline({ ...t, text: short_time }), ...(kinds.length ? [step_key(kinds)] : []));
}

function overlaps() {
  const rows = data.cases.flatMap(c => c.overlaps.map(o => ({ ...o, c })));
  at('overlap_section').hidden = !rows.length;
  if (!rows.length) return;
  at('overlap').replaceChildren(table([
    { title: 'Collective', value: o => group_of(o.c), cell: o => o.c.collective },
    { title: 'Ranks', number: true, value: o => o.c.ranks, cell: o => o.c.ranks },
    { title: 'Size', number: true, value: o => o.c.bytes, cell: o => bytes_text(o.c.bytes) },
    { title: 'Contestant', value: o => o.name, cell: o => short_name(o.c, o.name) },
    { title: 'Method', value: o => o.method, cell: o => o.method },
    { title: 'Tests', number: true, value: o => o.tests, cell: o => o.tests },
    time_column('Total', o => o.total), time_column('Computation', o => o.computation),
    { title: 'Hidden', number: true, value: o => o.hidden, cell: o => o.hidden === null ? '\u2013' : percent(o.hidden) },
    time_column('In calls', o => o.in_calls, 'begin, test and end'),
    { title: 'CPU overhead', number: true, value: o => o.overhead, cell: o => o.computation > 0 ? `${time_text(o.overhead)} (${percent(o.overhead / o.computation)})` : '\u2013' },
    { title: 'Samples', number: true, value: o => o.samples, cell: o => o.samples },
  ], rows));
}

function model() {
  at('model_section').hidden = !data.model;
  if (!data.model) return;
  const m = data.model;
  at('model_note').textContent = `Every schedule simulated under ${m.name} with the arrivals that were measured. Median error ${percent(m.median_error)}, worst ${percent(m.worst_error)}, of ${m.rows} predictions.`;
  at('model').replaceChildren(table([
    { title: 'Ranks', number: true, value: r => r.c.ranks, cell: r => r.c.ranks },
    { title: 'Size', number: true, value: r => r.c.bytes, cell: r => bytes_text(r.c.bytes) },
    { title: 'Arrivals', value: r => r.c.pattern, cell: r => shorten(r.c.pattern, 44) },
    { title: 'Algorithm', value: r => r.e.name, cell: r => r.e.name },
    time_column('Predicted', r => r.e.model.predicted), time_column('Measured', r => r.e.run_time.value),
    { title: 'Error', number: true, value: r => r.e.model.error, cell: r => `${r.e.model.error > 0 ? '+' : ''}${percent(r.e.model.error)}` },
  ], data.cases.flatMap(c => c.contestants.filter(e => e.model).map(e => ({ c, e })))));
}

function conditions() {
  const settings = o => Object.entries(o).map(([k, v]) => `${k}=${v}`).join(', ');
  at('conditions').replaceChildren(...data.runs.map(r => {
    const hosts = unique(r.hosts);
    const rows = {
      Command: r.command && html('code', {}, r.command), Started: r.started, File: r.file, Rubato: r.rubato, Compiler: r.compiler, MPI: r.mpi,
      'MPI settings': settings(r.mpi_settings), System: r.system, Processor: [r.cpu, r.cores && `${r.cores} cores`].filter(Boolean).join(', '),
      Ranks: r.ranks, Hosts: `${hosts.length}: ${shorten(hosts.join(', '), 200)}`,
      Link: r.link_ns_per_byte ? `${time_text(r.link_latency)} latency, ${(1000 / r.link_ns_per_byte).toFixed(1)} MB/s` : null,
      Start: r.start && `by ${r.start}${r.tolerance ? `; samples late by more than ${time_text(r.tolerance)} do not count` : ''}`,
      'Clocks agree to': r.clock_error ? time_text(r.clock_error) : null, 'Delays by': r.delay, Prediction: r.prediction, Model: r.model, Seed: r.seed,
    };
    return html('dl', {}, ...Object.entries(rows).filter(([, v]) => v).flatMap(([k, v]) => [html('dt', {}, k), html('dd', {}, v)]));
  }));
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
conditions();
document.documentElement.dataset.ready = 'yes';
