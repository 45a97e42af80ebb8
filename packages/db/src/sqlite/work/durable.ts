import type { JobId } from '@oncue/core'
import {
  type Asking,
  assertSignal,
  type CommittedResult,
  type EncodedRun,
  isNewSignal,
  type NewSignal,
  type Outcome,
  type OutcomeKind,
  RecordedRuns,
  type SuspendedWait,
  signalKey,
} from '../../portable/outcomes.ts'
import type { Steps } from '../../queue/transaction.ts'
import type { RunRef, Settlement } from '../../store.ts'
import * as sql from '../sql-durable.ts'
import type { Children } from './children.ts'
import type { Statements } from './statements.ts'

/** A row of RECORDED. */
export type OutcomeRow = {
  readonly key: string
  readonly seq: number
  readonly kind: OutcomeKind
  readonly name: string | null
  readonly data: string | null
}

export function toOutcome({ data, ...row }: OutcomeRow): Outcome {
  return { ...row, data: data === null ? null : JSON.parse(data) }
}

type Suspending = Extract<Settlement, { readonly kind: 'suspend' }>

/** Outcomes of runs, and suspended jobs: record_outcomes and suspend of Postgres. Signals are never on their way. */
export class Durable {
  readonly #statements: Statements
  readonly #children: Children

  constructor(statements: Statements, children: Children) {
    this.#statements = statements
    this.#children = children
  }

  /** `known`: this call was recorded before. */
  beginSpawn({ id, run }: RunRef, worker: string | null, key: string): 'new' | 'known' | 'stale' {
    if (!this.#isOwned({ id, run }, worker)) return 'stale'
    return this.#statements.get(sql.OUTCOME, id, key) ? 'known' : 'new'
  }

  #isOwned({ id, run }: RunRef, worker: string | null): boolean {
    return this.#statements.get(sql.OWNED, id, run, worker, worker) !== undefined
  }

  /** commit_outcome of Postgres. */
  commit(
    { id, run, key, data }: Omit<CommittedResult, 'worker'>,
    worker: string | null,
    now: number,
  ): 'recorded' | 'known' | 'stale' {
    if (!this.#isOwned({ id, run }, worker)) return 'stale'
    return this.#statements.run(sql.RECORD, id, key, id, 'step', null, data, now) > 0 ? 'recorded' : 'known'
  }

  record(runs: readonly EncodedRun[], worker: string | null, now: number): RecordedRuns {
    const found = new RecordedRuns()
    for (const { id, run, after, outcomes } of runs) {
      if (!this.#isOwned({ id, run }, worker)) {
        found.stale.push({ id, run })
        continue
      }
      const fresh = new Set<string>()
      for (const { key, kind, data, dueAt, signal, seen, children } of outcomes) {
        if (kind === 'ask') {
          this.#openAsk(id, key, JSON.parse(data ?? '{}'), now)
          continue
        }
        if (children !== null) {
          this.#children.recordEnded(id, key, children, now)
          continue
        }
        if (dueAt !== null && Date.parse(dueAt) > now) continue
        if (signal !== null && this.#statements.get(sql.HAS_SIGNAL, id, signal, seen)) continue
        if (this.#statements.run(sql.RECORD, id, key, id, kind, null, data, now) === 0) continue
        fresh.add(key)
        if (kind === 'undo') this.#statements.run(sql.MARK_UNDOABLE, JSON.stringify([id]))
        if (kind === 'timeout' && key.startsWith('ask:'))
          this.#statements.run(sql.CLOSE_ASK, now, id, key.slice('ask:'.length))
      }
      for (const row of this.#statements.all<OutcomeRow>(sql.RECORDED, id, after))
        found.add(id, toOutcome(fresh.has(row.key) ? { ...row, data: null } : row))
    }
    return found
  }

  /** open_ask of Postgres. */
  #openAsk(id: JobId, key: string, asking: Asking, now: number): void {
    const { name, question, schema, role, delayMs, refuses, reason = null } = asking
    if (refuses !== undefined) this.#statements.run(sql.REFUSE_ANSWER, name, reason, id, key, refuses)
    if (this.#statements.get(sql.OUTCOME, id, key)) return
    const until = this.#untilOf(id, { kind: 'ask', name, key, delayMs }, now)
    const json = JSON.stringify(schema)
    this.#statements.run(sql.OPEN_ASK, id, name, question, json, role, until, reason, now)
  }

  /** answer of Postgres. `data` is {value, by, key}. */
  answer(id: JobId, name: string, data: string, now: number): boolean {
    if (!this.#statements.get(sql.IS_LIVE, id)) return false
    if (this.#statements.run(sql.CLOSE_ASK, now, id, name) === 0) return false
    this.#statements.run(sql.RECORD, id, `ask:${name}`, id, 'answer', name, data, now)
    this.#statements.run(sql.WAKE, now, now, now, id, now)
    return true
  }

  suspend({ id, waits, progressed, error }: Suspending, now: number): void {
    const open = waits.map((wait) => ({ ...wait, until: this.#untilOf(id, wait, now) }))
    this.#children.forgetWaits(id)
    const isDue = waits.filter((wait) => this.#isOver(id, wait, now)).length > 0
    const ends = open.flatMap(({ until }) => until ?? [])
    const due = isDue ? now : ends.length > 0 ? Math.max(Math.min(...ends), now) : null
    const shown = open.map(({ kind, name, key, until, after, children }) => ({
      kind,
      name,
      ...(until !== null && { until: new Date(until).toISOString() }),
      ...(after !== undefined && { after }),
      ...(children && { key, total: children.length }),
    }))
    const stored = JSON.stringify({ since: new Date(now).toISOString(), for: isDue ? [] : shown })
    const flag = progressed ? 1 : 0
    const status = due === null ? 'blocked' : 'pending'
    const isRetrying = waits.some(({ kind }) => kind === 'retry') ? 1 : 0
    const failure = [error ? JSON.stringify(error) : null, isRetrying, error?.fingerprint ?? null]
    this.#statements.run(sql.SUSPEND, status, due ?? now, due, stored, now, flag, flag, ...failure, id)
  }

  /** A signal that was sent, a question that was answered, or children that have all ended. */
  #isOver(id: JobId, { kind, name, key, after = 0, children }: SuspendedWait, now: number): boolean {
    if (kind === 'signal') return this.#statements.get(sql.HAS_SIGNAL, id, name, after) !== undefined
    if (kind === 'ask') return this.#statements.get(sql.OUTCOME, id, key) !== undefined
    return kind === 'children' && this.#children.await(id, key, children ?? [], now)
  }

  /** The first end of a wait is recorded, so that it stands in later runs, whatever they compute. */
  #untilOf(id: JobId, { key, until, delayMs }: SuspendedWait, now: number): number | null {
    const end = until ?? (delayMs === undefined ? undefined : new Date(now + delayMs))
    const text = end && JSON.stringify(end.toISOString())
    if (text) this.#statements.run(sql.RECORD, id, `wait:${key}`, id, 'wait', null, text, now)
    const row = this.#statements.get<{ data: string }>(sql.OUTCOME, id, `wait:${key}`)
    return row ? Date.parse(JSON.parse(row.data)) : null
  }
}

/** Records a signal and resumes the job that waits for it, in whatever transaction this runs: it is the only writer. */
export function* signalSteps(signal: NewSignal, signalId: string, now: number): Steps<void> {
  assertSignal(signal)
  const { id, name, data } = signal
  const key = signalKey(signal)
  const [found] = yield { text: sql.RECEIVER, values: [id, key, id, id, id, key, id], reads: true }
  const { topic, live, signals, known } = found ?? {}
  const receiver = {
    topic: String(topic),
    live: Number(live) === 1,
    signals: Number(signals),
    known: Number(known) === 1,
  }
  if (!isNewSignal(signal, found && receiver)) return
  const recordKey = key ?? `signal:${name}:${signalId}`
  yield { text: sql.RECORD, values: [id, recordKey, id, 'signal', name, data, now], reads: false }
  yield { text: sql.WAKE, values: [now, now, now, id, now], reads: false }
}
