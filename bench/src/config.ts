/** The server to measure on, or undefined: then one is started from npm. */
export function givenPostgres(): string | undefined {
  const url = process.env.DATABASE_URL
  return url && /^postgres(ql)?:/.test(url) ? url : undefined
}
