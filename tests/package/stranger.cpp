#include <rubato/algorithm.hpp>
#include <rubato/verify.hpp>

#include <cstdio>

int main() {
    rubato::problem p;
    p.what = rubato::collective::reduce;
    p.ranks = 8;
    const auto all = rubato::build_all(rubato::find_algorithm("reduce/binomial"), p);
    const auto findings = rubato::verify(p, all);
    std::printf("%zu schedules, %zu findings\n", all.size(), findings.size());
    return findings.empty() && all.size() == 8 ? 0 : 1;
}
