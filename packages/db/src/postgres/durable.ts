import type { JobId } from '@oncue/core'
import type { Runtime } from '@oncue/runtime'
import { answer } from '../portable/asks.ts'
import { type RunSpawns, spawnedJobs, spawnKey } from '../portable/children.ts'
import {
  assertSignal,
  type DurableStore,
  encodeOutcomes,
  isNewSignal,
  liveDurable,
  type NewSignal,
  type Outcome,
  type OutcomeKind,
  RecordedRuns,
} from '../portable/outcomes.ts'
import { results } from '../portable/reads/jobs.ts'
import type { Sql } from '../portable/sql.ts'
import { driveIn, type Step, type Steps, type Transaction } from '../queue/transaction.ts'
import { type Rename, renamed } from '../schema.ts'
import { assertWorkerId, isUuid } from '../uuid.ts'
import type { PostgresClient } from './client.ts'
import { createCommits } from './commits.ts'
import { enqueueAndWake } from './enqueue.ts'
import type { Query } from './sql.ts'
import * as statements from './sql-durable.ts'

type Options = {
  readonly client: PostgresClient
  readonly sql: Sql
  readonly runtime: Runtime
  readonly newId: () => string
  /** Null except in tests. */
  readonly now: () => Date | null
  readonly assertOpen: () => void
}

export function createDurable({ client, sql, runtime, newId, now, assertOpen }: Options): DurableStore {
  const commits = createCommits({ rename: client.rename, now })
  return {
    async outcomes(id) {
      assertOpen()
      if (!isUuid(id)) return []
      return (await client.query(statements.outcomes(id))).map(([key, seq, kind, name, data]) =>
        toOutcome(key, seq, kind, name, data),
      )
    },

    async record(runs, worker) {
      assertOpen()
      if (worker !== undefined) assertWorkerId(worker)
      const found = new RecordedRuns()
      if (runs.length === 0) return found
      // Sent again after a lost connection: the first record of a key stands.
      const rows = await client.query(statements.record(encodeOutcomes(runs), now(), worker ?? null))
      for (const [id, run, seq, key, kind, name, data] of rows) {
        if (seq === null) found.stale.push({ id: id as JobId, run: run as number })
        else found.add(id as JobId, toOutcome(key, seq, kind, name, data))
      }
      return found
    },

    async spawn(run, worker) {
      assertOpen()
      if (worker !== undefined) assertWorkerId(worker)
      const isMine = await client.drive(() => spawnSteps(run, worker ?? null, now(), runtime))
      if (!isMine) return null
      return (await client.query(statements.outcomes(run.id, run.after))).map(
        ([key, seq, kind, name, data]) => toOutcome(key, seq, kind, name, data),
      )
    },

    async live(topic, limit) {
      assertOpen()
      return liveDurable(sql, topic, limit)
    },

    async results(ids, maxBytes) {
      assertOpen()
      return results(sql, ids, maxBytes)
    },

    async signal(signal, options) {
      assertOpen()
      if (options?.tx) return signalIn(options.tx, signal, newId(), now(), client.rename)
      await signalAlone(client, signal, newId(), now())
    },

    async answer(given) {
      assertOpen()
      const { id, name, key = newId() } = given
      await answer(sql, { ...given, key }, async (data) => {
        // Sent again after a lost connection, it finds its own answer, and knows it by the key.
        const [row] = await client.query(statements.answer(id, name, data, now()))
        return row?.[0] === true
      })
    },

    openCommit(tx) {
      assertOpen()
      return commits.openCommit(tx)
    },

    commit(result, tx) {
      assertOpen()
      return commits.commit(result, tx)
    },

    complete(run, tx, before) {
      assertOpen()
      return commits.complete(run, tx, before)
    },

    aheadMs() {
      const at = now()
      return at && at.getTime() - runtime.now()
    },

    async hasCompleted(run, worker) {
      assertOpen()
      return (await client.query(statements.hasCompleted(run, worker ?? null))).length > 0
    },
  }
}

function toOutcome(key: unknown, seq: unknown, kind: unknown, name: unknown, data: unknown): Outcome {
  return { key: String(key), seq: Number(seq), kind: kind as OutcomeKind, name: name as string | null, data }
}

/** Returns whether the run owns its job. */
function* spawnSteps(
  run: RunSpawns,
  worker: string | null,
  now: Date | null,
  runtime: Runtime,
): Steps<boolean> {
  const key = spawnKey(run)
  const [state] = yield step(statements.beginSpawn(run, worker, key), true)
  if (state?.begun === 'new') {
    const outcomes = yield* enqueueAndWake(
      run.spawns.map(({ job }) => job),
      now,
      runtime,
    )
    yield step(statements.keepSpawned(run.id, key, spawnedJobs(run.spawns, outcomes), now), true)
  }
  return state?.begun !== 'stale'
}

/** In a transaction of our own, and delivered when this returns. If that fails, workers deliver it: it is sent. */
export async function signalAlone(
  client: PostgresClient,
  signal: NewSignal,
  signalId: string,
  now: Date | null,
): Promise<void> {
  // Workers are not told: a second delivery would lock the row that a woken worker claims.
  await client.drive(() => signalSteps(signal, signalId, now, false))
  try {
    await client.query(statements.deliver(signal.id, now))
  } catch {
    // Without listeners the poll delivers it.
    await client.query(statements.tellOf(signal.id)).catch(() => {})
  }
}

/** In the caller's transaction. Workers deliver it after the commit. */
export function signalIn(
  tx: Transaction,
  signal: NewSignal,
  signalId: string,
  now: Date | null,
  rename: Rename,
): Promise<void> {
  return driveIn(tx, renamed(signalSteps(signal, signalId, now), rename))
}

/** Locks no job: a transaction that stays open delays only its own signal. */
export function* signalSteps(
  signal: NewSignal,
  signalId: string,
  now: Date | null,
  tells = true,
): Steps<void> {
  assertSignal(signal)
  const [found] = yield step(statements.receiver(signal), true)
  const { topic, live, signals, known } = found ?? {}
  const receiver = {
    topic: String(topic),
    live: live === true,
    signals: Number(signals),
    known: known === true,
  }
  if (!isNewSignal(signal, found && receiver)) return
  yield step(statements.send(signal, signalId, now), false)
  // It returns a row, because some drivers refuse a statement without one.
  if (tells) yield step(statements.tellOf(signal.id), true)
}

function step({ text, values }: Query, reads: boolean): Step {
  return { text, values, reads }
}
