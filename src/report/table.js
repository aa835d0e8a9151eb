// A table that can be sorted, and columns of kinds that recur.

/// columns: [{title, cell(row): node or text, value(row): to sort by, number, wrap, tip}]; a click on a title sorts. Enter
/// and the space bar do what a click does. mark() of the table shows anew which row is chosen.
const on_key = act => e => {
    if (e.target !== e.currentTarget || (e.key !== 'Enter' && e.key !== ' ')) return;
    e.preventDefault();
    act();
};

function table(columns, rows, {choose, chosen, row_class} = {}) {
    let order = [...rows];
    const body = html('tbody');
    const lines = new Map();
    const fill = () => body.replaceChildren(...order.map(r => {
        const classes = [
            choose && 'choosable', chosen && chosen(r) && 'chosen', row_class && row_class(r)
        ].filter(Boolean).join(' ');
        const act = choose && (() => choose(r));
        const keys = choose ? {tabindex: 0, 'aria-selected': chosen && chosen(r) ? 'true' : 'false', onkeydown: on_key(act)} : {};
        const line = html('tr', {class: classes || null, onclick: act, ...keys}, ...columns.map(c => {
            const cell = html(
                'td', {class: [c.number && 'number', c.wrap && 'wrap'].filter(Boolean).join(' ') || null}, c.cell(r));
            const value = c.value(r);
            if (value !== null && value !== undefined) cell.dataset.value = value;
            return cell;
        }));
        lines.set(r, line);
        return line;
    }));
    const heads = columns.map(
        c => html(
            'th', {
                class: c.number ? 'number' : null,
                title: c.tip,
                tabindex: 0,
                onkeydown: e => on_key(() => e.currentTarget.click())(e),
                onclick: () => {
                    const down = heads[columns.indexOf(c)].getAttribute('aria-sort') === 'ascending';
                    heads.forEach(h => h.removeAttribute('aria-sort'));
                    heads[columns.indexOf(c)].setAttribute('aria-sort', down ? 'descending' : 'ascending');
                    const rank = r => {
                        const v = c.value(r);
                        return v === null || v === undefined ? Infinity : v;
                    };
                    order.sort((a, b) => {
                        const [x, y] = [rank(a), rank(b)];
                        return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
                    });
                    fill();
                }
            },
            c.title));
    fill();
    const made = html('table', {}, html('thead', {}, html('tr', {}, ...heads)), body);
    made.mark = () => lines.forEach((line, r) => {
        line.classList.toggle('chosen', chosen(r));
        line.setAttribute('aria-selected', chosen(r) ? 'true' : 'false');
    });
    return made;
}

const time_column = (title, get, tip) => ({
    title,
    tip,
    number: true,
    value: get,
    cell: r => get(r) === null || get(r) === undefined ? '\u2013' : time_text(get(r))
});

function share_column(title, value) {
    return {title, number: true, value, cell: o => value(o) === null ? '\u2013' : percent(value(o))};
}
