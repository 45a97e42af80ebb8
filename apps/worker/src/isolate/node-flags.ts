/** What the parent runs instead of a file; the argument follows. */
const INSTEAD_OF_FILE = new Set(['-e', '--eval', '-p', '--print', '--input-type'])
/** One of a kind: a debugger's port, a profile, the parent's own limits. */
const OWN = /^--(inspect|cpu-prof|heap-prof|prof|max-old-space-size|max_old_space_size|watch|test)/

/** The flags of Node that a child needs to load what its parent has loaded: loaders, conditions. */
export function inheritedFlags(flags: readonly string[] = process.execArgv): string[] {
  return flags.filter((flag, i) => {
    const before = flags[i - 1]
    return !OWN.test(flag) && !INSTEAD_OF_FILE.has(flag) && !(before && INSTEAD_OF_FILE.has(before))
  })
}
