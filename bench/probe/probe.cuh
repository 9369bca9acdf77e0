// What the probes in CUDA share. They are for compute capability 9.0.
#pragma once

#include "measure.hpp"
#include "registered.hpp"
#include "replay.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace catena::probe {

using bench::buffer;
using bench::check;

inline int device_says(cudaDeviceAttr what) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, what, 0), "asking for an attribute of device 0");
    return value;
}
inline int sms() { return device_says(cudaDevAttrMultiProcessorCount); }

/// The median time of one of `launches` launches in a graph that is replayed.
inline double median_us(const bench::timed& what, int launches) {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreate(&stream), "creating a stream");
    std::vector<double> us(9);
    {
        const bench::replay graph(what, launches, stream);
        for (double& one : us) one = graph.by_events();
    }
    check(cudaStreamDestroy(stream), "destroying a stream");
    std::nth_element(us.begin(), us.begin() + 4, us.end());
    return us[4];
}

/// A value in memory that the host and the device see.
template <class T>
class shared_value {
  public:
    shared_value() { check(cudaMallocManaged(&at_, sizeof(T)), "cudaMallocManaged"), *at_ = {}; }
    ~shared_value() { cudaFree(at_); }
    shared_value(const shared_value&) = delete;
    shared_value& operator=(const shared_value&) = delete;

    T* device() const { return at_; }
    T get() const {
        check(cudaGetLastError(), "launching");
        check(cudaDeviceSynchronize(), "waiting for the device");
        return *at_;
    }

  private:
    T* at_ = nullptr;
};

}  // namespace catena::probe
