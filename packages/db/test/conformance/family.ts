import { describe, expect, it } from 'vitest'
import { aJob, Bench, claimOne, complete, type Dialect, MINUTE, newWorkerId } from './harness.ts'

export function describeFamily(dialect: Dialect): void {
  describe('the family of a job', () => {
    const bench = new Bench(dialect)

    it('is its parent, its children, the jobs it waits for and those that wait for it', async () => {
      // Ids carry the time at which they were made, so the clock is the real one.
      const store = await bench.open()
      const parent = aJob({ topic: 'parent' })
      await store.enqueue([parent])
      const job = await claimOne(store)
      const first = aJob({ topic: 'first', parentId: job.id })
      await store.enqueue([first, aJob({ topic: 'other' })])
      const done = await claimOne(store)
      await store.settle([complete(done)])
      const second = aJob({ topic: 'second', parentId: job.id, delay: MINUTE })
      await store.enqueue([second])
      const waits = aJob({ topic: 'waits', after: [parent.id, second.id] })
      await store.enqueue([waits])

      const child = { queue: 'default', status: 'pending', isSuspended: false, ending: null }
      expect(await store.family(parent.id)).toEqual({
        ...{ id: parent.id, parent: null, waitsFor: [], childrenAreComplete: true },
        dependants: [{ ...child, id: waits.id, topic: 'waits', status: 'blocked' }],
        children: [
          { ...child, id: first.id, topic: 'first', status: 'completed' },
          { ...child, id: second.id, topic: 'second' },
        ],
      })
      const running = { ...child, id: parent.id, topic: 'parent', status: 'processing' }
      expect(await store.family(first.id)).toMatchObject({ parent: running, children: [] })
      expect(await store.family(waits.id)).toMatchObject({
        waitsFor: [running, { ...child, id: second.id, topic: 'second' }],
      })

      // The same when all of them have ended.
      await store.settle([complete(job)])
      expect((await store.family(parent.id))?.children).toHaveLength(2)
    })

    it('names the first 50 children, and says that there are more', async () => {
      const store = await bench.open()
      await store.enqueue([aJob()])
      const { id } = await claimOne(store)
      const children = Array.from({ length: 51 }, () => aJob({ parentId: id }))
      await store.enqueue(children)
      const family = await store.family(id)
      expect(family?.children.map((child) => child.id)).toEqual(
        children.slice(0, 50).map((child) => child.id),
      )
      expect(family?.childrenAreComplete).toBe(false)
    })

    it('is null for a job that does not exist', async () => {
      const store = await bench.open()
      expect(await store.family(newWorkerId())).toBeNull()
      expect(await store.family('x')).toBeNull()
    })
  })
}
