// What every page is made with: its data, elements, the box that explains, texts of times and sizes.
'use strict';

// Errors are kept where a test can see them.
const errors = [];
function note_error(text) {
    errors.push(text);
    document.documentElement.dataset.errors = errors.join('\n');
}
document.documentElement.dataset.errors = '';
window.addEventListener('error', e => note_error(e.message));
window.addEventListener('unhandledrejection', e => note_error(String(e.reason)));

const data = JSON.parse(document.getElementById('data').textContent);
const at = id => document.getElementById(id);
const unique = list => [...new Set(list)];

// Of any number of values: a function cannot be called with more than some 100,000.
const least = values => values.reduce((a, b) => Math.min(a, b), Infinity);
const most = values => values.reduce((a, b) => Math.max(a, b), -Infinity);

function element(space, name, attributes, children) {
    const e = space ? document.createElementNS(space, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
        if (value === undefined || value === null || value === false) continue;
        if (key.startsWith('on'))
            e.addEventListener(key.slice(2), value);
        else
            e.setAttribute(key, value);
    }
    e.append(...children.flat().filter(c => c !== null && c !== undefined));
    return e;
}
const html = (name, attributes = {}, ...children) => element(null, name, attributes, children);
const svg = (name, attributes = {}, ...children) => element('http://www.w3.org/2000/svg', name, attributes, children);

// The one box that follows the pointer, or the arrow keys in a chart that has the focus. Whatever has data-tip is
// explained in it.
function show_tips(box) {
    const show = (target, x, y) => {
        box.classList.toggle('shown', target !== null);
        if (!target) return;
        box.textContent = target.dataset.tip;
        const [w, h] = [box.offsetWidth, box.offsetHeight];
        box.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - w - 4))}px`;
        box.style.top = `${y + h + 22 > innerHeight ? y - h - 10 : y + 16}px`;
    };
    const unmark = () => document.querySelectorAll('.pointed').forEach(e => e.classList.remove('pointed'));
    document.addEventListener('pointermove', e => show(e.target.closest ? e.target.closest('[data-tip]') : null, e.clientX, e.clientY));
    document.addEventListener('keydown', e => {
        const chart = e.target.closest ? e.target.closest('svg[tabindex]') : null;
        const across = chart ? +chart.dataset.across : 0;
        const step = {ArrowRight: across, ArrowLeft: -across, ArrowDown: 1, ArrowUp: -1}[e.key];
        if (!chart || !step) return;
        e.preventDefault();
        const marks = [...chart.querySelectorAll('[data-tip]')];
        const now = marks.findIndex(m => m.classList.contains('pointed'));
        const next = now < 0 ? 0 : now + step;
        if (!marks[next]) return;
        unmark();
        marks[next].classList.add('pointed');
        const place = marks[next].getBoundingClientRect();
        show(marks[next], place.right, place.bottom);
    });
    document.addEventListener('focusout', () => {
        unmark();
        show(null);
    });
}
/// A chart's marks can be reached by the arrow keys; `across` marks lie between one and its neighbour to the right.
function by_keys(chart, across = 1) {
    chart.setAttribute('tabindex', 0);
    chart.dataset.across = across;
    return chart;
}

function digits(value) {
    const size = Math.abs(value);
    return value.toFixed(size < 10 ? 3 : size < 100 ? 2 : 1);
}
function time_unit(ns) {
    const size = Math.abs(ns);
    return size < 1e3 ? ['ns', 1] : size < 1e6 ? ['us', 1e3] : size < 1e9 ? ['ms', 1e6] : ['s', 1e9];
}
function time_text(ns) {
    if (ns === 0) return '0';
    const [name, factor] = time_unit(ns);
    return `${digits(ns / factor)} ${name}`;
}
/// Without needless zeros, for axes.
function short_time(ns) {
    if (ns === 0) return '0';
    const [name, factor] = time_unit(ns);
    return `${+ (ns / factor).toPrecision(4)} ${name}`;
}
function interval_text(e) {
    const [, factor] = time_unit(e.value);
    return `[${digits(e.low / factor)}, ${digits(e.high / factor)}]`;
}
function bytes_text(bytes) {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let i = 0;
    while (bytes >= 1024 && i + 1 < units.length) {
        bytes /= 1024;
        ++i;
    }
    return `${+ bytes.toPrecision(4)} ${units[i]}`;
}
const percent = share => `${(100 * share).toFixed(1)} %`;
