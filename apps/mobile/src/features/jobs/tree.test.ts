import { expect, it } from 'vitest'
import { arranged, countsOf, type TreeJob } from './tree.ts'

const jobOf = (id: string, differs: Partial<TreeJob> = {}): TreeJob => ({
  ...{ id, topic: 'scan', queue: 'default', status: 'completed', name: id, parentId: null, after: [] },
  ...{ isSuspended: false, waits: null, ending: null, error: null },
  ...differs,
})

/** Depth and name of each line. */
const linesOf = (...jobs: TreeJob[]) => arranged({ jobs }).map(({ job, depth }) => `${depth} ${job.id}`)

it('has children below their parent, and what others wait for before them', () => {
  const jobs = [
    jobOf('fetch'),
    jobOf('publish', { after: ['scan', 'resize'] }),
    jobOf('scan', { after: ['fetch'] }),
    jobOf('resize', { after: ['fetch'] }),
    jobOf('thumbnail', { parentId: 'resize' }),
    jobOf('orphan', { parentId: 'pruned' }),
  ]
  expect(linesOf(...jobs)).toEqual([
    ...['0 fetch', '0 scan', '0 resize', '1 thumbnail', '0 publish', '0 orphan'],
  ])
  const publish = arranged({ jobs }).find(({ job }) => job.id === 'publish')
  expect(publish?.after.map(({ id }) => id)).toEqual(['scan', 'resize'])
})

it('survives jobs that wait for each other', () => {
  expect(linesOf(jobOf('a', { after: ['b'] }), jobOf('b', { after: ['a'] }))).toEqual(['0 b', '0 a'])
})

it('counts each job once, a suspended one apart', () => {
  const jobs = [
    jobOf('a'),
    jobOf('b', { status: 'failed' }),
    jobOf('c', { status: 'pending', isSuspended: true }),
    jobOf('d', { status: 'pending' }),
  ]
  expect(countsOf(jobs)).toEqual([
    ['failed', 1],
    ['suspended', 1],
    ['pending', 1],
    ['completed', 1],
  ])
})
