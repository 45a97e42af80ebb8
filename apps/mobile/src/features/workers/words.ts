import { count, number } from '../../lib/format.ts'
import type { Worker } from './queries.ts'

/** As the server counts: who was not heard of for so long is not alive. */
const SILENT_MS = 60_000

/** Since when it cannot be seen; null: it is alive. */
export function missingSince({ missingSince: seen, lastBeat }: Worker, now: number): Date | null {
  return seen ?? (now - lastBeat.getTime() > SILENT_MS ? lastBeat : null)
}

/** Missing first, then by host. */
export function byTrouble(workers: readonly Worker[], now: number): Worker[] {
  const rank = (worker: Worker) => (missingSince(worker, now) ? 0 : 1)
  return [...workers].sort((a, b) => rank(a) - rank(b) || a.host.localeCompare(b.host) || a.pid - b.pid)
}

/** "2 alive, 1 missing · 5 of 20 slots run a job". */
export function summaryOf(workers: readonly Worker[], now: number): string {
  const alive = workers.filter((worker) => !missingSince(worker, now))
  const missing = workers.length - alive.length
  const running = alive.reduce((sum, worker) => sum + worker.running, 0)
  const slots = alive.reduce((sum, worker) => sum + worker.concurrency, 0)
  const who = `${number(alive.length)} alive${missing > 0 ? `, ${number(missing)} missing` : ''}`
  return `${who} · ${number(running)} of ${count(slots, 'slot')} in use`
}

/** More than one: a deploy is under way, or was left half done. */
export function versionsOf(workers: readonly Worker[]): string[] {
  return [...new Set(workers.map(({ version }) => version))].sort()
}
