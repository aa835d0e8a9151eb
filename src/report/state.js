// What is chosen of the data, and how contestants look.

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
