// 3:49: explicit instantiation of 'sum' does not refer to a function template, variable template, member function, member class, or static data member
template <typename T> kernel void add(device T* out) { out[0] += 1; }
template [[host_name("add_float")]] kernel void sum<float>(device float*);
