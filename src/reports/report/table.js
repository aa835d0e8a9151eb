// A table that can be sorted, and columns of kinds that recur.

/// columns: [{title, cell(row): node or text, value(row): to sort by, number, wrap, tip}]; a click on a title sorts. Enter
/// and the space bar do what a click does. mark() of the table shows anew which row is chosen.
const on_key = act => e => {
    if (e.target !== e.currentTarget || (e.key !== 'Enter' && e.key !== ' ')) return;
    e.preventDefault();
    act();
};
const known = v => v !== null && v !== undefined;

function table(columns, rows, {choose, chosen, row_class} = {}) {
    columns = columns.filter(Boolean);
    let order = [...rows];
    const body = html('tbody');
    const lines = new Map();
    const classes = list => list.filter(Boolean).join(' ') || null;
    const fill = () => body.replaceChildren(...order.map(r => {
        const act = choose && (() => choose(r));
        const keys = choose ? {tabindex: 0, 'aria-selected': chosen && chosen(r) ? 'true' : 'false', onkeydown: on_key(act)} : {};
        const kinds = classes([choose && 'choosable', chosen && chosen(r) && 'chosen', row_class && row_class(r)]);
        const line = html('tr', {class: kinds, onclick: act, ...keys}, ...columns.map(c => {
            const cell = html('td', {class: classes([c.number && 'number', c.wrap && 'wrap'])}, c.cell(r));
            if (known(c.value(r))) cell.dataset.value = c.value(r);
            return cell;
        }));
        lines.set(r, line);
        return line;
    }));
    const sort = (head, c) => {
        const down = head.getAttribute('aria-sort') === 'ascending';
        heads.forEach(h => h.removeAttribute('aria-sort'));
        head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        const rank = r => known(c.value(r)) ? c.value(r) : Infinity;
        order.sort((a, b) => {
            const [x, y] = [rank(a), rank(b)];
            return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
        });
        fill();
    };
    const heads = columns.map((c, i) => html('th', {
        class: c.number ? 'number' : null,
        title: c.tip,
        tabindex: 0,
        onkeydown: e => on_key(() => e.currentTarget.click())(e),
        onclick: () => sort(heads[i], c)
    }, c.title));
    fill();
    const made = html('table', {}, html('thead', {}, html('tr', {}, ...heads)), body);
    made.mark = () => lines.forEach((line, r) => {
        line.classList.toggle('chosen', chosen(r));
        line.setAttribute('aria-selected', chosen(r) ? 'true' : 'false');
    });
    return made;
}

/// The table of a section, which is hidden without rows.
function table_section(id, columns, rows, options) {
    at(`${id}_section`).hidden = !rows.length;
    if (rows.length) at(id).replaceChildren(table(columns, rows, options));
}

/// What get(row) says, as text(value, row); a dash where it says nothing.
const column = (title, get, text = v => v, more = {}) =>
    ({title, value: get, cell: r => known(get(r)) ? text(get(r), r) : '\u2013', ...more});
const number_column = (title, get, text, tip) => column(title, get, text, {tip, number: true});
const time_column = (title, get, tip) => number_column(title, get, time_text, tip);
const share_column = (title, get) => number_column(title, get, percent);
const size_column = get => number_column('Size', get, bytes_text);
const factor_text = v => `${v.toFixed(2)}\u00d7`;
/// A cell with a smaller line below.
const two_lines = (main, below, title) => html('span', {title}, main, html('i', {class: 'below'}, below));
