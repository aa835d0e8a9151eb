#include "base/core/text.hpp"
#include "rubato/arrival.hpp"
#include "simulator/programs/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <sstream>

namespace rubato::simulator {
namespace {

constexpr std::int64_t most_times = 1 << 22;  // of all ranks: they compute, or make a call
constexpr std::int64_t most_repeats = 1'000'000'000;
constexpr std::int64_t largest = std::int64_t{1} << 40;  // bytes

struct statement {
    std::size_t line = 0;
    std::int64_t repeats = 0;              ///< of the statements in its block
    std::vector<std::string> computing{};  ///< terms
    std::optional<std::size_t> call{};
    std::vector<statement> block{};
};

std::vector<std::string> words_of(const std::string& line) {
    std::istringstream words(line);
    return {std::istream_iterator<std::string>(words), {}};
}

class program_text_reader {
public:
    program_text_reader(const std::string& name, std::int32_t ranks) : name_(name) {
        made_.ranks = ranks;
        given_ = ranks > 0;
    }

    program read(std::string_view text) {
        lines_ = base::lines_of(text, name_, "program");
        for (base::numbered_line& l : lines_) l.text = l.text.substr(0, l.text.find('#'));
        std::vector<statement> all;
        read_block(all, nullptr);
        for (const statement& s : all) run(s);
        if (left_) made_.events.push_back({made_.calls.size(), std::move(computing_)});
        if (made_.events.empty())
            throw error(fmt::format("program '{}' does nothing", name_), "it has no statement that computes or calls",
                        "add one, such as compute 5ms");
        return std::move(made_);
    }

private:
    [[noreturn]] static void wrong(const std::string& problem, std::string_view reason, std::string_view way_out) {
        throw error(problem, reason, way_out);
    }
    template <class Work>
    void at_line(std::size_t number, Work work) const {
        try {
            work();
        } catch (const error& e) {
            throw error(fmt::format("line {} of program '{}': {}", number, name_, e.what()));
        }
    }

    enum class then { next_line, block, end_of_block };

    /// Up to the end of the block that `repeat` has opened, or of the text.
    void read_block(std::vector<statement>& to, const base::numbered_line* repeat) {
        while (at_ < lines_.size()) {
            const base::numbered_line& line = lines_[at_++];
            then what{};
            at_line(line.number, [&] { what = read_line(line, words_of(line.text), to, repeat != nullptr); });
            if (what == then::end_of_block) return;
            if (what == then::next_line) continue;
            read_block(to.back().block, &line);
            if (to.back().block.empty()) to.pop_back();  // repeating nothing could take long
        }
        if (repeat != nullptr)
            at_line(repeat->number, [] { wrong("repeat", "its block has no end", "end it with }"); });
    }
    then read_line(const base::numbered_line& line, const std::vector<std::string>& words, std::vector<statement>& to,
                   bool inside) {
        if (words.empty()) return then::next_line;
        const std::string& first = words[0];
        if (first == "}") {
            if (!inside || words.size() > 1)
                wrong(fmt::format("'{}'", line.text), "} ends a repeat, alone on its line", "correct it");
            return then::end_of_block;
        }
        if (first == "ranks") {
            take(words, 2, "ranks N");
            if (has_ranks_ || !to.empty() || inside) wrong("ranks", "it comes once, before all else", "move it");
            has_ranks_ = true;
            const auto n = static_cast<std::int32_t>(parse_integer(words[1], "number of ranks", 1, 1 << 20));
            if (!given_) made_.ranks = n;
            return then::next_line;
        }
        if (made_.ranks == 0)
            wrong(fmt::format("'{}'", first), "the number of ranks is not known yet",
                  "begin with ranks N, or give --ranks");
        statement s;
        s.line = line.number;
        if (first == "repeat") {
            if (words.size() != 3 || words[2] != "{")
                wrong(fmt::format("'{}'", line.text), "it should read repeat N {", "correct it");
            s.repeats = parse_integer(words[1], "number of repeats", 0, most_repeats);
            to.push_back(std::move(s));
            return then::block;
        }
        if (first == "compute") {
            if (words.size() < 2) wrong("compute", "it says for how long", "give a time or a pattern");
            s.computing.assign(words.begin() + 1, words.end());
            draw(s, 0);  // so that a mistake shows even if it is never run
        } else if (first == "exchange") {
            take(words, 3, "exchange GRAPH SIZE");
            program_call c;
            c.what = collective::neighbor_alltoall;
            c.use = &find_algorithm("neighbor_alltoall/direct");
            c.neighbours = parse_graph(words[1], made_.ranks);
            c.graph_text = words[1];
            c.chunk = size(words[2]);
            s.call = add(std::move(c), line.number);
        } else {
            s.call = add(read_call(words), line.number);
        }
        to.push_back(std::move(s));
        return then::next_line;
    }
    static void take(const std::vector<std::string>& words, std::size_t count, std::string_view form) {
        if (words.size() != count)
            wrong(fmt::format("'{}'", fmt::join(words, " ")), fmt::format("it should read {}", form), "correct it");
    }
    static std::int64_t size(std::string_view text) {
        const std::int64_t bytes = parse_bytes(text);
        if (bytes > largest)
            wrong(fmt::format("{} bytes", bytes), "sizes of up to 1024 GiB can be simulated", "give a smaller size");
        return bytes;
    }

    program_call read_call(const std::vector<std::string>& words) const {
        program_call c;
        if (words[0].find('/') != std::string::npos) {
            c.use = &find_algorithm(words[0]);
            c.what = c.use->what;
        } else {
            c.what = parse_collective(words[0]);
        }
        const collective_traits& t = traits(c.what);
        std::size_t next = 1;
        if (t.moves_data()) {
            if (words.size() < 2) wrong(words[0], "it moves data", "give a size, such as 64KiB");
            const std::int32_t chunks = t.sized_chunks(made_.ranks);
            c.chunk = (size(words[next++]) + chunks - 1) / chunks;
        }
        for (; next < words.size(); ++next) read_parameter(c, words[next]);
        if ((c.neighbours != nullptr) != t.on_graph)
            wrong(words[0], t.on_graph ? "it needs a graph" : "it has no neighbours",
                  t.on_graph ? "add one, such as graph=ring" : "remove graph=");
        return c;
    }
    void read_parameter(program_call& c, std::string_view word) const {
        const std::size_t equals = word.find('=');
        const std::string_view name = word.substr(0, equals);
        const std::string_view value = equals == std::string_view::npos ? "" : word.substr(equals + 1);
        if (name == "root") {
            if (!traits(c.what).rooted)
                wrong(std::string(word), fmt::format("a {} has no root", traits(c.what).name), "remove it");
            c.root = rank(static_cast<std::int32_t>(parse_integer(value, "rank", 0, made_.ranks - 1)));
        } else if (name == "segments") {
            if (c.use == nullptr || !c.use->segmented)
                wrong(std::string(word), "only an algorithm that is named, and cuts vectors, has segments",
                      "remove it, or name one");
            c.segments = static_cast<std::uint32_t>(parse_integer(value, "number of segments", 1, 1 << 20));
        } else if (name == "graph") {
            c.neighbours = parse_graph(value, made_.ranks);
            c.graph_text = value;
        } else {
            wrong(fmt::format("'{}'", word), "a call has a size, root=R, segments=N and graph=GRAPH", "correct it");
        }
    }
    std::size_t add(program_call c, std::size_t line) {
        c.place = fmt::format("line {}", line);
        made_.calls.push_back(std::move(c));
        return made_.calls.size() - 1;
    }

    /// The times of all terms, of the n-th drawing.
    std::vector<time_ns> draw(const statement& s, std::int64_t n) const {
        std::vector<time_ns> sum(static_cast<std::size_t>(made_.ranks));
        for (const std::string& term : s.computing) {
            const bool one_for_all = term.find_first_of(":,") == std::string::npos && term != "balanced";
            const std::vector<time_ns> times =
                one_for_all ? std::vector<time_ns>(sum.size(), parse_time(term)) : parse_arrivals(term, made_.ranks, n);
            for (std::size_t r = 0; r < sum.size(); ++r) sum[r] += times[r];
        }
        return sum;
    }
    void run(const statement& s) {
        for (std::int64_t i = 0; i < s.repeats; ++i)
            for (const statement& inner : s.block) run(inner);
        if (!s.computing.empty()) {
            at_line(s.line, [&] {
                count();
                const std::vector<time_ns> more = draw(s, drawn_++);
                computing_.resize(more.size());
                for (std::size_t r = 0; r < more.size(); ++r) computing_[r] += more[r];
            });
            left_ = true;
        }
        if (!s.call) return;
        at_line(s.line, [&] { count(); });
        computing_.resize(static_cast<std::size_t>(made_.ranks));
        made_.events.push_back({*s.call, std::move(computing_)});
        computing_.clear();
        left_ = false;
    }
    void count() {
        done_ += made_.ranks;
        if (done_ > most_times)
            wrong(fmt::format("more than {} calls of {} ranks", most_times / made_.ranks, made_.ranks),
                  "that is too large to simulate", "give fewer ranks or repeats");
    }

    const std::string& name_;
    program made_{};
    bool given_ = false;  // the number of ranks, by the caller
    bool has_ranks_ = false;
    std::vector<base::numbered_line> lines_{};
    std::size_t at_ = 0;
    std::int64_t drawn_ = 0;
    std::int64_t done_ = 0;
    std::vector<time_ns> computing_{};  // since the last call
    bool left_ = false;                 // some of it
};

}  // namespace

program parse_program(std::string_view text, const std::string& name, std::int32_t ranks) {
    return program_text_reader(name, ranks).read(text);
}

program read_program(const std::string& file, std::int32_t ranks) {
    return parse_program(base::read_text(file, "program"), file, ranks);
}

}  // namespace rubato::simulator
