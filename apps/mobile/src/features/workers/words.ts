import { WORKER_SILENT_MS } from '@oncue/sdk'
import { count, number } from '../../lib/format.ts'
import type { Worker } from './queries.ts'

/** Since when it has been missing. Null: it is alive. */
export function missingSince(
  { missingSince: seen, lastBeat }: Omit<Seen, 'ended'>,
  now: number,
): Date | null {
  return seen ?? (now - lastBeat.getTime() > WORKER_SILENT_MS ? lastBeat : null)
}

type Seen = Pick<Worker, 'ended' | 'missingSince' | 'lastBeat'>

export function stateOf(worker: Seen, now: number): 'alive' | 'missing' | 'stopped' | 'lost' {
  return worker.ended?.how ?? (missingSince(worker, now) ? 'missing' : 'alive')
}

/** "3 jobs: 2 put back, 1 failed". */
export function heldInWords({ released, failed }: NonNullable<Worker['ended']>): string {
  const parts = [released > 0 && `${number(released)} put back`, failed > 0 && `${number(failed)} ended`]
  const became = parts.filter(Boolean).join(', ')
  return released + failed === 0 ? 'no jobs' : `${count(released + failed, 'job')}: ${became}`
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
