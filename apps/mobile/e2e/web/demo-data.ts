import { until } from '@oncue/testing'
import { refunds } from './refunds.ts'
import { trips } from './trips.ts'
import type { World } from './world.ts'

/** Long enough for a busy machine. */
const PATIENCE_MS = 60_000

class SmtpTimeout extends Error {
  override readonly name = 'SmtpTimeout'
}

/** An incident: mail fails, reports wait, imports are paused, the rest is fine. */
export async function addDemoData(world: World): Promise<void> {
  const { client } = world
  const enqueue = (topic: string, queue: string, many: number) =>
    client.jobs.enqueueMany(
      Array.from({ length: many }, (_, index) => ({
        ...{ topic, queue, payload: { userId: `u_${index}`, amount: 1_000 + index }, maxRetries: 0 },
      })),
    )
  await enqueue('mail_digest', 'mail', 24)
  await enqueue('charge_card', 'high', 12)
  await enqueue('resize_image', 'default', 40)
  await world.work({
    async mail_digest() {
      throw new SmtpTimeout('smtp.example.com:587 did not answer within 10 s')
    },
    async charge_card(job: { payload: unknown }) {
      return { charged: job.payload }
    },
    async resize_image() {
      return { width: 640 }
    },
  })
  await until(async () => {
    const { failed, completed } = await client.jobs.stats({})
    return failed === 24 && completed === 52
  }, PATIENCE_MS)
  await enqueue('nightly_report', 'reports', 7)
  await enqueue('import_rows', 'imports', 3)
  await client.queues.pause({ queue: 'imports' })
  await cancelOne(world)
  const rule = { kind: 'paused', queue: 'imports', threshold: 0, forSeconds: 0 } as const
  await client.alerts.createRule({ ...rule, name: 'imports must run' })
  await client.channels.create({ kind: 'webhook', name: 'pager', url: 'https://pager.example/oncue' })
  await askForRefund(world)
  await until(async () => (await client.alerts.list({})).items.length > 0, PATIENCE_MS)
}

/** An earlier action, for the activity list. */
async function cancelOne({ client }: World): Promise<void> {
  const id = await client.jobs.enqueue('import_rows', { file: 'wrong.csv' }, { queue: 'imports' })
  const what = { action: 'cancel', filter: { idPrefix: id } } as const
  const { asOf, count } = await client.bulkOperations.preview(what)
  await client.bulkOperations.run({ ...what, asOf, expectedCount: count, idempotencyKey: id })
}

/** A job that asks a person, and is suspended until there is an answer. */
export async function askForRefund(world: World): Promise<void> {
  await world.work(refunds, { queues: ['refunds'] })
  const id = await world.client.jobs.enqueue('refund', { order: '4711', cents: 12_900 }, { queue: 'refunds' })
  await until(async () => (await world.client.jobs.get(id)).waits !== null, PATIENCE_MS)
}

/** A job that was undone, one that is being undone, and one whose steps were all done. */
export async function bookTrips(world: World): Promise<void> {
  const { client } = world
  await world.work(trips, { queues: ['trips'] })
  const payload = { to: 'ZRH', cents: 48_000 }
  const enqueue = (topic: string) => client.jobs.enqueue(topic, payload, { queue: 'trips', maxRetries: 0 })
  const ids = [await enqueue('plan_trip'), await enqueue('book_trip')]
  const undoing = await enqueue('cancel_trip')
  await until(async () => {
    const jobs = await Promise.all(ids.map((id) => client.jobs.get(id)))
    const { waits } = await client.jobs.get(undoing)
    return waits !== null && jobs.every(({ finishedAt }) => finishedAt !== null)
  }, PATIENCE_MS)
}
