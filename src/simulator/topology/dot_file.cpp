// A graph in the dot language. Vertices with one cable are endpoints, the others switches.
//
// An edge of a graph (a -- b) is a cable. In a digraph, the edges a -> b and b -> a are the two directions of one. The
// attribute comment="h1,h2" of a directed edge, as ORCS has it, lists the endpoints for which messages take it; "*" is
// for all that no other edge lists.
#include "simulator/topology/generators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

namespace rubato::simulator {
namespace {

struct token {
    std::string text{};
    std::size_t line = 0;
    bool is_name = false;  ///< a word, a number or a quoted text

    bool is(std::string_view symbol) const { return !is_name && text == symbol; }
};

class dot_reader {
public:
    dot_reader(std::string_view content, const std::string& file) : rest_(content), file_(file) {}

    network read() {
        next();
        if (word("strict")) next();
        directed_ = word("digraph");
        if (!directed_ && !word("graph")) fail("a graph or digraph begins a file", "write graph { a -- b }");
        next();
        if (now_.is_name) next();
        if (!now_.is("{")) fail("the statements of a graph stand in braces", "write graph { a -- b }");
        for (next(); !now_.is("}");) {
            if (now_.text.empty() && !now_.is_name) fail("the file ends within the graph", "add }");
            statement();
        }
        return build();
    }

private:
    struct edge {
        std::size_t from;
        std::size_t to;
        std::string destinations;
        std::size_t line;
    };

    [[noreturn]] void fail(std::string_view reason, std::string_view way_out, std::size_t line = 0) const {
        throw error(fmt::format("network '{}', line {}", file_, line > 0 ? line : now_.line), reason, way_out);
    }
    bool word(std::string_view w) const {
        return now_.is_name && std::ranges::equal(now_.text, w, {}, [](char c) { return std::tolower(c); });
    }

    void skip_to(std::string_view mark) {
        const std::size_t end = std::min(rest_.find(mark), rest_.size());
        line_ += static_cast<std::size_t>(std::ranges::count(rest_.substr(0, end), '\n'));
        rest_.remove_prefix(std::min(end + (mark == "\n" ? 0 : mark.size()), rest_.size()));
    }
    void skip_blanks() {
        while (!rest_.empty()) {
            if (rest_.front() == '\n') {
                ++line_;
                rest_.remove_prefix(1);
                if (rest_.starts_with('#')) skip_to("\n");
            } else if (std::isspace(static_cast<unsigned char>(rest_.front())) != 0) {
                rest_.remove_prefix(1);
            } else if (rest_.starts_with("//")) {
                skip_to("\n");
            } else if (rest_.starts_with("/*")) {
                skip_to("*/");
            } else {
                return;
            }
        }
    }
    static bool in_word(char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' ||
               static_cast<signed char>(c) < 0;
    }

    void next() {
        skip_blanks();
        now_ = {"", line_, false};
        if (rest_.empty()) return;
        if (rest_.starts_with("--") || rest_.starts_with("->")) {
            now_.text = rest_.substr(0, 2);
            rest_.remove_prefix(2);
        } else if (rest_.front() == '"') {
            now_.is_name = true;
            rest_.remove_prefix(1);
            for (; !rest_.starts_with('"'); rest_.remove_prefix(1)) {
                if (rest_.empty()) fail("a quoted text does not end", "add \"");
                if (rest_.starts_with("\\\"")) rest_.remove_prefix(1);
                if (rest_.front() == '\n') ++line_;
                now_.text += rest_.front();
            }
            rest_.remove_prefix(1);
        } else {
            const auto end = std::ranges::find_if_not(rest_.substr(rest_.front() == '-' ? 1 : 0), in_word);
            const auto length = static_cast<std::size_t>(end - rest_.begin());
            now_.is_name = length > 0 && in_word(rest_[length - 1]);
            now_.text = rest_.substr(0, now_.is_name ? length : 1);
            rest_.remove_prefix(now_.text.size());
        }
    }

    std::size_t vertex_named(const std::string& name) {
        const auto [found, added] = numbers_.try_emplace(name, names_.size());
        if (added) names_.push_back(name);
        return found->second;
    }

    /// A name, perhaps with ports, which are read over: a:b:c
    std::string node() {
        if (!now_.is_name) fail(fmt::format("'{}' where a vertex is expected", now_.text), "write its name");
        std::string name = now_.text;
        for (next(); now_.is(":"); next()) next();
        return name;
    }

    /// [name=value, ...]: the value of `comment`.
    std::string attributes() {
        std::string comment;
        while (now_.is("[")) {
            for (next(); !now_.is("]");) {
                const bool wanted = word("comment");
                if (!now_.is_name) fail(fmt::format("'{}' where an attribute is expected", now_.text), "add ]");
                next();
                if (now_.is("=")) {
                    next();
                    if (wanted) comment = now_.text;
                    next();
                }
                if (now_.is(",") || now_.is(";")) next();
            }
            next();
        }
        return comment;
    }

    void statement() {
        if (now_.is(";") || now_.is(",")) return next();
        if (now_.is("{") || word("subgraph")) fail("subgraphs are not read", "list vertices and edges in one graph");
        if (word("graph") || word("node") || word("edge")) {
            next();
            attributes();
            return;
        }
        const std::size_t line = now_.line;
        const std::string first = node();
        if (now_.is("=")) {  // an attribute of the graph
            next();
            return next();
        }
        std::vector<std::size_t> chain{vertex_named(first)};
        while (now_.is("--") || now_.is("->")) {
            if (now_.is("->") != directed_)
                fail(directed_ ? "'--' in a digraph" : "'->' in a graph", directed_ ? "write ->" : "write --");
            next();
            chain.push_back(vertex_named(node()));
        }
        const std::string destinations = attributes();
        for (std::size_t i = 1; i < chain.size(); ++i) {
            if (chain[i] == chain[i - 1]) fail("a cable from a vertex to itself", "remove it", line);
            edges_.push_back({chain[i - 1], chain[i], directed_ ? destinations : "", line});
        }
    }

    /// The cable of each edge. In a digraph, edges of opposite directions share one, in their order.
    std::vector<std::size_t> cables_of_edges() {
        std::vector<std::size_t> of_edge;
        std::map<std::pair<std::size_t, std::size_t>, std::vector<std::size_t>> lacking;
        std::size_t count = 0;
        for (const edge& e : edges_) {
            std::vector<std::size_t>& back = lacking[{e.to, e.from}];
            if (!back.empty() && directed_) {
                of_edge.push_back(back.front());
                back.erase(back.begin());
            } else {
                lacking[{e.from, e.to}].push_back(count);
                of_edge.push_back(count++);
            }
        }
        return of_edge;
    }

    network build() {
        const std::vector<std::size_t> of_edge = cables_of_edges();
        const std::size_t count = of_edge.empty() ? 0 : *std::ranges::max_element(of_edge) + 1;
        std::vector<std::uint32_t> degree(names_.size(), 0);
        std::vector<bool> counted(count, false);
        for (std::size_t i = 0; i < edges_.size(); ++i) {
            if (counted[of_edge[i]]) continue;
            counted[of_edge[i]] = true;
            ++degree[edges_[i].from];
            ++degree[edges_[i].to];
        }
        std::vector<vertex> of_name(names_.size());
        std::vector<std::string> ordered;
        for (const bool switches : {false, true})
            for (std::size_t i = 0; i < names_.size(); ++i)
                if ((degree[i] != 1) == switches) {
                    of_name[i] = static_cast<vertex>(ordered.size());
                    ordered.push_back(names_[i]);
                }
        const auto endpoints = static_cast<vertex>(std::ranges::count(degree, 1U));
        if (endpoints == 0)
            throw error(fmt::format("network '{}' has no endpoint", file_), "endpoints are the vertices with one cable",
                        "add some");
        std::vector<cable> cables(count);
        for (std::size_t i = edges_.size(); i-- > 0;)
            cables[of_edge[i]] = {of_name[edges_[i].from], of_name[edges_[i].to]};
        network net(fmt::format("file:{}", file_), endpoints, static_cast<vertex>(names_.size()) - endpoints,
                    std::move(cables), std::move(ordered));
        if (std::ranges::any_of(edges_, [](const edge& e) { return !e.destinations.empty(); }))
            read_tables(net, of_edge, of_name);
        return net;
    }

    void read_tables(network& net, const std::vector<std::size_t>& of_edge, const std::vector<vertex>& of_name) {
        net.tables.assign(std::size_t{net.endpoints()} * net.switches(), no_port);
        for (const bool for_all : {false, true})
            for (std::size_t i = 0; i < edges_.size(); ++i) {
                const edge& e = edges_[i];
                const vertex from = of_name[e.from];
                if (!net.is_switch(from) || (e.destinations == "*") != for_all) continue;
                const channel c = static_cast<channel>(
                    2 * of_edge[i] + (net.tail(static_cast<channel>(2 * of_edge[i])) == from ? 0 : 1));
                const port p = net.port_of(c);
                const auto set = [&](vertex to) {
                    port& entry = net.tables[net.entry(to, from)];
                    if (entry == no_port) entry = p;
                };
                if (for_all) {
                    for (vertex to = 0; to < net.endpoints(); ++to) set(to);
                    continue;
                }
                for (const std::string_view name : base::split_fields(e.destinations)) {
                    const auto found = numbers_.find(std::string(name));
                    if (found == numbers_.end() || net.is_switch(of_name[found->second]))
                        fail(fmt::format("'{}' in a comment is no endpoint", name), "correct or remove it", e.line);
                    set(of_name[found->second]);
                }
            }
        // An endpoint's own switch needs no entry.
        for (vertex to = 0; to < net.endpoints(); ++to)
            net.tables[net.entry(to, net.switch_of(to))] = net.port_to(net.switch_of(to), to);
    }

    std::string_view rest_;
    const std::string& file_;
    std::size_t line_ = 1;
    token now_{};
    bool directed_ = false;
    std::vector<std::string> names_{};
    std::map<std::string, std::size_t> numbers_{};
    std::vector<edge> edges_{};
};

}  // namespace

network read_dot(std::string_view content, const std::string& file) { return dot_reader(content, file).read(); }

}  // namespace rubato::simulator
