import { type EachOptions, OncueError, type StepOptions } from '@oncue/core'

type Step = (
  name: string,
  work: (signal: AbortSignal) => unknown,
  options: StepOptions | undefined,
) => Promise<unknown>

type Work = (item: unknown, signal: AbortSignal) => unknown

const MAX_CONCURRENCY = 1_000

/** `ctx.step.each`. */
export function createEach(step: Step) {
  return async (
    name: string,
    items: readonly unknown[],
    work: Work,
    { key, concurrency = 1, ...options }: EachOptions<unknown> = {},
  ): Promise<unknown[]> => {
    assertConcurrency(concurrency)
    // Copied: a handler that changes its list meanwhile would change which steps there are.
    const copy = Array.from(items)
    const names = namesOf(name, copy, key)
    const results: unknown[] = new Array(copy.length)
    const failures: unknown[] = []
    let next = 0
    const workOn = async (): Promise<void> => {
      while (next < copy.length && failures.length === 0) {
        const index = next++
        const run = (signal: AbortSignal) => work(copy[index], signal)
        try {
          results[index] = await step(names[index] ?? '', run, options)
        } catch (error) {
          failures.push(error)
        }
      }
    }
    await Promise.all(Array.from({ length: Math.min(concurrency, copy.length) }, workOn))
    if (failures.length > 0) throw failures[0]
    return results
  }
}

function assertConcurrency(concurrency: unknown): void {
  const isNumber = Number.isInteger(concurrency) && Number(concurrency) >= 1
  if (isNumber && Number(concurrency) <= MAX_CONCURRENCY) return
  const message = `options.concurrency of ctx.step.each must be a whole number from 1 to ${MAX_CONCURRENCY}`
  throw new OncueError('INVALID_INPUT', message)
}

/** Before the first step runs: two items with one key would have one result. */
function namesOf(name: string, items: readonly unknown[], key: EachOptions<unknown>['key']): string[] {
  const indexes = new Map<string, number>()
  const names = items.map((item, index) => {
    const itemKey = key ? key(item, index) : index
    if (typeof itemKey !== 'string' && typeof itemKey !== 'number') {
      const message = `options.key of ctx.step.each(${JSON.stringify(name)}) must return a text or a number`
      throw new OncueError('INVALID_INPUT', message)
    }
    const stepName = `${name}[${itemKey}]`
    const other = indexes.get(stepName)
    if (other !== undefined) {
      const message = `ctx.step.each(${JSON.stringify(name)}): the items ${other} and ${index} have the same key ${JSON.stringify(itemKey)}`
      throw new OncueError('DUPLICATE_STEP', message)
    }
    indexes.set(stepName, index)
    return stepName
  })
  return names
}
