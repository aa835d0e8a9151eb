#include "base/core/text.hpp"
#include "simulator/programs/goal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <optional>

namespace rubato::simulator {
namespace {

/// Comments become blanks; lines keep their numbers.
std::string without_comments(std::string_view text, const std::string& name) {
    std::string out(text);
    std::uint64_t line = 1;
    for (std::size_t i = 0; i < out.size(); ++i) {
        if (out[i] == '\n') ++line;
        if (out[i] != '/' || i + 1 == out.size() || (out[i + 1] != '/' && out[i + 1] != '*')) continue;
        const bool to_end_of_line = out[i + 1] == '/';
        const std::size_t end = to_end_of_line ? out.find('\n', i) : out.find("*/", i + 2);
        if (end == std::string::npos && !to_end_of_line)
            throw error(fmt::format("line {} of GOAL file '{}': a comment that does not end", line, name),
                        "there is no */", "end it");
        const std::size_t stop = std::min(end == std::string::npos ? end : end + (to_end_of_line ? 0 : 2), out.size());
        for (; i < stop; ++i) {
            if (out[i] == '\n') ++line;
            if (out[i] != '\n') out[i] = ' ';
        }
        --i;
    }
    return out;
}

bool is_in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Words, numbers and single other characters; 8b is a number and a word.
std::vector<std::string_view> tokens_of(std::string_view line) {
    std::vector<std::string_view> tokens;
    for (std::size_t i = 0; i < line.size();) {
        if (std::isspace(static_cast<unsigned char>(line[i])) != 0) {
            ++i;
            continue;
        }
        std::size_t end = i + 1;
        if (is_digit(line[i]) || line[i] == '-')
            while (end < line.size() && is_digit(line[end])) ++end;
        else if (is_in_word(line[i]))
            while (end < line.size() && is_in_word(line[end])) ++end;
        tokens.push_back(line.substr(i, end - i));
        i = end;
    }
    return tokens;
}

class goal_text_reader {
public:
    std::vector<goal_rank> read(std::string_view text, const std::string& name) {
        base::check_is_text(text, name, "GOAL file");
        const std::string all = without_comments(text, name);
        std::string_view rest = all;
        try {
            for (line_ = 1; !rest.empty(); ++line_) {
                const std::size_t end = rest.find('\n');
                tokens_ = tokens_of(rest.substr(0, end));
                at_ = 0;
                read_line();
                if (end == std::string_view::npos) break;
                rest.remove_prefix(end + 1);
            }
            finish();
        } catch (const error& e) {
            throw error(fmt::format("line {} of GOAL file '{}': {}", line_, name, e.what()));
        }
        return std::move(ranks_);
    }

private:
    [[noreturn]] static void fail(const std::string& problem, std::string_view reason, std::string_view way_out) {
        throw error(problem, reason, way_out);
    }
    std::string_view peek() const { return at_ < tokens_.size() ? tokens_[at_] : std::string_view{}; }
    std::string_view next(std::string_view expected) {
        if (at_ == tokens_.size()) fail("the line ends", fmt::format("{} is expected", expected), "complete it");
        return tokens_[at_++];
    }
    void expect(std::string_view word) {
        if (const std::string_view found = next(word); found != word)
            fail(fmt::format("'{}'", found), fmt::format("'{}' is expected here", word), "correct it");
    }
    std::int64_t number(std::string_view what, std::int64_t low, std::int64_t high) {
        return parse_integer(next(what), what, low, high);
    }

    void read_line() {
        while (at_ < tokens_.size()) {
            const std::string_view word = tokens_[at_++];
            if (word == "num_ranks") {
                if (!ranks_.empty()) fail("num_ranks a second time", "there is one number of ranks", "remove it");
                ranks_.resize(static_cast<std::size_t>(number("number of ranks", 1, most_goal_ranks)));
                has_block_.resize(ranks_.size());
            } else if (word == "rank") {
                begin_rank();
            } else if (word == "}") {
                end_rank();
            } else {
                if (!now_) fail(fmt::format("'{}'", word), "it is in no rank's block", "begin one: rank 0 {");
                read_statement(word);
                if (at_ < tokens_.size() && peek() != "}")
                    fail(fmt::format("'{}'", peek()), "the line should end here", "put each operation on a line");
            }
        }
    }
    void begin_rank() {
        if (ranks_.empty()) fail("a rank", "the number of ranks is not known yet", "begin the file with num_ranks N");
        if (now_) fail("a rank within another", fmt::format("the block of rank {} has no end", *now_), "end it with }");
        now_ = static_cast<std::size_t>(number("rank", 0, static_cast<std::int64_t>(ranks_.size()) - 1));
        if (has_block_[*now_]) fail(fmt::format("rank {} a second time", *now_), "a rank has one block", "join them");
        has_block_[*now_] = true;
        expect("{");
    }
    /// Labels may stand after what requires them.
    void end_rank() {
        if (!now_) fail("'}'", "no rank's block is open", "remove it");
        const std::uint64_t end = line_;
        for (const waiting& w : waiting_) {
            line_ = w.line;
            ranks_[*now_].waits.push_back({op_of(w.op), op_of(w.other), w.begin});
            if (w.op == w.other) fail(fmt::format("{} requires itself", w.op), "it would never begin", "correct it");
        }
        line_ = end;
        waiting_.clear();
        labels_.clear();
        now_.reset();
    }
    std::uint32_t op_of(const std::string& label) const {
        const auto found = labels_.find(label);
        if (found == labels_.end())
            fail(fmt::format("label {}", label), fmt::format("no operation of rank {} has it", *now_),
                 "label one, or correct it");
        return found->second;
    }

    void read_statement(std::string_view word) {
        if (word == "send" || word == "recv" || word == "calc") return read_op(word, "");
        if (is_digit(word[0]) || !is_in_word(word[0]))
            fail(fmt::format("'{}'", word), "an operation, a label, rank or } is expected", "correct it");
        const std::string label(word);
        const std::string_view then = next("':', requires or irequires");
        if (then == ":") return read_op(next("send, recv or calc"), label);
        if (then != "requires" && then != "irequires")
            fail(fmt::format("'{}'", then), "':', requires or irequires is expected here", "correct it");
        waiting_.push_back({label, std::string(next("a label")), then == "irequires", line_});
    }
    void read_op(std::string_view word, const std::string& label) {
        goal_op op;
        op.line = line_;
        if (word == "calc") {
            op.size = number("number of nanoseconds", 0, INT64_MAX);
        } else if (word == "send" || word == "recv") {
            op.kind = word == "send" ? goal_kind::send : goal_kind::recv;
            op.size = number("number of bytes", 0, INT64_MAX);
            expect("b");
            expect(word == "send" ? "to" : "from");
            op.peer = static_cast<std::int32_t>(number("rank", -1, most_goal_ranks));
        } else {
            fail(fmt::format("'{}'", word), "send, recv or calc is expected here", "correct it");
        }
        std::int64_t cpu = 0;
        std::int64_t nic = 0;
        for (std::string_view more = peek(); more == "tag" || more == "cpu" || more == "nic"; more = peek()) {
            ++at_;
            const std::int64_t value = number(more, -1, UINT32_MAX - 1);
            if (more == "tag") op.tag = static_cast<std::uint32_t>(value);
            if (more == "cpu") cpu = value;
            if (more == "nic") nic = value;
        }
        check_goal_op(op, cpu, nic, ranks_.size());
        goal_rank& mine = ranks_[*now_];
        if (!label.empty() && !labels_.try_emplace(label, static_cast<std::uint32_t>(mine.ops.size())).second)
            fail(fmt::format("label {} a second time", label), "a label names one operation", "choose another");
        mine.ops.push_back(op);
    }

    void finish() const {
        if (now_) fail("the end", fmt::format("the block of rank {} has no end", *now_), "end it with }");
        if (ranks_.empty()) fail("the end", "there is no num_ranks", "begin the file with num_ranks N");
        for (std::size_t r = 0; r < ranks_.size(); ++r)
            if (!has_block_[r]) fail("the end", fmt::format("rank {} has no block", r), "give it one, or fewer ranks");
    }

    struct waiting {
        std::string op;
        std::string other;
        bool begin;
        std::uint64_t line;
    };

    std::vector<goal_rank> ranks_{};
    std::vector<bool> has_block_{};
    std::uint64_t line_ = 1;
    std::vector<std::string_view> tokens_{};
    std::size_t at_ = 0;
    // Of the rank whose block is open.
    std::optional<std::size_t> now_{};
    std::map<std::string, std::uint32_t, std::less<>> labels_{};
    std::vector<waiting> waiting_{};
};

}  // namespace

std::vector<goal_rank> parse_goal_text(std::string_view text, const std::string& name) {
    return goal_text_reader().read(text, name);
}

std::string goal_head(std::size_t ranks) { return fmt::format("num_ranks {}\n", ranks); }

std::string goal_text_of(std::int32_t rank, const goal_rank& one) {
    std::string out = fmt::format("\nrank {} {{\n", rank);
    const auto to = std::back_inserter(out);
    for (std::size_t i = 0; i < one.ops.size(); ++i) {
        const goal_op& op = one.ops[i];
        if (op.kind == goal_kind::calc)
            fmt::format_to(to, "l{}: calc {}\n", i + 1, op.size);
        else
            fmt::format_to(to, "l{}: {} {}b {} {} tag {}\n", i + 1, op.kind == goal_kind::send ? "send" : "recv",
                           op.size, op.kind == goal_kind::send ? "to" : "from", op.peer, op.tag);
    }
    for (const goal_wait& w : one.waits)
        fmt::format_to(to, "l{} {} l{}\n", w.op + 1, w.begin ? "irequires" : "requires", w.other + 1);
    return out + "}\n";
}

std::string goal_text(std::span<const goal_rank> all) {
    std::string out = goal_head(all.size());
    for (std::size_t r = 0; r < all.size(); ++r) out += goal_text_of(static_cast<std::int32_t>(r), all[r]);
    return out;
}

}  // namespace rubato::simulator
