import { cpus, loadavg, totalmem } from 'node:os'
import Database from 'better-sqlite3'
import { median } from './measure.ts'
import type { BenchDatabase } from './server.ts'

/** Under which a run was measured. Part of what --json writes. */
export interface Conditions {
  readonly when: string
  readonly machine: { readonly cpu: string; readonly cores: number; readonly memoryGb: number }
  readonly node: string
}

/** Of a run that is recorded with the load beside it, its own included. */
export interface Watched extends Conditions {
  readonly minutesTaken: number
  /** The load average of a minute. */
  readonly load: { readonly atStart: number; readonly median: number; readonly most: number }
}

/** The server of a run. Settings are those that differ from its defaults. */
export type PostgresUsed = Pick<BenchDatabase, 'version' | 'settings'>

/** Those in which a run measured. */
export interface DatabasesUsed {
  readonly postgres?: PostgresUsed | undefined
  readonly sqlite?: string | undefined
}

const LOOK_MS = 5_000

export const conditions = (): Conditions => ({
  when: new Date().toISOString(),
  machine: { cpu: cpus()[0]?.model ?? '', cores: cpus().length, memoryGb: Math.round(totalmem() / 2 ** 30) },
  node: process.version,
})

/** What was measured, with its conditions. */
export async function watched<T extends object>(measure: () => Promise<T>): Promise<Watched & T> {
  const start = performance.now()
  const loads: number[] = []
  const look = () => loads.push(loadavg()[0] ?? 0)
  look()
  const timer = setInterval(look, LOOK_MS)
  try {
    const measured = await measure()
    look()
    return {
      ...conditions(),
      minutesTaken: rounded((performance.now() - start) / 60_000),
      load: { atStart: rounded(loads[0]), median: rounded(median(loads)), most: rounded(Math.max(...loads)) },
      ...measured,
    }
  } finally {
    clearInterval(timer)
  }
}

/** The first lines of a section: when, where, with what, and beside which load. */
export function conditionsOf(
  { when, machine, node, minutesTaken, load }: Watched,
  { postgres, sqlite }: DatabasesUsed,
  rest: string,
): string {
  const parts = [
    ...(postgres ? [`Postgres ${postgres.version} with ${settingsOf(postgres)}`] : []),
    ...(sqlite ? [`SQLite ${sqlite}`] : []),
    `Node ${node}`,
    `${machine.cores} cores (${machine.cpu}) and ${machine.memoryGb} GB of memory`,
    rest,
  ]
  return (
    `${when.slice(0, 10)}: ${parts.join(', ')}. It took ${Math.ceil(minutesTaken)} min. Load average: ` +
    `${load.atStart} at the start, ${load.median} in the median and ${load.most} at most, of which the benchmark is a part.`
  )
}

function settingsOf({ settings }: PostgresUsed): string {
  if (settings === null) return 'the settings of a server of its own'
  const own = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
  return own.length === 0 ? 'its default settings' : own.join(' and ')
}

export function sqliteVersion(): string {
  const db = new Database(':memory:')
  const version = db.prepare('select sqlite_version()').pluck().get() as string
  db.close()
  return version
}

const rounded = (value = 0) => Number(value.toFixed(1))
