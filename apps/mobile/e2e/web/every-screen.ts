import type { Client } from '@oncue/sdk'
import type { Page } from 'playwright-core'

/** The path of each screen. Detail pages need a world that contains their subject. */
export async function everyScreen(client: Client): Promise<Readonly<Record<string, string>>> {
  const [group] = await client.jobs.failures({ sort: 'largest' })
  const failed = { status: 'failed', ...(group && { fingerprint: group.fingerprint }) } as const
  const [job] = (await client.jobs.list({ ...failed, limit: 1 })).items
  const [operation] = (await client.bulkOperations.list({ limit: 1 })).items
  const [alert] = (await client.alerts.list({ limit: 1 })).items
  const [queue] = (await client.health.get()).queues
  const [worker] = await client.workers.list()
  const topics = await client.topics.list()
  const topic = topics.find((each) => each.topic === job?.topic) ?? topics[0]
  const [question] = await client.jobs.questions()
  return {
    now: '/',
    failures: '/failures',
    failure: `/failures/${group?.fingerprint}`,
    queues: '/queues',
    queue: `/queues/${encodeURIComponent(queue?.queue ?? '')}`,
    alerts: '/alerts',
    alert: `/alerts/${alert?.id}`,
    rules: '/alerts?view=rules',
    channels: '/alerts?view=channels',
    jobs: '/jobs',
    job: `/jobs/${job?.id}`,
    questions: '/questions',
    'suspended-job': `/jobs/${question?.id}`,
    operations: '/bulk-operations',
    operation: `/bulk-operations/${operation?.id}`,
    topics: '/topics',
    topic: `/topics/${encodeURIComponent(topic?.topic ?? '')}`,
    workers: '/workers',
    worker: `/workers/${worker?.id}`,
    schedules: '/schedules',
    activity: '/activity',
    database: '/database',
    settings: '/settings',
    'server-settings': '/server-settings',
    tokens: '/tokens',
    'nothing-found': '/jobs?q=Reykjavik',
  }
}

/** Waits until the stream is open and nothing is loading. */
export async function settled(page: Page): Promise<void> {
  await page.getByText('Live', { exact: true }).waitFor()
  await page.waitForFunction(() => document.querySelector('[aria-label="Loading"]') === null)
}
