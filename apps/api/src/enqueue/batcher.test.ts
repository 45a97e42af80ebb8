import { describe, expect, it } from 'vitest'
import { Batcher } from './batcher.ts'

/** A batcher whose batches are finished by the test. */
function aBatcher(options: { maxItems?: number; maxAtOnce?: number; maxSize?: number } = {}) {
  const batches: { items: readonly string[]; end: (error?: Error) => void }[] = []
  const work = (items: readonly string[]) =>
    new Promise<string[]>((resolve, reject) => {
      const end = (error?: Error) =>
        error ? reject(error) : resolve(items.map((item) => item.toUpperCase()))
      batches.push({ items, end })
    })
  const batcher = new Batcher(work, {
    maxItems: 10,
    maxAtOnce: 1,
    sizeOf: (item: string) => item.length,
    ...options,
  })
  return { batcher, batches, items: () => batches.map((batch) => batch.items) }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

describe('a batcher', () => {
  it('batches the items of one turn of the event loop, and returns a result for each', async () => {
    const { batcher, batches, items } = aBatcher()
    const answers = Promise.all(['a', 'b', 'c'].map((item) => batcher.add(item)))
    await turn()
    expect(items()).toEqual([['a', 'b', 'c']])
    batches[0]?.end()
    expect(await answers).toEqual(['A', 'B', 'C'])
  })

  it('collects items while a batch is under way', async () => {
    const { batcher, batches, items } = aBatcher()
    const first = batcher.add('a')
    await turn()
    const others = Promise.all([batcher.add('b'), batcher.add('c')])
    await turn()
    expect(items()).toEqual([['a']])
    batches[0]?.end()
    await first
    await turn()
    expect(items()).toEqual([['a'], ['b', 'c']])
    batches[1]?.end()
    expect(await others).toEqual(['B', 'C'])
  })

  it('runs at most the allowed number of batches at once', async () => {
    const { batcher, batches, items } = aBatcher({ maxItems: 2, maxAtOnce: 2 })
    const answers = Promise.all(['a', 'b', 'c', 'd', 'e'].map((item) => batcher.add(item)))
    await turn()
    expect(items()).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ])
    batches[1]?.end()
    await turn()
    expect(items()[2]).toEqual(['e'])
    batches[0]?.end()
    batches[2]?.end()
    expect(await answers).toEqual(['A', 'B', 'C', 'D', 'E'])
  })

  it('limits the size of a batch, but takes at least one item', async () => {
    const { batcher, batches, items } = aBatcher({ maxSize: 4, maxAtOnce: 9 })
    const answers = Promise.all(['aa', 'bb', 'c', 'dddddd', 'e'].map((item) => batcher.add(item)))
    await turn()
    expect(items()).toEqual([['aa', 'bb'], ['c'], ['dddddd'], ['e']])
    for (const { end } of batches) end()
    await answers
  })

  it('is flushed when every added item has been handled, including waiting ones', async () => {
    const { batcher, batches, items } = aBatcher({ maxItems: 2 })
    const failed = batcher.add('a').catch(() => 'failed')
    const answers = Promise.all(['b', 'c'].map((item) => batcher.add(item)))
    let isFlushed = false
    const flushed = batcher.flush().then(() => {
      isFlushed = true
    })
    expect(items()).toEqual([['a', 'b']])
    const others = answers.catch(() => 'failed')
    batches[0]?.end(new Error('away'))
    expect([await failed, await others]).toEqual(['failed', 'failed'])
    await turn()
    expect([items().at(-1), isFlushed]).toEqual([['c'], false])
    batches[1]?.end()
    await flushed
    await batcher.flush()
  })

  it('fails the items of a failed batch, and continues with the next batch', async () => {
    const { batcher, batches } = aBatcher()
    const failed = Promise.allSettled([batcher.add('a'), batcher.add('b')])
    await turn()
    batches[0]?.end(new Error('away'))
    expect((await failed).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    const next = batcher.add('c')
    await turn()
    batches[1]?.end()
    expect(await next).toBe('C')
  })
})
