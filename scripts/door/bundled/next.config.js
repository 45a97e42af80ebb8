export default {
  output: 'standalone',
  outputFileTracingRoot: import.meta.dirname,
}
