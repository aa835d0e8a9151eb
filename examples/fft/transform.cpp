#include "transform.hpp"

#include <cmath>
#include <numbers>

namespace fft {
namespace {

/// Without the test for infinities that the language requires of operator*, which takes longer than the product.
complex product(complex a, complex b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

fftwf_complex* raw(complex* at) { return reinterpret_cast<fftwf_complex*>(at); }
fftwf_complex* raw(const complex* at) { return raw(const_cast<complex*>(at)); }  // FFTW_PRESERVE_INPUT

/// Plans that are measured take minutes where FFTW has no cycle counter, and would differ from rank to rank.
constexpr unsigned plan_flags = FFTW_ESTIMATE;

/// Small signals are not worth waking threads for.
constexpr std::size_t worth_threads = 4096;

}  // namespace

stage::stage(std::size_t n, std::size_t parts, int threads)
    : parts_(parts), length_(n / parts), threads_(n < worth_threads ? 1 : threads), twiddles_(n) {
    for (std::size_t r = 0; r < parts_; ++r)
        for (std::size_t j = 0; j < length_; ++j) {
            const double turn = static_cast<double>(r * j % n) / static_cast<double>(n);
            twiddles_[r * length_ + j] = std::polar(1.0, -2 * std::numbers::pi * turn);
        }
    signal in(n);
    signal out(n);
    const int radix = static_cast<int>(parts);
    const int stride = static_cast<int>(length_);
    butterflies_.reset(fftwf_plan_many_dft(1, &radix, stride, raw(in.data()), nullptr, stride, 1, raw(out.data()),
                                           nullptr, stride, 1, FFTW_FORWARD, plan_flags | FFTW_PRESERVE_INPUT));
}

void stage::split(const signal& in, signal& out) const {
    fftwf_execute_dft(butterflies_.get(), raw(in.data()), raw(out.data()));
    complex* to = out.data();
    const complex* twiddles = twiddles_.data();
    // The first part's factors are all 1.
#pragma omp parallel for num_threads(threads_)
    for (std::size_t i = length_; i < twiddles_.size(); ++i) to[i] = product(to[i], twiddles[i]);
}

void stage::join(const signal& transformed, signal& out) const {
    const complex* from = transformed.data();
    complex* to = out.data();
#pragma omp parallel for num_threads(threads_)
    for (std::size_t q = 0; q < length_; ++q)
        for (std::size_t r = 0; r < parts_; ++r) to[parts_ * q + r] = from[r * length_ + q];
}

halved_transform::halved_transform(std::size_t n, int threads) : stage_(n, 2, threads), halves_(n), plans_{} {
    for (std::size_t h = 0; h < 2; ++h) {
        fftwf_complex* half = raw(&halves_[h * n / 2]);
        plans_[h].reset(fftwf_plan_dft_1d(static_cast<int>(n / 2), half, half, FFTW_FORWARD, plan_flags));
    }
}

void halved_transform::first_half(const signal& in) {
    stage_.split(in, halves_);
    fftwf_execute(plans_[0].get());
}

void halved_transform::second_half(signal& out) {
    fftwf_execute(plans_[1].get());
    stage_.join(halves_, out);
}

signal reference(const signal& in) {
    signal out(in.size());
    const plan whole(fftwf_plan_dft_1d(static_cast<int>(in.size()), raw(in.data()), raw(out.data()), FFTW_FORWARD,
                                       plan_flags | FFTW_PRESERVE_INPUT));
    fftwf_execute(whole.get());
    return out;
}

double relative_error(const signal& got, const signal& want) {
    double difference = 0;
    double size = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
        difference += std::norm(std::complex<double>(got[i]) - std::complex<double>(want[i]));
        size += std::norm(std::complex<double>(want[i]));
    }
    return std::sqrt(difference / size);
}

#ifdef _OPENMP
void use_threads(int threads) {
    fftwf_init_threads();
    fftwf_plan_with_nthreads(threads);
}
bool has_threads() { return true; }
#else
void use_threads(int) {}
bool has_threads() { return false; }
#endif

}  // namespace fft
