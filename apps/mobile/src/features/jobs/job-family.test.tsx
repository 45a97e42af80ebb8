import { renderRouter, screen } from 'expo-router/testing-library'
import { minutesAgo } from '../../testing/alerts.ts'
import { JobTree } from './job-family.tsx'
import type { Tree, TreeJob } from './tree.ts'

const id = (n: number) => `01997000-0000-7000-8000-00000000000${n}`
const jobOf = (n: number, name: string | null, differs: Partial<TreeJob>): TreeJob => ({
  ...{ id: id(n), name, topic: 'page', queue: 'default', status: 'completed', parentId: null, after: [] },
  ...{ isSuspended: false, waits: null, ending: null, error: null },
  ...differs,
})

/** A flow: two pages wait for the first, the last for both, and one has a child. */
const FLOW: Tree = {
  ...{ id: id(4), isComplete: false, childrenAreComplete: true },
  jobs: [
    jobOf(1, 'fetch', {}),
    jobOf(2, 'scan', {
      status: 'failed',
      after: [id(1)],
      error: { class: 'Error', message: 'scanner is down' },
    }),
    jobOf(3, 'resize', {
      ...{ status: 'pending', after: [id(1)], isSuspended: true },
      waits: {
        since: minutesAgo(5).toISOString(),
        for: [{ kind: 'children', name: '1', until: null, children: { left: 1, total: 1 } }],
      },
    }),
    jobOf(4, 'publish', { status: 'blocked', after: [id(2), id(3)] }),
    jobOf(6, 'refund', {
      status: 'pending',
      ending: { since: minutesAgo(1).toISOString(), status: 'cancelled' },
    }),
    jobOf(5, null, { topic: 'thumbnail', status: 'processing', parentId: id(3) }),
  ],
}

it('the tree of a flow says of each job what it does, fails with or waits for', () => {
  renderRouter({ index: () => <JobTree tree={FLOW} /> }, { initialUrl: '/' })
  expect(
    screen.getByText(/^6.jobs: 1 failed, 1 undoing, 1 running, 1 suspended, 1 blocked, 1 completed$/),
  ).toBeVisible()
  expect(screen.getByText('Error: scanner is down')).toBeVisible()
  expect(screen.getByText(/^Waiting for 1 of 1 children for /)).toBeVisible()
  expect(screen.getByText('Waits for scan and resize')).toBeVisible()
  expect(screen.getByText(/^publish · page · …00000004 \(this job\)$/)).toBeVisible()
  expect(screen.getByRole('link', { name: `Job ${id(6)}, refund · page, undoing` })).toBeVisible()
  const child = `Job ${id(5)}, thumbnail, running`
  expect(screen.getByRole('link', { name: child })).toBeVisible()
  expect(screen.queryByRole('link', { name: new RegExp(id(4)) })).toBeNull()
  expect(screen.getByText('There are more jobs: the nearest 1,000 are here.')).toBeVisible()
})
