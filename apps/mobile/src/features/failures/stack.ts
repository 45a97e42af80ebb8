export interface Frames {
  /** True for frames of the user's code, false for those of libraries. */
  readonly isOwn: boolean
  readonly lines: readonly string[]
}

/** Libraries (Oncue among them), Node itself, and locations that are not a file. */
const FOREIGN = /[\\/]node_modules[\\/]|[\\/]@oncue[\\/]|\bnode:|\binternal[\\/]|<anonymous>|\[native code\]/
const FRAME = /^\s*at |^\S*@\S+:\d+/

/** The frames of a stack, grouped into runs of own and foreign frames. The message before them is left out. */
export function framesOf(stack: string): readonly Frames[] {
  const runs: { isOwn: boolean; lines: string[] }[] = []
  for (const line of stack.split('\n').filter((each) => FRAME.test(each))) {
    const isOwn = !FOREIGN.test(line)
    const last = runs.at(-1)
    if (last?.isOwn === isOwn) last.lines.push(line.trim())
    else runs.push({ isOwn, lines: [line.trim()] })
  }
  return runs
}
