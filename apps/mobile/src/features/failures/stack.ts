export interface Frames {
  /** Of one's own code, or of libraries, which few want to read. */
  readonly isOwn: boolean
  readonly lines: readonly string[]
}

/** Libraries (Oncue among them), Node itself, and places that are no file. */
const FOREIGN = /[\\/]node_modules[\\/]|[\\/]@oncue[\\/]|\bnode:|\binternal[\\/]|<anonymous>|\[native code\]/
const FRAME = /^\s*at |^\S*@\S+:\d+/

/** The frames of a stack, those that belong together in one run; the message before them is said elsewhere. */
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
