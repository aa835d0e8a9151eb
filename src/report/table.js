// A table that can be sorted, and columns of kinds that recur.

/// columns: [{title, cell(row): node or text, value(row): to sort by, number, wrap, tip}]; a click on a title sorts.
function table(columns, rows, {choose, chosen, row_class} = {}) {
    let order = [...rows];
    const body = html('tbody');
    const fill = () => body.replaceChildren(...order.map(r => {
        const classes = [
            choose && 'choosable', chosen && chosen(r) && 'chosen', row_class && row_class(r)
        ].filter(Boolean).join(' ');
        return html('tr', {class: classes || null, onclick: choose && (() => choose(r))}, ...columns.map(c => {
            const cell = html(
                'td', {class: [c.number && 'number', c.wrap && 'wrap'].filter(Boolean).join(' ') || null}, c.cell(r));
            const value = c.value(r);
            if (value !== null && value !== undefined) cell.dataset.value = value;
            return cell;
        }));
    }));
    const heads = columns.map(
        c => html(
            'th', {
                class: c.number ? 'number' : null,
                title: c.tip,
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
    return html('table', {}, html('thead', {}, html('tr', {}, ...heads)), body);
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
