/** Flags that are not for a child, and whose argument may follow as a word: what runs instead of a file, and secrets. */
const WITH_ARGUMENT = new Set([
  ...['-e', '--eval', '-p', '--print', '--input-type'],
  ...['--env-file', '--env-file-if-exists'],
])
/** One of a kind: a debugger's port, a profile, the parent's own limits and variables. */
const OWN = /^--(inspect|cpu-prof|heap-prof|prof|max-old-space-size|max_old_space_size|watch|test|env-file)/

/** The flags of Node that a child needs to load what its parent has loaded: loaders, conditions. */
export function inheritedFlags(flags: readonly string[] = process.execArgv): string[] {
  return flags.filter((flag, i) => {
    const before = flags[i - 1]
    return !OWN.test(flag) && !WITH_ARGUMENT.has(flag) && !(before && WITH_ARGUMENT.has(before))
  })
}
