// A transform cut into independent ones by decimation in frequency, with FFTW for what remains.
//
// Let n = parts * m, and e(x) = exp(-2 pi i x). With the outputs taken in the order k = parts * q + r,
//   X[parts * q + r] = sum over j < m of e(j q / m) y_r[j],
//   y_r[j] = e(j r / n) * sum over s < parts of e(s r / parts) x[j + s m],
// so each y_r is transformed alone. The inner sum is the butterfly of radix `parts`, the factor before it
// the twiddle factor. Parts that are no power of two need nothing special, they must only divide n.
#pragma once

#include <fftw3.h>

#include <array>
#include <complex>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

namespace fft {

using complex = std::complex<float>;

/// FFTW's plans are made for memory that is aligned as FFTW aligns it.
template <class T>
struct aligned {
    using value_type = T;
    aligned() = default;
    template <class U>
    aligned(const aligned<U>&) {}
    T* allocate(std::size_t n) {
        if (void* memory = fftwf_malloc(n * sizeof(T))) return static_cast<T*>(memory);
        throw std::bad_alloc();
    }
    void deallocate(T* memory, std::size_t) { fftwf_free(memory); }
    bool operator==(const aligned&) const { return true; }
};
using signal = std::vector<complex, aligned<complex>>;

struct destroy_plan {
    void operator()(fftwf_plan p) const { fftwf_destroy_plan(p); }
};
using plan = std::unique_ptr<std::remove_pointer_t<fftwf_plan>, destroy_plan>;

/// One stage of decimation in frequency: n numbers become `parts` independent signals, one after the other.
class stage {
public:
    /// `parts` divides n.
    stage(std::size_t n, std::size_t parts, int threads);
    void split(const signal& in, signal& out) const;
    /// From the transforms of the parts, one after the other, the whole transform in its natural order.
    void join(const signal& transformed, signal& out) const;

private:
    std::size_t parts_;
    std::size_t length_;            // of a part
    [[maybe_unused]] int threads_;  // without OpenMP there is one
    signal twiddles_;
    plan butterflies_;
};

/// What one rank computes: a transform of n numbers, n even, in two halves of equal work, so that a rank can tell when
/// half of it is done.
class halved_transform {
public:
    halved_transform(std::size_t n, int threads);
    void first_half(const signal& in);
    void second_half(signal& out);

private:
    stage stage_;
    signal halves_;
    std::array<plan, 2> plans_;
};

/// FFTW alone, on this rank.
signal reference(const signal& in);
/// The distance of two signals as a share of the second's size; not a number if any element is not.
double relative_error(const signal& got, const signal& want);

/// Must be called once, before anything else here.
void use_threads(int threads);
/// Whether this was built with threads.
bool has_threads();

}  // namespace fft
