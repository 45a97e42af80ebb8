import type { FailedChild, JobId, SettledChild } from '@oncue/core'
import type { EndedChildren, NewSpawn, Store } from '@oncue/db'
import type { OutcomeRecorder } from '../outcome-recorder.ts'
import type { Calls } from './calls.ts'
import { type ChildRef, hashOf } from './spawn-calls.ts'
import { Spawns } from './spawns.ts'

/** Of the results of the children of one call. */
const MAX_RESULT_BYTES = 16 * 2 ** 20
const RESULT_PAGE = 500

interface ChildCallsOptions {
  readonly store: Pick<Store, 'durable'>
  readonly recorder: OutcomeRecorder
  /** A result of a child, by the schema of its topic. */
  readonly parseResult: (topic: string, result: unknown) => unknown
}

/** `spawn:render_page#1` */
const nameOf = ({ key }: NewSpawn) => key.slice(key.indexOf(':') + 1)

/** `ctx.spawn` and `ctx.enqueue`, `ctx.all` and `ctx.allSettled`. */
export class ChildCalls {
  readonly #calls: Calls
  readonly #options: ChildCallsOptions
  readonly #spawns: Spawns
  /** Calls that wait for children. */
  #groups = 0

  constructor(calls: Calls, options: ChildCallsOptions) {
    const { replay, runtime, run } = calls
    const { recorder } = options
    this.#calls = calls
    this.#options = options
    this.#spawns = new Spawns({ job: run.job, replay, recorder, runtime, lose: () => run.lose() })
  }

  /** Until all jobs that the handler made are written; undefined: they are. */
  get spawning(): Promise<void> | undefined {
    return this.#spawns.writing
  }

  spawn(spawn: NewSpawn): Promise<JobId> {
    const calls = this.#calls
    calls.assertOpen()
    if (calls.isUndoing) return this.#spawnAgain(spawn)
    // No wait, and nothing of the handler's own: it does not make the run a concurrent one.
    const release = calls.hold(spawn.child ? 'spawn' : 'enqueue', nameOf(spawn))
    const made = calls.suspension.working(async () => {
      await calls.replay.load()
      if (!calls.replay.recorded.has(spawn.key)) calls.goLive()
      return this.#spawns.add(spawn)
    })
    return made.finally(release)
  }

  /** Of a job that is being undone: none but what an earlier run made. */
  async #spawnAgain(spawn: NewSpawn): Promise<JobId> {
    await this.#calls.load()
    return this.#calls.stopsAt(spawn.key) ? this.#calls.hang(spawn.key) : this.#spawns.add(spawn)
  }

  async settled(children: readonly ChildRef[]): Promise<SettledChild[]> {
    this.#groups += 1
    const name = `all#${this.#groups}`
    if (children.length === 0) return []
    const ids = [...new Set(children.map(({ id }) => id))]
    const key = `${name}:${hashOf(...children.map((child) => child.key))}`
    const calls = this.#calls
    return calls.calling(async () => {
      await calls.load()
      const { data } = await calls.wait({ kind: 'children', name, key, children: ids })
      const failed = new Map((data as EndedChildren).failed.map(([id, ...how]) => [id, how]))
      const results = await calls.suspension.working(() => this.#results(ids.filter((id) => !failed.has(id))))
      return children.map(({ id, topic }): SettledChild => {
        if (results.has(id))
          return { status: 'fulfilled', value: this.#options.parseResult(topic, results.get(id)) }
        const [status = 'gone', error = null] = failed.get(id) ?? []
        return { status: 'rejected', reason: { id, topic, status, error: error as FailedChild['error'] } }
      })
    })
  }

  async #results(ids: readonly JobId[]): Promise<Map<JobId, unknown>> {
    const found = new Map<JobId, unknown>()
    let left = MAX_RESULT_BYTES
    for (let from = 0; from < ids.length; from += RESULT_PAGE) {
      const page = await this.#options.store.durable.results(ids.slice(from, from + RESULT_PAGE), left)
      for (const [id, result] of page.results) found.set(id, result)
      left -= page.bytes
    }
    return found
  }
}
