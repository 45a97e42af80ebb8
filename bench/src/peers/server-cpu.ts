import { readdir, readFile } from 'node:fs/promises'

/** Linux counts CPU of `stat` in these. */
const TICK_MS = 10

export interface ProcessTimes {
  readonly parent: number
  /** The process itself, in milliseconds, and its children that have ended. */
  readonly ownMs: number
  readonly endedChildrenMs: number
}

/** Of /proc/<pid>/stat and /proc/<pid>/schedstat; the latter counts nanoseconds, not ticks. */
export function parseTimes(stat: string, schedstat: string): ProcessTimes {
  // The name of the process, in parentheses, may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = (at: number) => Number(fields[at]) * TICK_MS
  return {
    parent: Number(fields[1]),
    ownMs: Number(schedstat.split(' ')[0]) / 1e6,
    endedChildrenMs: ticks(13) + ticks(14),
  }
}

/** The server with all of its processes, also those that have ended. Null where there is no /proc. */
export async function serverCpuMs(postmaster: number): Promise<number | null> {
  const own = await timesOf(postmaster)
  if (!own) return null
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const others = await Promise.all(pids.map(timesOf))
  const children = others.filter((times) => times?.parent === postmaster)
  return children.reduce((sum, times) => sum + (times?.ownMs ?? 0), own.ownMs + own.endedChildrenMs)
}

async function timesOf(pid: number): Promise<ProcessTimes | undefined> {
  try {
    const [stat, schedstat] = await Promise.all([
      readFile(`/proc/${pid}/stat`, 'utf8'),
      readFile(`/proc/${pid}/schedstat`, 'utf8'),
    ])
    return parseTimes(stat, schedstat)
  } catch {
    return undefined
  }
}
