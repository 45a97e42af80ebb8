/** The first Node that runs the TypeScript of the templates without a flag. */
const OLDEST = [22, 18] as const

/** What is wrong with this version of Node; null: nothing. */
export function problemOfNode(version: string): string | null {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isOld = major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])
  return isOld ? `Node ${OLDEST.join('.')} or newer is needed; this is ${version}` : null
}
