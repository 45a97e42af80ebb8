import { describe, expect, it } from 'vitest'
import { DIALECTS, errorOf, startTestApi } from './harness.ts'

const STEPS = ['order', 'charge', 'mail'].map((name) => ({
  key: `step:${name}`,
  kind: 'step' as const,
  data: '{"result":1}',
}))

describe.each(DIALECTS)('requeue from a step on %s', (dialect) => {
  it('forgets the step and what followed, and says who did it in the events and in the audit', async () => {
    const api = await startTestApi(dialect)
    const id = await api.enqueue({ topic: 'refund', payload: {} })
    const { run } = await api.claim('default')
    await api.store.durable.record([{ id, run, after: 0, outcomes: STEPS }])
    const admin = api.client()
    const early = admin.jobs.requeueFrom.mutate({ id, step: 'charge' })
    expect(await errorOf(early)).toMatchObject({ code: 'INVALID_STATE' })
    await api.store.settle([
      { id, run, kind: 'fail', error: { class: 'TypeError', message: 'no', fingerprint: 'f00d' } },
    ])
    expect(await admin.jobs.requeueFrom.mutate({ id, step: 'charge' })).toEqual({ id, step: 'charge' })
    expect((await api.store.durable.outcomes(id)).map(({ key }) => key)).toEqual(['step:order'])
    const { events, status } = await admin.jobs.get.query({ id })
    expect(status).toBe('pending')
    expect(events.at(-1)).toMatchObject({ type: 'steps_forgotten', data: { by: 'admin', from: 'charge' } })
    const { items } = await admin.audit.list.query({ action: 'jobs.requeueFrom' })
    expect(items).toMatchObject([
      { actor: { name: 'admin' }, count: 1, target: { ids: [id], step: 'charge' } },
    ])
  })
})
