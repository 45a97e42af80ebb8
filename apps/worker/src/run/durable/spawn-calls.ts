import { createHash } from 'node:crypto'
import { type Child, ChildrenFailed, type JobId, OncueError, type SettledChild } from '@oncue/core'
import { assertCallName, assertNotNested } from '../steps.ts'
import { unawaited } from '../unawaited.ts'

type SpawnCall = 'spawn' | 'enqueue'

/** A child as it is waited for. */
export type ChildRef = { readonly id: JobId; readonly key: string; readonly topic: string }

/** The keys of the spawns and enqueues of a run: their names, or the order of the calls for each topic. */
export class SpawnKeys {
  readonly #used = new Set<string>()
  readonly #counts = new Map<string, number>()

  next(call: SpawnCall, topic: string, name: unknown): string {
    assertNotNested(call)
    if (name !== undefined) assertCallName(name, call)
    const key = `${call}:${name ?? this.#numbered(call, topic)}`
    if (this.#used.has(key)) {
      const message = `ctx.${call} was called before with the name ${JSON.stringify(name)} in this run`
      throw new OncueError('DUPLICATE_STEP', message)
    }
    this.#used.add(key)
    return key
  }

  #numbered(call: SpawnCall, topic: string): string {
    const count = (this.#counts.get(`${call}:${topic}`) ?? 0) + 1
    this.#counts.set(`${call}:${topic}`, count)
    return `${topic}#${count}`
  }
}

/** Short, and the same in every run. */
export function hashOf(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16)
}

/** `ctx.spawn`, which like every call rejects and never throws. */
export function spawnWith(
  keys: SpawnKeys,
  topic: string,
  name: unknown,
  make: (key: string) => Promise<JobId>,
): Child<never> {
  try {
    const key = keys.next('spawn', topic, name)
    return Object.assign(unawaited(make(key)), { key, topic })
  } catch (error) {
    return Object.assign(unawaited(Promise.reject(error)), { key: '', topic })
  }
}

/** The children of a call of ctx.all or ctx.allSettled, once they are spawned. */
export async function spawnedChildren(children: unknown, call: string): Promise<ChildRef[]> {
  assertNotNested(call)
  const given = Array.isArray(children) ? children : [undefined]
  return Promise.all(
    given.map(async (child) => {
      const { key, topic } = Object(child)
      if (typeof key === 'string' && typeof topic === 'string' && child instanceof Promise)
        return { id: await child, key, topic }
      throw new OncueError('INVALID_INPUT', `ctx.${call} takes an array of what ctx.spawn returned`)
    }),
  )
}

/** The values of children that have all completed. */
export function valuesOf(settled: readonly SettledChild[]): unknown[] {
  const failed = settled.flatMap((child) => (child.status === 'rejected' ? [child.reason] : []))
  if (failed.length > 0) throw new ChildrenFailed(failed, settled.length)
  return settled.map((child) => (child.status === 'fulfilled' ? child.value : undefined))
}
