// rz_device_ceilings: figures that a machine can have, for every kernel set, and what a host can get wrong.
#include <sys/resource.h>

#include <cstddef>

#include "api/host.h"
#include "support/kernel_sets.h"

namespace rz::test {
namespace {

rz_ceilings ceilings(const char *device, int32_t threads) {
  rz_ceilings out = RZ_INIT(rz_ceilings);
  rz_error err = RZ_INIT(rz_error);
  EXPECT_EQ(rz_device_ceilings(device, threads, &out, &err), RZ_OK) << err.message;
  return out;
}

// One core: less than a tenth of what slow ones do, or ten times the fastest, is no measurement. And wider
// words do more than narrow ones: multiplies that were optimized away, or worked in memory, show here.
TEST(Ceilings, AreThoseOfAMachineAndRiseWithTheInstructionSet) {
  double int8 = 1e7, floats = 1e7;
  for (const std::string &set : kernel_sets()) {  // narrow ones first
    const rz_ceilings c = ceilings(("cpu:" + set).c_str(), 1);
    EXPECT_EQ(c.threads, 1);
    EXPECT_GT(c.read_bytes_per_s, 1e8) << set;
    EXPECT_LT(c.read_bytes_per_s, 1e12) << set;
    EXPECT_GT(c.int8_ops_per_s, int8) << set;
    EXPECT_LT(c.int8_ops_per_s, 2e13) << set;
    EXPECT_GT(c.float_ops_per_s, 0.8 * floats) << set;  // one unit of 512 bits may be two of 256
    EXPECT_LT(c.float_ops_per_s, 5e12) << set;
    int8 = c.int8_ops_per_s;
    floats = c.float_ops_per_s;
  }
}

TEST(Ceilings, DoNotFallToHalfWithMoreThreads) {
  const rz_ceilings one = ceilings("cpu", 1), all = ceilings("cpu", 0);
  EXPECT_GE(all.threads, 1);
  EXPECT_GT(all.read_bytes_per_s, 0.5 * one.read_bytes_per_s);
  EXPECT_GT(all.int8_ops_per_s, 0.5 * one.int8_ops_per_s);
  EXPECT_GT(all.float_ops_per_s, 0.5 * one.float_ops_per_s);
}

TEST(Ceilings, RefuseDevicesAndThreadsThatCannotBe) {
  rz_ceilings out = RZ_INIT(rz_ceilings);
  rz_error err = RZ_INIT(rz_error);
  EXPECT_EQ(rz_device_ceilings("abacus", 1, &out, &err), RZ_E_ARGUMENT);
  EXPECT_NE(std::string(err.message).find("abacus"), std::string::npos);
  EXPECT_EQ(rz_device_ceilings("cpu:abacus", 1, &out, &err), RZ_E_ARGUMENT);
  for (const int32_t threads : {-1, 1025, INT32_MIN, INT32_MAX}) {
    EXPECT_EQ(rz_device_ceilings("cpu", threads, &out, &err), RZ_E_ARGUMENT) << threads;
    EXPECT_NE(std::string(err.message).find("threads"), std::string::npos);
  }
  out.struct_size = 0;
  EXPECT_EQ(rz_device_ceilings("cpu", 1, &out, &err), RZ_E_ARGUMENT);
  EXPECT_NE(std::string(err.message).find("struct_size"), std::string::npos);
}

TEST(Ceilings, GoIntoAShorterStruct) {
  rz_ceilings out{};
  out.struct_size = offsetof(rz_ceilings, int8_ops_per_s);
  out.int8_ops_per_s = -1;
  RZ_OK_OR_FAIL(rz_device_ceilings("cpu", 1, &out, &err));
  EXPECT_EQ(out.threads, 1);
  EXPECT_GT(out.read_bytes_per_s, 0);
  EXPECT_EQ(out.int8_ops_per_s, -1);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they reserve more than any limit
TEST(Ceilings, SayWhenThereIsNoMemory) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  rlimit tight = before;
  tight.rlim_cur = rlim_t{200} << 20;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &tight), 0);
  rz_ceilings out = RZ_INIT(rz_ceilings);
  rz_error err = RZ_INIT(rz_error);
  const rz_status status = rz_device_ceilings("cpu", 1, &out, &err);
  setrlimit(RLIMIT_AS, &before);
  EXPECT_EQ(status, RZ_E_NOMEM);
  EXPECT_NE(err.message[0], 0);
  EXPECT_EQ(out.threads, 0);
}
#endif

}  // namespace
}  // namespace rz::test
