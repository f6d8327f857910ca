// A library, but no plugin.
namespace rz::test {
int nothing_to_see();
int nothing_to_see() { return 0; }
}  // namespace rz::test
